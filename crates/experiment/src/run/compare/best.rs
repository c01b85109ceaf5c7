//! Picks a policy to recommend if one or more are better than the baseline.
//!
//! A policy ranks above another if it is shown to be better. Either their intervals in the one claim do not overlap,
//! which costs no error, or the rounds that both ran refute equality. This second test is a separate claim with the
//! same error as the first. It covers only policies better than the baseline, and a wrong rank costs less than a wrong
//! *better*.

use serde::{Deserialize, Serialize};

use crate::run::compare::decision::Question;
use crate::run::compare::effect::{Draws, one_sided};
use crate::run::compare::rounds::Arm;
use crate::run::compare::verdict::Evidence;
use crate::run::compare::{Change, Comparison, PolicyAnswer, Scale, Statistic, Verdict};
use crate::run::metric::MetricId;
use crate::run::metric::requests::is_count_of_failures;
use crate::run::plan::JudgeBy;
use crate::run::policy::Settings;
use crate::run::stats::{ALPHA, Quantile, Side, Sums, mean_ratio};

/// A policy that the rounds cannot distinguish from the best one.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Rival {
    /// Its name.
    pub policy: String,
    /// Number of rounds in which both ran.
    pub rounds: u32,
    /// The typical best / rival, or best − rival; `None` when nothing was compared.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// Lower end of the interval of best / rival; of best − rival, in the unit of the metric, if a zero rules out a
    /// ratio. `None` with too few rounds.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The scale of the interval.
    pub scale: Scale,
}

/// Why the best policy is preferred to its rivals.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// It changes nothing.
    ChangesNothing,
    /// It changes only the program and no system-wide setting.
    ChangesProgramAlone,
    /// It changes the program without tracing it.
    NeedsNoTracing,
    /// It was shown to need less memory.
    LessMemory,
    /// It comes first in the plan.
    FirstInPlan,
}

/// Both ends of an interval, if there is one.
type Interval = Option<(f64, f64)>;

impl Evidence<'_> {
    /// Fills in the best policy of a verdict, its rivals and why it is preferred to them. If no policy is better, the
    /// best is the baseline, unless some policy is undecided.
    pub(super) fn choose(&self, verdict: &mut Verdict, rows: &[Comparison]) {
        let better: Vec<&str> = self
            .policies()
            .filter(|policy| verdict.policies.get(*policy) == Some(&PolicyAnswer::Better))
            .filter(|policy| !self.record.header.plan.is_overhead_control(policy))
            .filter(|policy| !fails_more_requests(rows, policy))
            .collect();
        if better.is_empty() {
            let plan = &self.record.header.plan;
            let mut answers = verdict.policies.iter();
            let is_open = answers.any(|(name, answer)| {
                *answer == PolicyAnswer::NotDecided && !plan.is_overhead_control(name)
            });
            let settled = !verdict.policies.is_empty() && !is_open;
            verdict.best = settled.then(|| self.baseline.name.clone());
            return;
        }
        let mut leaders = better.clone();
        leaders.retain(|policy| {
            let mut others = better.iter().filter(|other| *other != policy);
            !others.any(|other| self.is_better(verdict, rows, other, policy))
        });
        // Two tests with errors may contradict each other.
        let leaders = if leaders.is_empty() { better } else { leaders };
        let ahead = |policy: &&str| {
            let mut others = leaders.iter().filter(|other| *other != policy);
            !others.any(|other| self.is_ahead(verdict, rows, other, policy))
        };
        let candidates: Vec<&str> = leaders.iter().copied().filter(ahead).collect();
        let (best, preference) = match candidates.is_empty() {
            true => self.preferred(&leaders, rows),
            false => self.preferred(&candidates, rows),
        };
        if let Some(alone) = self.better_without_huge_pages(best) {
            verdict.best = Some(alone);
            return;
        }
        let rivals = leaders.iter().filter(|policy| **policy != best);
        verdict.equals = rivals.map(|rival| self.rival(best, rival)).collect();
        verdict.preference = Some(preference).filter(|_| !verdict.equals.is_empty());
        verdict.best = Some(best.to_owned());
    }

    /// Returns the allocator-only policy if a policy is better than the baseline but its huge pages were shown to hurt.
    fn better_without_huge_pages(&self, policy: &str) -> Option<String> {
        let mut policies = self.record.header.plan.policies.iter();
        let policy = policies.find(|it| it.name == policy)?;
        let pair = self.beside_malloc(policy)?;
        let hurt = pair.judge().answer == PolicyAnswer::Worse;
        hurt.then(|| pair.malloc_alone().name.clone())
    }

    /// The policies of the plan, in its order.
    fn policies(&self) -> impl Iterator<Item = &str> {
        let policies = self.record.header.plan.policies.iter();
        policies.map(|policy| policy.name.as_str())
    }

    /// Returns true if `one` was shown to be better than `other`.
    fn is_better(&self, verdict: &Verdict, rows: &[Comparison], one: &str, other: &str) -> bool {
        let ends = |policy| judged_interval(verdict, rows, policy);
        let both = ends(one).zip(ends(other));
        let pair = || self.pair(one, other).interval(self.question);
        match self.question.gain() {
            Side::Above => {
                both.is_some_and(|(one, other)| one.0 > other.1)
                    || pair().is_some_and(|(low, _)| low > 0.0)
            }
            Side::Below => {
                both.is_some_and(|(one, other)| one.1 < other.0)
                    || pair().is_some_and(|(_, high)| high < 0.0)
            }
        }
    }

    /// Returns true if the whole interval of `one` is better than the estimate of `other`. This does not show `one` to
    /// be better, but is too much to give up for a smaller change.
    fn is_ahead(&self, verdict: &Verdict, rows: &[Comparison], one: &str, other: &str) -> bool {
        let own = judged_interval(verdict, rows, one);
        let estimate = row(rows, &verdict.metric, Statistic::Center, other).and_then(|it| it.ratio);
        let both = own.zip(estimate);
        both.is_some_and(|((low, high), estimate)| match self.question.gain() {
            Side::Above => low > estimate,
            Side::Below => high < estimate,
        })
    }

    /// The rounds in which both policies ran.
    fn pair(&self, one: &str, other: &str) -> Pair {
        let (one, other) = (Arm::Policy(one), Arm::Policy(other));
        Pair(self.rounds.pairs(self.metric, other, one).centers())
    }

    fn rival(&self, best: &str, rival: &str) -> Rival {
        let pair = self.pair(best, rival);
        let interval = pair.interval(self.question);
        let shown = |value: f64| match pair.0.scale {
            Scale::Ratio => value.exp(),
            Scale::Difference => value,
        };
        Rival {
            policy: rival.to_owned(),
            rounds: pair.0.values.len() as u32,
            estimate: Sums::of(&pair.0.scaled).estimate().map(shown),
            low: interval.map(|(low, _)| shown(low)),
            high: interval.map(|(_, high)| shown(high)),
            scale: pair.0.scale,
        }
    }

    /// The one that changes least, then the one that needs less memory, then the first.
    fn preferred<'a>(&self, leaders: &[&'a str], rows: &[Comparison]) -> (&'a str, Preference) {
        let reach = |policy: &str| self.reach(policy);
        let least = leaders.iter().map(|policy| reach(policy)).min();
        let mut left = leaders.to_vec();
        left.retain(|policy| Some(reach(policy)) == least);
        let lean: Vec<&str> = left
            .iter()
            .copied()
            .filter(|policy| {
                !left
                    .iter()
                    .any(|other| self.needs_less(rows, other, policy))
            })
            .collect();
        let preference = match (least, left.len() < leaders.len()) {
            (Some(Reach::Nothing), true) => Preference::ChangesNothing,
            (_, true) if !leaders.iter().any(|policy| reach(policy) == Reach::Machine) => {
                Preference::NeedsNoTracing
            }
            (_, true) => Preference::ChangesProgramAlone,
            (_, false) if lean.len() < left.len() => Preference::LessMemory,
            (_, false) => Preference::FirstInPlan,
        };
        let first = lean.first().or(left.first()).or(leaders.first());
        (first.copied().unwrap_or_default(), preference)
    }

    fn reach(&self, policy: &str) -> Reach {
        let header = &self.record.header;
        let mut policies = header.plan.policies.iter();
        let known = policies.find(|known| known.name == policy);
        let realisation = header.realisations.get(policy);
        match (known, realisation) {
            (_, Some(realisation)) if !realisation.files.is_empty() => Reach::Machine,
            (_, Some(realisation)) if !realisation.tracer.is_none() => Reach::Traced,
            (Some(policy), _) if policy.settings == Settings::default() => Reach::Nothing,
            _ => Reach::Program,
        }
    }

    /// Returns true if `one` needs less memory than `other` by more than the threshold.
    fn needs_less(&self, rows: &[Comparison], one: &str, other: &str) -> bool {
        let ends = |policy| {
            let metric = MetricId::PeakRssBytes.name();
            ratio_interval(row(rows, metric, Statistic::Center, policy)?)
        };
        let both = ends(one).zip(ends(other));
        both.is_some_and(|(one, other)| one.1 * (1.0 + self.question.threshold) < other.0)
    }
}

/// Returns true if more requests certainly failed under the policy. No gain is worth that, and the gain may come from
/// the missing answers.
fn fails_more_requests(rows: &[Comparison], policy: &str) -> bool {
    let mut own = rows.iter().filter(|row| row.policy == policy);
    own.any(|row| is_count_of_failures(&row.metric) && row.change == Change::Higher)
}

/// The scope of a policy's changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nothing,
    Program,
    /// The program, which a tracer stops while it runs.
    Traced,
    Machine,
}

/// The rounds of two policies, the second one used as the baseline.
struct Pair(Draws);

impl Pair {
    /// The interval of the first over the second on the scale, with the error shared by all pairs of judged policies. A
    /// tail has no pair test.
    fn interval(&self, question: Question) -> Interval {
        let claims = question.claims;
        let pairs = (claims * claims.saturating_sub(1) / 2).max(1);
        match question.judge_by {
            JudgeBy::P95 => None,
            JudgeBy::Mean => {
                let mean = mean_ratio(&self.0.values, ALPHA / f64::from(pairs));
                let (low, high) = mean.filter(|_| self.0.scale == Scale::Ratio)?.interval?;
                (low > 0.0).then(|| (low.ln(), high.ln()))
            }
            JudgeBy::Shape | JudgeBy::Typical => {
                Sums::of(&self.0.scaled).interval(one_sided(pairs))
            }
        }
    }
}

/// The interval of the ratio by which a policy was judged against the baseline.
fn judged_interval(verdict: &Verdict, rows: &[Comparison], policy: &str) -> Interval {
    let statistic = match verdict.judge_by {
        JudgeBy::Mean => {
            let runs = verdict.runs.get(policy)?;
            return runs.mean_low.zip(runs.mean_high);
        }
        JudgeBy::P95 => Statistic::Quantile(Quantile::P95),
        JudgeBy::Shape | JudgeBy::Typical => Statistic::Center,
    };
    ratio_interval(row(rows, &verdict.metric, statistic, policy)?)
}

fn row<'a>(
    rows: &'a [Comparison],
    metric: &str,
    statistic: Statistic,
    policy: &str,
) -> Option<&'a Comparison> {
    let mut rows = rows.iter();
    rows.find(|row| row.metric == metric && row.statistic == statistic && row.policy == policy)
}

fn ratio_interval(row: &Comparison) -> Interval {
    row.low.zip(row.high).filter(|_| row.scale == Scale::Ratio)
}
