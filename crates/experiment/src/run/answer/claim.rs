//! One effect with its interval: the two sides of the comparison, the runs, and the conclusion.

use serde::Serialize;

use crate::run::compare::{Runs, Statistic, Stratum, Warning, Why};

/// The position of a claim in [`Answer::claims`](super::Answer::claims).
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimId(pub usize);

/// One comparison in the experiment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Contrast {
    /// The compared arm.
    pub arm: String,
    /// The other side of the comparison.
    pub against: Against,
    /// The runs.
    pub when: When,
    /// Name of the metric.
    pub metric: String,
    /// The property of the metric's sample.
    pub statistic: Statistic,
}

/// The other side of a comparison.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "kind", content = "arm")]
pub enum Against {
    /// The baseline.
    Baseline,
    /// The same mechanism without its huge pages.
    OverheadControl(String),
    /// The same malloc with small pages, so that only huge pages differ.
    SmallPagesSameMalloc(String),
    /// Another program under the same policy.
    Program(String),
    /// The gain of another program from the same policy.
    GainOfProgram(String),
    /// Another policy that is also better than the baseline.
    Rival(String),
    /// The baseline, run a second time in each round.
    Itself,
    /// The same policy in another record.
    OtherRecord,
}

/// The runs of a contrast.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Runs that follow each other within seconds; for a server, its loads.
    BackToBack,
    /// Runs after so many idle seconds, in which a hypervisor takes free memory back.
    AfterIdle(u64),
    /// Runs after idle on memory that the host had taken back, according to their system time.
    AfterIdleCold,
    /// Runs after idle on memory that the host still backed.
    AfterIdleWarm,
    /// Starts of a server: one value a start.
    PerStart(u32),
    /// Sessions: one value a record, of so many records before and after.
    PerRecord([u32; 2]),
    /// Periods inside one running process.
    LivePeriods,
}

/// A contrast with its result. The only type of an effect.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Claim {
    /// The two sides of the comparison.
    pub contrast: Contrast,
    /// The size of the effect; `None` if nothing was compared.
    pub effect: Option<Effect>,
    /// Its interval; `None` with too few rounds.
    pub interval: Option<Interval>,
    /// The typical value of the other side, in the unit of the metric.
    pub from: Option<f64>,
    /// The typical value of the arm.
    pub to: Option<f64>,
    /// Number of rounds (or runs, starts, periods) in which both were read.
    pub rounds: u32,
    /// Number of rounds on the side of the effect; `None` if rounds are not paired.
    pub agreeing: Option<u32>,
    /// The conclusion.
    pub call: Call,
    /// The error budget of the call.
    pub budget: Budget,
    /// Two-sided p-value, if it was tested.
    pub p: Option<f64>,
    /// Rounds left out, and other doubts about this number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Claim {
    /// Returns true if the interval excludes no effect.
    #[must_use]
    pub fn excludes_none(&self) -> bool {
        let none = match self.effect {
            Some(Effect::Ratio(_)) => 1.0,
            _ => 0.0,
        };
        self.interval
            .is_some_and(|it| it.low > none || it.high < none)
    }
}

/// The size of an effect.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The arm divided by the other side.
    Ratio(f64),
    /// The arm minus the other side, in the unit of the metric.
    Difference(f64),
    /// Percentage points by which one program gains more than another.
    Points(f64),
}

/// An interval on the scale of its effect.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its coverage.
    pub covers: Covers,
}

/// The coverage of an interval.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// With 95 %, the effect in this session, for all judged policies together, at any stopping time.
    Verdict,
    /// With 95 %, the effect in this session, for this single row.
    Row,
    /// With 95 %, the effect over all starts of these servers, for this single row: starts are the unit.
    Starts,
    /// With 95 %, the effect between sessions, for this single row: records are the unit.
    Sessions,
    /// The smallest and the largest observed effect; no probability.
    Range,
}

/// The conclusion about an effect. *Better* and *worse* follow the metric.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Higher, in a metric without a good direction.
    Higher,
    /// Lower, in such a metric.
    Lower,
    /// The whole interval is within the threshold.
    Same,
    /// Some runs are worse; the typical run is the same.
    RareSlow(Runs),
    /// Some runs are better and some are worse.
    Mixed(Runs),
    /// Better after some trials and worse after others.
    DependsOnOrder {
        /// p-value of "the order changes nothing".
        p: f64,
        /// The effect by the preceding trial.
        strata: Vec<Stratum>,
    },
    /// The rounds do not decide.
    Open(Needs),
    /// The arm changed no page, so its time is no evidence about huge pages.
    SamePages(Why),
    /// The arm was not applied.
    NotApplied(Why),
    /// Its trials failed.
    Failed(Why),
    /// It was not run, or not measured.
    NotRun(Why),
}

impl Call {
    /// Returns true for a shown difference.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        matches!(
            self,
            Self::Better
                | Self::Worse
                | Self::Higher
                | Self::Lower
                | Self::Mixed(_)
                | Self::RareSlow(_)
        )
    }

    /// Returns why the arm has a reason instead of a verdict.
    #[must_use]
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::SamePages(why) | Self::NotApplied(why) => Some(why),
            Self::Failed(why) | Self::NotRun(why) => Some(why),
            _ => None,
        }
    }

    /// Returns true if more rounds may decide.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_) | Self::DependsOnOrder { .. })
    }
}

/// The requirements of an open claim.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct Needs {
    /// The fewest rounds that can decide, if there were fewer.
    pub fewest_rounds: Option<u32>,
    /// Seconds that would decide an effect of the observed size.
    pub seconds: Option<f64>,
    /// Total number of server starts that would decide it if further ones resemble these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<u32>,
}

/// The error budget of a call: how often such calls are false.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// 5 % for the judged metric, shared by all judged policies.
    Verdict,
    /// A separate 5 %, shared by all claims of the same kind: all rows under the verdict are one kind.
    Own,
    /// Not corrected for the number of rows: one in twenty such rows may be false.
    Uncorrected,
}
