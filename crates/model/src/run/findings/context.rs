//! The input of a rule: medians, comparisons and settings, and a note of each figure used.

use serde_json::{Map, Value, json};

use super::{Finding, Outcome, Rule};
use crate::base::host::Host;
use crate::base::missing::Missing;
use crate::run::compare::medians::Medians;
use crate::run::compare::{Answer, Change, Comparison, Statistic, Table};
use crate::run::metric;
use crate::run::metric::cell_label::find_metric;
use crate::run::policy::defaults::mode_in_force;
use crate::run::policy::{Policy, Settings, Thp};
use crate::run::record::Record;
use crate::text::number::quantity;

/// One experiment, as rules see it.
#[derive(Debug)]
pub struct Context<'a> {
    /// Its record.
    pub record: &'a Record,
    /// Its comparisons and verdict.
    pub table: &'a Table,
    /// Medians over successful trials.
    pub medians: Medians<'a>,
}

/// The result of a rule for one policy.
pub(crate) enum Claim {
    /// The evidence is there.
    Shown(String),
    /// The evidence is not there.
    NotShown(String),
    /// Undecided, for a reason other than a missing reading.
    CannotTell(String),
    /// The rule does not apply.
    Nothing,
}

/// A reading that a rule needs and the record lacks.
pub(crate) struct MissingInput {
    pub(super) metric: String,
    pub(super) policy: String,
    pub(super) missing: Missing,
}

impl<'a> Context<'a> {
    /// What people call a metric of this record.
    pub(crate) fn label(&self, metric: impl AsRef<str>) -> String {
        let metric = metric.as_ref();
        let found = find_metric(self.record.header.plan.bench.as_ref(), metric);
        found.map_or_else(|| metric.to_owned(), |metric| metric.label.into_owned())
    }

    /// The context of one experiment.
    #[must_use]
    pub fn new(record: &'a Record, table: &'a Table) -> Self {
        Self {
            record,
            table,
            medians: Medians::of(record),
        }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.record.header.host
    }

    pub(crate) fn baseline(&self) -> &'a str {
        &self.table.verdict.baseline
    }

    pub(crate) fn policies(&self) -> &'a [Policy] {
        &self.record.header.plan.policies
    }

    /// What takes the wall time of a trial.
    pub(crate) fn runner(&self) -> &'static str {
        match self.record.header.plan.service {
            Some(_) => "load",
            None => "program",
        }
    }

    /// What a policy sets; nothing for a name that is not in the plan.
    pub(crate) fn settings(&self, policy: &str) -> Settings {
        let found = self.policies().iter().find(|known| known.name == policy);
        found
            .map(|policy| policy.settings.clone())
            .unwrap_or_default()
    }

    /// The mode of anonymous huge pages that held for a program under a policy.
    pub(crate) fn mode(&self, policy: &str) -> &str {
        match (self.settings(policy).thp, &self.host().thp) {
            (Some(Thp::Never), _) | (_, Err(_)) => "never",
            (Some(Thp::Madvise), _) => "madvise",
            (Some(Thp::Always), _) => "always",
            (Some(Thp::Inherit), Ok(thp)) => thp.effective_pmd_mode(),
            (None, Ok(_)) => mode_in_force(self.host()),
        }
    }

    /// How much the mode of a policy allows: the more, the higher.
    pub(crate) fn rank(&self, policy: &str) -> u8 {
        match self.mode(policy) {
            "always" => 2,
            "madvise" => 1,
            _ => 0,
        }
    }

    pub(crate) fn answer(&self, policy: &str) -> Option<Answer> {
        self.table.verdict.policies.get(policy).copied()
    }

    /// The comparison of a metric's middle under a policy with the baseline.
    pub(crate) fn comparison(
        &self,
        metric: impl AsRef<str>,
        policy: &str,
    ) -> Option<&'a Comparison> {
        self.table.comparisons.iter().find(|comparison| {
            comparison.metric == metric.as_ref()
                && comparison.policy == policy
                && comparison.statistic == Statistic::Center
        })
    }

    /// How a metric changed from the baseline to a policy.
    pub(crate) fn change(&self, metric: impl AsRef<str>, policy: &str) -> Option<Change> {
        Some(self.comparison(metric, policy)?.change)
    }

    /// Asks a rule about every policy other than the baseline.
    pub(crate) fn of_arms(
        &self,
        rule: &impl Rule,
        ask: impl Fn(&mut PolicyView<'_, 'a>) -> Result<Claim, MissingInput>,
    ) -> Vec<Finding> {
        let arms = self
            .policies()
            .iter()
            .filter(|policy| policy.name != self.baseline());
        arms.filter_map(|policy| self.of(rule, policy, &ask))
            .collect()
    }

    /// Asks a rule about every policy.
    pub(crate) fn of_all(
        &self,
        rule: &impl Rule,
        ask: impl Fn(&mut PolicyView<'_, 'a>) -> Result<Claim, MissingInput>,
    ) -> Vec<Finding> {
        let policies = self.policies().iter();
        policies
            .filter_map(|policy| self.of(rule, policy, &ask))
            .collect()
    }

    /// Asks a rule about the baseline, for the experiment as a whole: the finding is no policy's.
    pub(crate) fn of_baseline(
        &self,
        rule: &impl Rule,
        ask: impl Fn(&mut PolicyView<'_, 'a>) -> Result<Claim, MissingInput>,
    ) -> Vec<Finding> {
        let baseline = self
            .policies()
            .iter()
            .find(|policy| policy.name == self.baseline());
        let found = baseline.and_then(|policy| self.of(rule, policy, &ask));
        found
            .map(|finding| Finding {
                policy: None,
                ..finding
            })
            .into_iter()
            .collect()
    }

    fn of(
        &self,
        rule: &impl Rule,
        policy: &'a Policy,
        ask: &impl Fn(&mut PolicyView<'_, 'a>) -> Result<Claim, MissingInput>,
    ) -> Option<Finding> {
        let mut view = PolicyView {
            context: self,
            policy: &policy.name,
            evidence: Evidence::default(),
        };
        let (outcome, text) = match ask(&mut view) {
            Ok(Claim::Nothing) => return None,
            Ok(Claim::Shown(text)) => (Outcome::Shown, text),
            Ok(Claim::NotShown(text)) => (Outcome::NotShown, text),
            Ok(Claim::CannotTell(text)) => (Outcome::CannotTell, text),
            // The report counts failed trials; every rule saying so again would be noise.
            Err(absent) if matches!(absent.missing, Missing::TrialFailed | Missing::NotRun) => {
                return None;
            }
            Err(absent) => {
                view.evidence.absence(&absent);
                (Outcome::CannotTell, view.absence(&absent))
            }
        };
        Some(Finding {
            id: rule.id().to_owned(),
            policy: Some(policy.name.clone()),
            outcome,
            text,
            evidence: view.evidence.0,
            explanation: rule.explain(),
            answers: rule.answers(),
        })
    }
}

/// A rule looking at one policy.
pub(crate) struct PolicyView<'g, 'a> {
    pub(crate) context: &'g Context<'a>,
    pub(crate) policy: &'a str,
    pub(crate) evidence: Evidence,
}

impl PolicyView<'_, '_> {
    /// The median under this policy.
    pub(crate) fn here(&mut self, metric: impl AsRef<str>) -> Result<f64, MissingInput> {
        let policy = self.policy;
        self.median(policy, metric)
    }

    /// The median under the baseline.
    pub(crate) fn there(&mut self, metric: impl AsRef<str>) -> Result<f64, MissingInput> {
        let baseline = self.context.baseline();
        self.median(baseline, metric)
    }

    /// The median under the baseline, then under this policy.
    pub(crate) fn both(&mut self, metric: impl AsRef<str>) -> Result<(f64, f64), MissingInput> {
        let metric = metric.as_ref();
        Ok((self.there(metric)?, self.here(metric)?))
    }

    /// The median under this policy, or why there is none, without a note of it.
    pub(crate) fn median_or_missing(&self, metric: impl AsRef<str>) -> Result<f64, Missing> {
        self.context.medians.get(self.policy, metric.as_ref())
    }

    /// Notes a figure of this policy that was read before.
    pub(crate) fn noted(&mut self, metric: impl AsRef<str>, value: f64) -> f64 {
        let policy = self.policy;
        self.evidence.reading(metric.as_ref(), policy, value);
        value
    }

    /// The median under any policy.
    pub(crate) fn median(
        &mut self,
        policy: &str,
        metric: impl AsRef<str>,
    ) -> Result<f64, MissingInput> {
        let metric = metric.as_ref();
        let value = self
            .context
            .medians
            .get(policy, metric)
            .map_err(|missing| MissingInput {
                metric: metric.to_owned(),
                policy: policy.to_owned(),
                missing,
            })?;
        self.evidence.reading(metric, policy, value);
        Ok(value)
    }

    /// How the metric changed from the baseline to this policy.
    pub(crate) fn change(&self, metric: impl AsRef<str>) -> Option<Change> {
        self.context.change(metric, self.policy)
    }

    fn absence(&self, absent: &MissingInput) -> String {
        format!(
            "{}: {} was not measured under {}: {}",
            self.policy,
            self.context.label(&absent.metric),
            absent.policy,
            absent.missing
        )
    }
}

/// The figures that a finding rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence(pub(crate) Map<String, Value>);

impl Evidence {
    /// A reading, by metric and policy.
    pub(crate) fn reading(&mut self, metric: impl AsRef<str>, policy: &str, value: f64) {
        let by_policy = self.0.entry(metric.as_ref()).or_insert_with(|| json!({}));
        if let Value::Object(by_policy) = by_policy {
            by_policy.insert(policy.to_owned(), json!(value));
        }
    }

    /// A reading that there is none of, and why.
    fn absence(&mut self, absent: &MissingInput) {
        let absence = json!({
            "metric": absent.metric,
            "policy": absent.policy,
            "reason": absent.missing,
        });
        self.0.insert("missing".to_owned(), absence);
    }

    /// A figure that is no reading.
    pub(crate) fn figure(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

/// A value as people read it, by the unit of its metric.
pub(crate) fn told(metric: impl AsRef<str>, value: f64) -> String {
    match metric::find(metric.as_ref()) {
        Some(metric) => quantity(&metric.unit, value),
        None => crate::text::number::three_digits(value),
    }
}

/// What people call a metric; [`Context::label`] names cells of benches too.
pub(crate) fn label(metric: impl AsRef<str>) -> String {
    let metric = metric.as_ref();
    metric::find(metric).map_or_else(|| metric.to_owned(), |metric| metric.label.into_owned())
}
