//! Reasons not to rely on an answer, at most 30 kinds.

use serde::Serialize;

use super::ClaimId;
use crate::run::compare::Stratum;

/// One reason.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "doubt")]
pub enum Doubt {
    /// The baseline differs from itself by more than the threshold.
    ControlFailed {
        /// The A/A control.
        claim: ClaimId,
    },
    /// The baseline against itself is wider than the effect, or has no interval.
    ControlWide {
        /// The A/A control.
        claim: ClaimId,
    },
    /// A policy was not applied in some trials.
    NotApplied {
        /// The policy.
        arm: String,
        /// Trials in which it was not applied.
        trials: u32,
        /// All its trials.
        of: u32,
        /// The first difference.
        detail: String,
    },
    /// No policy got an answer.
    NothingDecided,
    /// Baseline, metric, threshold or property were chosen after the trials had run.
    ChosenAfterwards,
    /// Trials failed.
    FailedTrials {
        /// Failed trials by policy.
        by_arm: Vec<(String, u32)>,
        /// All trials.
        of: u32,
        /// The failure of the first one.
        first: String,
        /// The end of its stderr.
        said: Option<String>,
    },
    /// A quarter of the trials or more were disturbed.
    Disturbed {
        /// Disturbed trials.
        trials: u32,
        /// All trials.
        of: u32,
        /// Number of trials by disturbance.
        kinds: Vec<(String, u32)>,
    },
    /// A policy changed no page, but its time differs: a difference of that size is not due to huge pages.
    TimeWithoutPages {
        /// The claim about it.
        claim: ClaimId,
    },
    /// The answer applies to back-to-back runs; after idle it is worse or open.
    OnlyBackToBack {
        /// The policy.
        arm: String,
        /// The claim about runs after idle, if they were measured.
        claim: Option<ClaimId>,
        /// Idle seconds.
        seconds: u64,
    },
    /// The near end of the interval is within the threshold.
    MaybeSmall {
        /// The claim.
        claim: ClaimId,
    },
    /// A server has so few starts that other starts may differ.
    FewStarts {
        /// Starts of each server.
        starts: u32,
        /// Enough starts to give evidence.
        wanted: u32,
    },
    /// The load limited the throughput, or shares CPUs with the service.
    LoadIsTheLimit {
        /// The share of its CPUs that the load used.
        share: Option<f64>,
        /// True if service and load have separate CPUs.
        parted: bool,
    },
    /// The load waits for each answer, so its percentiles understate slow requests.
    ClosedLoop {
        /// The load generator.
        program: String,
    },
    /// Latencies could not be read in some trials.
    NoLatencies {
        /// Number of such trials.
        trials: u32,
        /// All successful trials.
        of: u32,
        /// The reason for the first one.
        why: String,
    },
    /// The effect may depend on the preceding trial.
    MayDependOnOrder {
        /// The policy.
        arm: String,
        /// p-value of "the order changes nothing".
        p: f64,
        /// The effect by the preceding trial.
        strata: Vec<Stratum>,
    },
    /// The C library takes the setting in some starts only.
    TakenByChance {
        /// The policy.
        arm: String,
        /// Trials that took it, and all trials.
        taken: Option<[u64; 2]>,
        /// The effect in the trials that took it, as a ratio.
        ratio: Option<f64>,
        /// The C library.
        glibc: String,
        /// True if the command binds all functions at the start, which makes it deterministic.
        bound: bool,
    },
    /// The figures of a policy include the cost of its mechanism.
    MechanismCost {
        /// The policy.
        arm: String,
        /// The claim about its overhead control.
        claim: ClaimId,
    },
    /// Rare bad runs are not excluded.
    RareRunsUnseen {
        /// The policy.
        arm: String,
        /// The share of such runs that is not excluded.
        at_most: f64,
    },
    /// More than a few runs of a better policy were worse than the baseline's.
    SomeRunsWorse {
        /// The policy.
        arm: String,
        /// Worse runs.
        worse: u32,
        /// Total number of its runs.
        of: u32,
        /// The typical worse run over the baseline's median.
        ratio: Option<f64>,
    },
    /// A policy was dropped before it could be judged.
    Dropped {
        /// The policy.
        arm: String,
        /// Number of rounds that it ran.
        rounds: u32,
        /// Why.
        why: String,
    },
    /// Rounds or readings of the judged metric are missing.
    LeftOut {
        /// The policies.
        arms: Vec<String>,
        /// The missing items, and the reason.
        why: String,
    },
    /// The two records are not one experiment.
    NotOneExperiment {
        /// Circumstances that differ.
        differences: Vec<String>,
    },
    /// The vendor of the program advises against huge pages.
    VendorObjects {
        /// The vendor, and the date.
        who: String,
        /// The command that shows why.
        program: String,
    },
    /// TLB events behind figures of the trials are not verified on this processor.
    UnverifiedCounters {
        /// The metrics with values.
        metrics: Vec<String>,
        /// The kinds of events that count something else.
        wrong: Vec<String>,
        /// The command that verifies events.
        command: String,
    },
    /// Page faults that follow a split may be a part of the effect.
    FaultsAfterSplits {
        /// At most this share of processor time with small pages.
        share: f64,
    },
    /// A problem with the record or the machine.
    Warning {
        /// The problem.
        text: String,
    },
    /// A setting could not be restored.
    LeftBehind {
        /// The setting.
        text: String,
    },
}

impl Doubt {
    /// Returns true if `--strict` must fail because of it.
    #[must_use]
    pub fn forbids_strict(&self) -> bool {
        matches!(
            self,
            Self::ControlFailed { .. }
                | Self::ControlWide { .. }
                | Self::NotApplied { .. }
                | Self::NothingDecided
        )
    }
}
