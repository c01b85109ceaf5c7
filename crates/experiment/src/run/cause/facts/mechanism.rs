//! The mechanism that applies an arm, its cost, and the memory that it made huge while the program ran.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::Context;
use crate::run::compare::Table;
use crate::run::compare::medians::arm_trials;
use crate::run::policy::realise::TreeTracer;
use crate::run::policy::{Policy, Thp};
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Clash, Collapsing, Tracing};

/// The mechanism that applied an arm.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum MechanismFacts {
    /// A tracer stopped the program when it mapped memory.
    Tracing {
        /// Stops in a typical run.
        stops: f64,
        /// Advised ranges in a typical run.
        ranges: f64,
        /// Memory that it could not reach, one sentence each.
        beyond: Vec<String>,
        /// Its cost; `None` if no arm has only the tracer.
        cost: Option<MechanismCost>,
    },
    /// A preloaded library made the program advise its memory.
    Preloading {
        /// Trials in which the program had mapped it.
        trials: usize,
        /// Why no tracer was used, if one was tried first.
        instead_of_tracer: Option<Clash>,
        /// Its cost; `None` if no arm has only the library.
        cost: Option<MechanismCost>,
    },
}

/// The cost of a mechanism without its effect: its overhead control against the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MechanismCost {
    /// The overhead control.
    pub control: String,
    /// The judged metric, as a ratio to the baseline.
    pub ratio: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
}

/// Returns `None` for an arm that needs neither.
#[must_use]
pub fn mechanism(record: &Record, table: &Table, arm: &str) -> Option<MechanismFacts> {
    let context = Context::new(record, table);
    let set = record.header.realisations.get(arm)?;
    if set.tracer == TreeTracer::Huge {
        return traced(&context, arm);
    }
    let is_preloaded = context.settings(arm).thp == Some(Thp::Always) && set.library.is_some();
    let had = arm_trials(record, arm).filter(|trial| trial.read_back.library == Some(true));
    let trials = had.count();
    (is_preloaded && trials > 0).then(|| MechanismFacts::Preloading {
        trials,
        instead_of_tracer: instead_of_tracer(record, arm),
        cost: cost(&context, |policy| policy.settings.preload.is_some()),
    })
}

fn instead_of_tracer(record: &Record, arm: &str) -> Option<Clash> {
    let mut changes = record.changes_of_means.iter();
    changes.find(|it| it.policy == arm).map(|it| it.clash)
}

fn traced(context: &Context<'_>, arm: &str) -> Option<MechanismFacts> {
    let seen = tracings(context.record, arm);
    let realisations = &context.record.header.realisations;
    let is_idle = |it: &Policy| {
        let realisation = realisations.get(&it.name);
        realisation.is_some_and(|it| it.tracer == TreeTracer::Idle)
    };
    Some(MechanismFacts::Tracing {
        stops: typical(&seen, |it| it.stops)?,
        ranges: typical(&seen, |it| it.ranges)?,
        beyond: beyond(&seen),
        cost: cost(context, is_idle),
    })
}

fn cost(context: &Context<'_>, is_idle: impl Fn(&Policy) -> bool) -> Option<MechanismCost> {
    let control = context.policies().iter().find(|policy| is_idle(policy))?;
    let metric = &context.record.header.plan.verdict_metric;
    let row = context.comparison(metric, &control.name)?;
    Some(MechanismCost {
        control: control.name.clone(),
        ratio: row.ratio?,
        interval: row.low.zip(row.high).map(<[f64; 2]>::from),
    })
}

fn tracings<'a>(record: &'a Record, arm: &str) -> Vec<&'a Tracing> {
    let tracings = arm_trials(record, arm).filter_map(|it| it.read_back.tracing.as_ref());
    tracings.collect()
}

/// Returns the reason why the tracer of an arm reached no memory; `None` if it reached some, or no reason is known.
#[must_use]
pub fn not_reached(record: &Record, arm: &str) -> Option<Clash> {
    let seen = tracings(record, arm);
    let is_reached = |it: &&Tracing| {
        let mut made = [&it.collapsing, &it.text].into_iter().flatten();
        it.ranges > 0 || made.any(|it| it.calls > 0)
    };
    match seen.iter().any(is_reached) {
        true => None,
        false => seen.iter().find_map(|it| it.clashes.first().copied()),
    }
}

/// Returns the sentences about memory that no tracer reached, each once.
fn beyond(seen: &[&Tracing]) -> Vec<String> {
    let mut beyond: Vec<String> = Vec::new();
    for sentence in seen.iter().flat_map(|tracing| &tracing.beyond) {
        if !beyond.contains(sentence) {
            beyond.push(sentence.clone());
        }
    }
    beyond
}

/// Returns the median of a figure.
fn typical<T>(seen: &[&T], figure: fn(&T) -> u64) -> Option<f64> {
    let figures: Vec<f64> = seen.iter().map(|it| figure(it) as f64).collect();
    median(&figures)
}

/// Memory that became huge in a typical run, and the stops for it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MadeHuge {
    /// Bytes made huge.
    pub bytes: f64,
    /// Calls, or stops for code.
    pub calls: f64,
    /// Total seconds for which threads were stopped, one at a time.
    pub held_seconds: f64,
    /// The longest of these stops, in seconds.
    pub longest_seconds: f64,
    /// Mean bytes per run that the kernel refused, by error.
    pub refused: BTreeMap<String, f64>,
    /// Why nothing became huge, if so.
    pub nothing: Option<NothingMade>,
    /// Memory that no tracer reached, one sentence each.
    pub beyond: Vec<String>,
}

/// Why nothing became huge.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum NothingMade {
    /// The program ended before the scheduled time.
    EndedBefore,
    /// No private anonymous range of at least one huge page had a small page in use.
    NoSmallPages,
    /// No huge page fits into the code in use, or it was already huge.
    NoCode,
    /// The kernel refused it with these errors.
    Refused(Vec<String>),
}

type Counted = fn(&Tracing) -> Option<&Collapsing>;

const MEMORY: Counted = |tracing| tracing.collapsing.as_ref();
const CODE: Counted = |tracing| tracing.text.as_ref();

/// Returns the memory that `collapse=` made huge; `None` for other policies.
#[must_use]
pub fn collapsed_later(record: &Record, arm: &str) -> Option<MadeHuge> {
    made_huge(record, arm, MEMORY, NothingMade::NoSmallPages)
}

/// Returns the code that `text=huge` put into huge pages; `None` for other policies.
#[must_use]
pub fn huge_code(record: &Record, arm: &str) -> Option<MadeHuge> {
    made_huge(record, arm, CODE, NothingMade::NoCode)
}

/// Returns why such a policy made nothing huge in any trial; `None` for other policies.
pub(in super::super) fn why_nothing(record: &Record, arm: &str) -> Option<NothingMade> {
    let kinds = [
        (MEMORY, NothingMade::NoSmallPages),
        (CODE, NothingMade::NoCode),
    ];
    kinds.into_iter().find_map(|(counted, none)| {
        let tracings = tracings(record, arm);
        let seen: Vec<&Collapsing> = tracings.into_iter().filter_map(counted).collect();
        let is_nothing = !seen.is_empty() && seen.iter().all(|it| it.bytes == 0);
        is_nothing.then(|| nothing(&seen, none))
    })
}

fn made_huge(record: &Record, arm: &str, counted: Counted, none: NothingMade) -> Option<MadeHuge> {
    let tracings = tracings(record, arm);
    let seen: Vec<&Collapsing> = tracings.iter().copied().filter_map(counted).collect();
    let bytes = typical(&seen, |it| it.bytes)?;
    let mean = |bytes: u64| bytes as f64 / seen.len() as f64;
    let refused = errors(&seen).into_iter();
    Some(MadeHuge {
        bytes,
        calls: typical(&seen, |it| it.calls)?,
        held_seconds: typical(&seen, |it| it.held_ns)? / 1e9,
        longest_seconds: typical(&seen, |it| it.longest_ns)? / 1e9,
        refused: refused.map(|(error, bytes)| (error, mean(bytes))).collect(),
        nothing: (bytes == 0.0).then(|| nothing(&seen, none)),
        beyond: beyond(&tracings),
    })
}

fn nothing(seen: &[&Collapsing], none: NothingMade) -> NothingMade {
    if seen.iter().all(|it| it.passes == 0) {
        NothingMade::EndedBefore
    } else if seen.iter().all(|it| it.calls == 0) {
        none
    } else {
        NothingMade::Refused(errors(seen).into_keys().collect())
    }
}

/// Returns the refused bytes over all trials, by error.
fn errors(seen: &[&Collapsing]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (error, bytes) in seen.iter().flat_map(|it| &it.refused) {
        *sum.entry(error.clone()).or_default() += bytes;
    }
    sum
}
