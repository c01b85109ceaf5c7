//! The input of a rule: medians, comparisons and settings of one experiment.

use serde::Serialize;

use super::paired::PairedRounds;
use super::{CauseOutcome, Kind};
use crate::base::host::Host;
use crate::base::missing::Missing;
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, Comparison, PolicyAnswer, Statistic, Table};
use crate::run::policy::defaults::mode_in_force;
use crate::run::policy::{Policy, Settings, Thp};
use crate::run::record::Record;

/// One experiment, as input for rules.
#[derive(Debug)]
pub struct Context<'a> {
    /// Its record.
    pub record: &'a Record,
    /// Its comparisons and verdict.
    pub table: &'a Table,
    /// Medians over successful trials.
    pub medians: Medians<'a>,
}

/// A reading that a rule needs but the record lacks.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct MissingInput {
    /// Name of the metric.
    pub metric: String,
    /// The arm under which it is missing.
    pub arm: String,
    /// Why.
    pub reason: Missing,
}

/// A figure under the baseline and under an arm.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Pair {
    /// Under the baseline.
    pub baseline: f64,
    /// Under the arm.
    pub arm: f64,
}

impl Pair {
    /// Returns the arm's figure minus the baseline's.
    #[must_use]
    pub fn change(self) -> f64 {
        self.arm - self.baseline
    }
}

/// The result of a rule for one arm; `None` if the rule does not apply.
pub(super) type Told = Result<Option<(CauseOutcome, Kind)>, MissingInput>;

/// A rule for one arm.
pub(super) type Ask = fn(&View<'_, '_>) -> Told;

impl<'a> Context<'a> {
    /// Returns the context of one experiment.
    #[must_use]
    pub fn new(record: &'a Record, table: &'a Table) -> Self {
        let medians = Medians::of(record);
        Self {
            record,
            table,
            medians,
        }
    }

    pub(in crate::run) fn host(&self) -> &'a Host {
        &self.record.header.host
    }

    pub(in crate::run) fn baseline(&self) -> &'a str {
        &self.table.verdict.baseline
    }

    pub(super) fn policies(&self) -> &'a [Policy] {
        &self.record.header.plan.policies
    }

    /// Returns the settings of an arm; empty for a name outside the plan.
    pub(in crate::run) fn settings(&self, arm: &str) -> Settings {
        let found = policy(self.record, arm).map(|policy| policy.settings.clone());
        found.unwrap_or_default()
    }

    /// Returns the active mode of anonymous huge pages under an arm.
    pub(in crate::run) fn mode(&self, arm: &str) -> &str {
        match (self.settings(arm).thp, &self.host().thp) {
            (Some(Thp::Never), _) | (_, Err(_)) => "never",
            (Some(Thp::Madvise), _) => "madvise",
            (Some(Thp::Always), _) => "always",
            (Some(Thp::Inherit), Ok(thp)) => thp.effective_pmd_mode(),
            (None, Ok(_)) => mode_in_force(self.host()),
        }
    }

    /// Returns the value of a khugepaged setting under an arm.
    pub(super) fn khugepaged(&self, arm: &str, name: &str) -> Option<u64> {
        let own = self.settings(arm).khugepaged.get(name).copied();
        let machine = self.host().thp.as_ref().ok();
        own.or_else(|| machine?.khugepaged.get(name).copied())
    }

    pub(in crate::run) fn answer(&self, arm: &str) -> Option<PolicyAnswer> {
        self.table.verdict.policies.get(arm).copied()
    }

    /// Returns the comparison of a metric's median under an arm with the baseline.
    pub(super) fn comparison(&self, metric: impl AsRef<str>, arm: &str) -> Option<&'a Comparison> {
        self.table.comparisons.iter().find(|it| {
            it.metric == metric.as_ref() && it.policy == arm && it.statistic == Statistic::Center
        })
    }

    /// Evaluates a rule for one arm. The report counts failed trials, so no cause repeats them.
    pub(super) fn ask(&self, arm: &'a str, ask: Ask) -> Option<(CauseOutcome, Kind)> {
        match ask(&View { context: self, arm }) {
            Ok(told) => told,
            Err(missing) if missing.is_of_failed_trials() => None,
            Err(missing) => Some((CauseOutcome::CannotTell, Kind::Unread { missing })),
        }
    }
}

/// Returns the policy of an arm.
pub(super) fn policy<'a>(record: &'a Record, arm: &str) -> Option<&'a Policy> {
    let mut policies = record.header.plan.policies.iter();
    policies.find(|policy| policy.name == arm)
}

impl MissingInput {
    fn of(metric: &str, arm: &str, reason: Missing) -> Self {
        let [metric, arm] = [metric, arm].map(str::to_owned);
        Self {
            metric,
            arm,
            reason,
        }
    }

    /// Returns true if no trial succeeded.
    pub(super) fn is_of_failed_trials(&self) -> bool {
        matches!(self.reason, Missing::TrialFailed | Missing::NotRun)
    }
}

/// One arm with its baseline.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'g, 'a> {
    pub(super) context: &'g Context<'a>,
    pub(super) arm: &'a str,
}

impl<'a> View<'_, 'a> {
    /// Returns the median under this arm.
    pub(super) fn here(&self, metric: impl AsRef<str>) -> Result<f64, MissingInput> {
        self.median(self.arm, metric)
    }

    /// Returns the median under the baseline.
    pub(super) fn there(&self, metric: impl AsRef<str>) -> Result<f64, MissingInput> {
        self.median(self.context.baseline(), metric)
    }

    /// Returns both medians.
    pub(super) fn both(&self, metric: impl AsRef<str>) -> Result<Pair, MissingInput> {
        Ok(Pair {
            baseline: self.there(metric.as_ref())?,
            arm: self.here(metric)?,
        })
    }

    /// Returns the median under any arm.
    pub(super) fn median(&self, arm: &str, metric: impl AsRef<str>) -> Result<f64, MissingInput> {
        let metric = metric.as_ref();
        let median = self.context.medians.get(arm, metric);
        median.map_err(|reason| MissingInput::of(metric, arm, reason))
    }

    /// Returns the means over the rounds in which both arms succeeded.
    pub(super) fn means(&self, metric: impl AsRef<str>) -> Result<Pair, MissingInput> {
        let metric = metric.as_ref();
        let means = self.paired().means(metric);
        means.map_err(|reason| MissingInput::of(metric, self.arm, reason))
    }

    pub(super) fn paired(&self) -> PairedRounds<'a> {
        PairedRounds::of(self.context.record, self.context.baseline(), self.arm)
    }

    /// Returns how a metric changed from the baseline to this arm.
    pub(super) fn change(&self, metric: impl AsRef<str>) -> Option<Change> {
        Some(self.context.comparison(metric, self.arm)?.change)
    }

    pub(super) fn fell(&self, metric: impl AsRef<str>) -> bool {
        self.change(metric) == Some(Change::Lower)
    }

    pub(super) fn rose(&self, metric: impl AsRef<str>) -> bool {
        self.change(metric) == Some(Change::Higher)
    }
}
