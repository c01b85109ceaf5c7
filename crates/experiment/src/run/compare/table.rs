//! Comparison of a whole record.

use crate::run::compare::columns::Forms;
use crate::run::compare::coverage::no_effect;
use crate::run::compare::decision::Question;
use crate::run::compare::effect::Effect;
use crate::run::compare::percentiles::percentiles;
use crate::run::compare::rounds::{Arm, Pairs, Rounds};
use crate::run::compare::rows::{Estimate, tails};
use crate::run::compare::verdict::Evidence;
use crate::run::compare::{CompareError, Comparison, Control, Statistic, Table, columns, programs};
use crate::run::metric::Better;
use crate::run::plan::JudgeBy;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::stats::Quantile;
use crate::text::suggest::nearest;

/// The options that override the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Another baseline.
    pub baseline: Option<String>,
    /// Another metric that decides.
    pub verdict_metric: Option<String>,
    /// Another threshold, as a share.
    pub threshold: Option<f64>,
    /// Another property of the runs.
    pub judge_by: Option<JudgeBy>,
}

/// Compares every policy of a record with the baseline, in every metric.
///
/// # Errors
/// Fails if `options` or the plan contain a policy or a metric that does not exist, or a threshold outside the range of
/// a share.
pub fn table(record: &Record, options: &Options) -> Result<Table, CompareError> {
    if !record.header.plan.programs.is_empty() {
        return programs::table(record, options);
    }
    let judged = Judged::of(record, options)?;
    let rows = judged.all_rows();
    Ok(judged.conclude(rows))
}

/// The same as planned, but only for the verdict metric: enough for the answer.
///
/// # Errors
/// Fails if the plan contains a policy or a metric that does not exist.
pub fn deciding(record: &Record) -> Result<Table, CompareError> {
    if !record.header.plan.programs.is_empty() {
        return programs::table(record, &AS_PLANNED);
    }
    let judged = Judged::as_planned(record)?;
    let rows = match judged.judge_by {
        JudgeBy::P95 => judged.rows(judged.metric),
        JudgeBy::Shape | JudgeBy::Typical | JudgeBy::Mean => judged.deciding_centers(),
    };
    Ok(judged.conclude(rows))
}

/// A record with the questions about it.
pub(super) struct Judged<'a> {
    pub(super) record: &'a Record,
    pub(super) rounds: Rounds<'a>,
    pub(super) baseline: &'a Policy,
    pub(super) metric: &'a str,
    pub(super) better: Better,
    pub(super) threshold: f64,
    judge_by: JudgeBy,
    forms: Forms<'a>,
    /// The policies to compare with the baseline.
    others: Vec<&'a Policy>,
    /// Number of policies that share the error of the verdict: those that changed the program's pages, or may have. The
    /// other policies make no claim that the measured time could get wrong. Overhead controls make none: their results
    /// can only withdraw a claim.
    pub(super) claims: u32,
}

/// Everything as planned.
pub(super) static AS_PLANNED: Options = Options {
    baseline: None,
    verdict_metric: None,
    threshold: None,
    judge_by: None,
};

impl<'a> Judged<'a> {
    pub(super) fn as_planned(record: &'a Record) -> Result<Self, CompareError> {
        Self::of(record, &AS_PLANNED)
    }

    pub(super) fn of(record: &'a Record, options: &'a Options) -> Result<Self, CompareError> {
        let plan = &record.header.plan;
        let name = options.baseline.as_ref().unwrap_or(&plan.baseline);
        let baseline = plan.policies.iter().find(|policy| policy.name == *name);
        let baseline = baseline.ok_or_else(|| unknown_policy(record, name))?;
        let others = plan.policies.iter().filter(|it| it.name != baseline.name);
        Self::against(record, options, baseline, others.collect())
    }

    /// These policies against a separate baseline.
    pub(super) fn against(
        record: &'a Record,
        options: &'a Options,
        baseline: &'a Policy,
        others: Vec<&'a Policy>,
    ) -> Result<Self, CompareError> {
        let plan = &record.header.plan;
        let metric = options
            .verdict_metric
            .as_ref()
            .unwrap_or(&plan.verdict_metric);
        let better =
            columns::better(record, metric).ok_or_else(|| unknown_metric(record, metric))?;
        let threshold = options.threshold.unwrap_or(plan.bounds.threshold);
        if !(0.0..=1e6).contains(&threshold) {
            let threshold = threshold.to_string();
            return Err(CompareError::BadThreshold { threshold });
        }
        let rounds = Rounds::of(record);
        let judged = others.iter();
        let judged = judged.filter(|it| no_effect(record, &rounds, baseline, it).is_none());
        let judged = judged.filter(|it| !plan.is_overhead_control(&it.name));
        Ok(Self {
            claims: judged.count().max(1) as u32,
            others,
            record,
            rounds,
            baseline,
            metric,
            better,
            threshold,
            judge_by: options.judge_by.unwrap_or(plan.judge_by),
            forms: Forms::of(record),
        })
    }

    pub(super) fn question(&self) -> Question {
        Question {
            better: self.better,
            threshold: self.threshold,
            claims: self.claims,
            judge_by: self.judge_by,
        }
    }

    pub(super) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            record: self.record,
            rounds: &self.rounds,
            baseline: self.baseline,
            metric: self.metric,
            question: self.question(),
        }
    }

    pub(super) fn policies(&self) -> impl Iterator<Item = &'a Policy> {
        self.others.iter().copied()
    }

    /// The verdict metric, if no trial has an entry for it: it still gets its rows.
    fn unread_verdict_metric(&self) -> Option<&'a str> {
        let trials = &self.record.trials;
        let is_read = trials
            .iter()
            .any(|trial| trial.readings.contains_key(self.metric));
        (!is_read).then_some(self.metric)
    }

    /// The rows about all metrics.
    pub(super) fn all_rows(&self) -> Vec<Estimate> {
        columns::names(&[self.record])
            .iter()
            .map(String::as_str)
            .chain(self.unread_verdict_metric())
            .flat_map(|metric| self.rows(metric))
            .collect()
    }

    /// All rows about one metric.
    fn rows(&self, metric: &str) -> Vec<Estimate> {
        let policies = self.policies();
        policies
            .flat_map(|policy| self.policy_rows(metric, &policy.name))
            .collect()
    }

    fn policy_rows(&self, metric: &str, policy: &str) -> Vec<Estimate> {
        let pairs = self.draws(metric, policy);
        let center = self.center(metric, policy, &pairs);
        if self.forms.counted.contains(metric) {
            let rows = percentiles(&pairs, self.record.header.plan.seed);
            let rows = rows.into_iter().map(|found| found.row(&center));
            return rows.chain([center.clone()]).collect();
        }
        let tails = self
            .tails(metric, &pairs)
            .into_iter()
            .map(|(quantile, effect)| Estimate {
                metric: metric.to_owned(),
                statistic: Statistic::Quantile(quantile),
                policy: policy.to_owned(),
                baseline: self.baseline.name.clone(),
                effect: Some(effect),
                n: pairs.n(),
                warnings: center.warnings.clone(),
            });
        let tails: Vec<Estimate> = tails.collect();
        std::iter::once(center).chain(tails).collect()
    }

    fn tails(&self, metric: &str, pairs: &Pairs) -> Vec<(Quantile, Effect)> {
        if !columns::has_tails(self.record, metric) && !self.forms.listed.contains(metric) {
            return Vec::new();
        }
        tails(pairs, self.record.header.plan.seed)
    }

    fn center(&self, metric: &str, policy: &str, pairs: &Pairs) -> Estimate {
        let claims = if metric == self.metric {
            self.claims
        } else {
            1
        };
        Estimate::of_centers(metric, [&self.baseline.name, policy], pairs, claims)
    }

    /// The second run of the plan's baseline against the first, whatever the baseline of the others; `None` if a single
    /// policy ran.
    pub(super) fn control(&self) -> Option<Control> {
        let plan = &self.record.header.plan;
        if plan.policies.len() < 2 {
            return None;
        }
        let (first, second) = (Arm::Policy(&plan.baseline), Arm::Control(&plan.baseline));
        let pairs = self.rounds.pairs(self.metric, first, second);
        let row = Estimate::of_centers(self.metric, [&plan.baseline, &plan.baseline], &pairs, 1);
        let comparison = row.finish(self.threshold);
        Some(Control { comparison })
    }

    /// The rounds of one policy and the baseline.
    fn draws(&self, metric: &str, policy: &str) -> Pairs<'a> {
        self.rounds.draws(metric, &self.baseline.name, policy)
    }

    /// The rows of only the verdict metric.
    pub(super) fn deciding_rows(&self) -> Vec<Comparison> {
        let rows = self.deciding_centers().into_iter();
        rows.map(|row| row.finish(self.threshold)).collect()
    }

    fn deciding_centers(&self) -> Vec<Estimate> {
        let row = |policy: &Policy| {
            let pairs = self.draws(self.metric, &policy.name);
            self.center(self.metric, &policy.name, &pairs)
        };
        self.policies().map(row).collect()
    }

    pub(super) fn conclude(&self, rows: Vec<Estimate>) -> Table {
        let rows = rows.into_iter();
        let comparisons: Vec<Comparison> = rows.map(|row| row.finish(self.threshold)).collect();
        let mut verdict = self.evidence().verdict(&comparisons);
        verdict.chosen_afterwards = !self.is_as_planned();
        Table {
            control: self.control(),
            pages_alone: self.evidence().pages_alone(),
            verdict,
            comparisons,
            interactions: Vec::new(),
        }
    }

    fn is_as_planned(&self) -> bool {
        let plan = &self.record.header.plan;
        plan.is_baseline(&self.baseline.name)
            && self.metric == plan.verdict_metric
            && self.threshold.total_cmp(&plan.bounds.threshold).is_eq()
            && self.judge_by == plan.judge_by
    }
}

fn unknown_policy(record: &Record, name: &str) -> CompareError {
    let policies = &record.header.plan.policies;
    let known: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    CompareError::UnknownPolicy {
        name: name.to_owned(),
        known: known.join(", "),
    }
}

fn unknown_metric(record: &Record, name: &str) -> CompareError {
    let known = columns::names(&[record]);
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("this record has: {}", known.join(", ")),
    };
    CompareError::UnknownMetric {
        name: name.to_owned(),
        hint,
    }
}
