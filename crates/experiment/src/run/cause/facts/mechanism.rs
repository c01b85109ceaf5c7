//! Arms that a tracer or a preloaded library puts in force, and what these cost by themselves.

use serde::Serialize;

use super::super::Context;
use crate::run::compare::Table;
use crate::run::compare::medians::arm_trials;
use crate::run::policy::realise::Tracer;
use crate::run::policy::{Policy, Thp};
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::Tracing;

/// A larger cost could be taken for an effect of huge pages.
const NOTABLE: f64 = 0.01;

/// How an arm was put in force.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum MechanismFacts {
    /// A tracer stopped the program when it mapped memory.
    Tracing {
        /// Stops in a typical run.
        stops: f64,
        /// Ranges that were advised in a typical run.
        ranges: f64,
        /// Memory that it could not reach, one sentence each.
        beyond: Vec<String>,
        /// Its cost; `None` when no arm has the tracer alone.
        cost: Option<MechanismCost>,
    },
    /// A preloaded library had the program advise its own memory.
    Preloading {
        /// Trials in which the program had mapped it.
        trials: usize,
        /// Its cost; `None` when no arm has the library alone.
        cost: Option<MechanismCost>,
    },
}

/// The cost of a mechanism alone: its overhead control against the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MechanismCost {
    /// The overhead control.
    pub control: String,
    /// The judged metric, as a ratio to the baseline.
    pub ratio: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
}

impl MechanismCost {
    /// Returns true when it costs more than 1 % for certain.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.interval.is_some_and(|[low, _]| low - 1.0 > NOTABLE)
    }

    /// Returns true when it may cost nothing.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.interval
            .is_none_or(|[low, high]| low <= 1.0 && high >= 1.0)
    }
}

/// Returns `None` for an arm that needs neither.
#[must_use]
pub fn mechanism(record: &Record, table: &Table, arm: &str) -> Option<MechanismFacts> {
    let context = Context::new(record, table);
    let set = record.header.realisations.get(arm)?;
    if set.tracer == Tracer::Huge {
        return traced(&context, arm);
    }
    let is_preloaded = context.settings(arm).thp == Some(Thp::Always) && set.library.is_some();
    let had = arm_trials(record, arm).filter(|trial| trial.read_back.library == Some(true));
    let trials = had.count();
    (is_preloaded && trials > 0).then(|| MechanismFacts::Preloading {
        trials,
        cost: cost(&context, |policy| policy.settings.preload.is_some()),
    })
}

fn traced(context: &Context<'_>, arm: &str) -> Option<MechanismFacts> {
    let seen = tracings(context.record, arm);
    let typical = |figure: fn(&Tracing) -> u64| {
        let figures: Vec<f64> = seen.iter().map(|it| figure(it) as f64).collect();
        median(&figures)
    };
    let realisations = &context.record.header.realisations;
    let is_idle = |it: &Policy| {
        realisations
            .get(&it.name)
            .is_some_and(|it| it.tracer == Tracer::Idle)
    };
    Some(MechanismFacts::Tracing {
        stops: typical(|it| it.stops)?,
        ranges: typical(|it| it.ranges)?,
        beyond: beyond(&seen),
        cost: cost(context, is_idle),
    })
}

pub(super) fn tracings<'a>(record: &'a Record, arm: &str) -> Vec<&'a Tracing> {
    let trials = arm_trials(record, arm);
    trials
        .filter_map(|trial| trial.read_back.tracing.as_ref())
        .collect()
}

/// Returns the sentences about memory that no tracer reached, each once.
pub(super) fn beyond(seen: &[&Tracing]) -> Vec<String> {
    let mut beyond: Vec<String> = Vec::new();
    for sentence in seen.iter().flat_map(|tracing| &tracing.beyond) {
        if !beyond.contains(sentence) {
            beyond.push(sentence.clone());
        }
    }
    beyond
}

fn cost(context: &Context<'_>, is_idle: impl Fn(&Policy) -> bool) -> Option<MechanismCost> {
    let control = context.policies().iter().find(|policy| is_idle(policy))?;
    let metric = &context.record.header.plan.verdict_metric;
    let row = context.comparison(metric, &control.name)?;
    Some(MechanismCost {
        control: control.name.clone(),
        ratio: row.ratio?,
        interval: row.low.zip(row.high).map(|(low, high)| [low, high]),
    })
}
