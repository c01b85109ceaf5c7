//! One effect with its interval: who is compared with whom, when, and what may be said.

use serde::Serialize;

use crate::run::compare::{Runs, Statistic, Stratum, Warning, Why};

/// The position of a claim in [`Answer::claims`](super::Answer::claims).
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimId(pub usize);

/// One comparison that the experiment makes.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Contrast {
    /// The arm that is compared.
    pub arm: String,
    /// What it is compared with.
    pub against: Against,
    /// In which runs.
    pub when: When,
    /// Name of the metric.
    pub metric: String,
    /// The property of the metric's sample.
    pub statistic: Statistic,
}

/// What an arm is compared with.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "kind", content = "arm")]
pub enum Against {
    /// The baseline.
    Baseline,
    /// The same mechanism without its huge pages.
    OverheadControl(String),
    /// The same malloc with small pages, so that huge pages alone differ.
    SmallPagesSameMalloc(String),
    /// Another program under the same policy.
    Program(String),
    /// The gain that another program has from the same policy.
    GainOfProgram(String),
    /// Another policy that is better than the baseline too.
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
    /// Runs that follow each other within seconds; of a server, its loads.
    BackToBack,
    /// Runs after so many idle seconds, in which a hypervisor takes free memory back.
    AfterIdle(u64),
    /// Those of them that met memory which the host had taken back, as their system time shows.
    AfterIdleCold,
    /// Those of them that met memory which it had not.
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
    /// Who is compared with whom.
    pub contrast: Contrast,
    /// The size of the effect; `None` when nothing was compared.
    pub effect: Option<Effect>,
    /// Its interval; `None` with too few rounds.
    pub interval: Option<Interval>,
    /// The typical value of what the arm is compared with, in the unit of the metric.
    pub from: Option<f64>,
    /// The typical value of the arm.
    pub to: Option<f64>,
    /// Rounds (or runs, starts, periods) in which both were read.
    pub rounds: u32,
    /// Rounds on the side of the effect; `None` when rounds are not paired.
    pub agreeing: Option<u32>,
    /// What may be said.
    pub call: Call,
    /// The error budget that the call rests on.
    pub budget: Budget,
    /// Two-sided p-value, when it was tested.
    pub p: Option<f64>,
    /// Rounds that are left out, and other doubts about this number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Claim {
    /// Returns true when the interval has an effect in one direction only.
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
    /// The arm divided by what it is compared with.
    Ratio(f64),
    /// The arm less what it is compared with, in the unit of the metric.
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
    /// What it covers.
    pub covers: Covers,
}

/// What an interval covers.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// With 95 % the effect in this session, for all judged policies together, at any time of stopping.
    Verdict,
    /// With 95 % the effect in this session, for this row alone.
    Row,
    /// With 95 % the effect over all starts of these servers, for this row alone: starts are the unit.
    Starts,
    /// With 95 % the effect between sessions, for this row alone: records are the unit.
    Sessions,
    /// The smallest and the largest effect that was seen; no probability.
    Range,
}

/// What may be said of an effect. *Better* and *worse* are those of the metric.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Higher, in a metric of which neither direction is good.
    Higher,
    /// Lower, in such a metric.
    Lower,
    /// The whole interval is within the threshold.
    Same,
    /// Some runs are worse; the usual run is the same.
    RareSlow(Runs),
    /// Some runs are better and some are worse.
    Mixed(Runs),
    /// Better after some trials and worse after others.
    DependsOnOrder {
        /// p-value of "the order changes nothing".
        p: f64,
        /// The effect by what ran before.
        strata: Vec<Stratum>,
    },
    /// The rounds do not tell.
    Open(Needs),
    /// The arm changed no page, so its time says nothing about huge pages.
    SamePages(Why),
    /// The arm was not in force.
    NotApplied(Why),
    /// Its trials failed.
    Failed(Why),
    /// It was not run, or not measured.
    NotRun(Why),
}

impl Call {
    /// Returns true for a difference that was shown.
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

    /// Returns why the arm has no answer, in place of a verdict.
    #[must_use]
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::SamePages(why) | Self::NotApplied(why) => Some(why),
            Self::Failed(why) | Self::NotRun(why) => Some(why),
            _ => None,
        }
    }

    /// Returns true when more rounds may tell more.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_) | Self::DependsOnOrder { .. })
    }
}

/// What an open claim needs.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct Needs {
    /// The fewest rounds that can decide, when there were fewer.
    pub fewest_rounds: Option<u32>,
    /// Seconds that would decide an effect of the size that is seen.
    pub seconds: Option<f64>,
    /// Starts of the servers, in all, that would decide it if further ones are like these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<u32>,
}

/// The error budget of a call: how often such calls are false.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// 5 % for the judged metric, shared by all judged policies.
    Verdict,
    /// 5 % of its own, shared by all claims of the same kind: all rows under the verdict are one kind.
    Own,
    /// Not corrected for the number of rows: of twenty such rows one may be false.
    Uncorrected,
}
