//! Causes: why an effect is there, or why there is none, as typed figures.
//!
//! [`causes`](crate::run::cause::causes) asks every rule of one experiment. A rule speaks of medians over successful trials, and of differences in
//! seconds by means over paired rounds. It names the cause of a difference only if the comparison is decided.
//! `answer::words::cause` has the words.
//!
//! Facts about arms and trials are no causes. [`facts`](crate::run::cause::facts) has one function for each:
//!
//! | function | result |
//! |---|---|
//! | `in_force(record, arm)` | `Option<InForce>`: the settings of a policy as they were read back |
//! | `not_applied(record, arm)` | `Option<NotApplied { trials, of, detail }>` |
//! | `taken_by_chance(record, table, arm)` | `Option<Taken { taken, of, ratio }>` |
//! | `load_limits(record)`, `load_limit(record)` | `Vec<LoadLimit>` by arm; the gravest that was not refuted |
//! | `prices(record, table, arm)`, `losses(…)` | `Vec<&Comparison>`: rows that got worse; prices are without stalls |
//! | `is_price_of_memory(comparison)` | true when the additional memory is enough to be a price |
//! | `rested(record, baseline, arm)` | `Option<Rested>`: runs after idle, as shares of the baseline's median |
//! | `first_touch(record)` | `Option<TouchPrice>`: cold and warm touches of a huge page |
//! | `uneven(record, baseline, arm)` | `Option<Uneven>`: slow trials in which the host had to back memory |
//! | `mechanism(record, table, arm)` | `Option<MechanismFacts>`: tracer or preloaded library, and its cost |
//! | `collapsed_later(record, arm)`, `huge_code(record, arm)` | `Option<MadeHuge>` |
//! | `pool(record, arm)` | `Option<Pool { bytes, used }>`; `used` is `Some(0.0)` when nobody used it |
//! | `equal_coverage(record, table, arm)` | `Option<SameCoverage>`, of arms that change more than pages |
//! | `noise(record, table)` | `Option<Noise>`: the baseline against itself beside the threshold |
//! | `too_short(record, table)` | `Option<TooShort>` |
//! | `seconds(record, baseline, arm)` | `Option<Seconds>`: the parts of the change in time, which add up |
//!
//! To add a cause, add a file to `rules/`, a name in `kind.rs`, a line in `PROGRAM_RULES` or `BENCH_RULES`,
//! its words in `answer::words::cause`, and its explanation in `explain.toml`. A fact is a function in `facts/`.

use serde::Serialize;

use crate::run::compare::Table;
use crate::run::record::Record;

mod bench;
mod breakdown;
mod context;
mod coverage;
mod explain;
pub mod facts;
mod kind;
mod paired;
mod rules;

pub use bench::{
    GrowthBelowHugePage, LargeShare, Misread, NoDifference, ReadFirstPrefault, ZeroPageSource,
};
pub use breakdown::{
    Arrival, Breakdown, FewerFaults, Lasting, MovedToStart, Part, Seconds, Share, Stalls, UserTime,
    Walks, WalksFell, Way, Zeroing,
};
pub use context::{Context, MissingInput, Pair};
pub use explain::{Explanation, explanations};
pub use kind::{CauseId, Kind};
pub use rules::{
    CopyOnWriteAfterFork, FilledGaps, GapsDoubt, HeapGrewInSteps, HostColdMemory,
    HugeAllocationFellBack, KhugepagedHadNoTime, MemoryBloat, MemoryLimitReached, NothingHuge,
    ProgramDisablesThp, ReadFirstZeroPage, SamePages, Sibling, SlowRequestsStalled,
    ThreadStacksGrew, Translation,
};

use CauseId as Id;
use bench::large_share;
use context::Ask;
use rules::own_act::is_vain;
use rules::{
    after_fork, bloat, fell_back, gaps, heap_steps, host_memory, khugepaged, memory_limit, own_act,
    same_pages, short, slow_requests, stacks, translation, zero_page,
};

/// One cause, as far as the record shows it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Cause {
    /// The arm that it is about; `None` for the whole experiment.
    pub arm: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// Its name.
    #[serde(rename = "cause")]
    pub id: CauseId,
    /// Its figures.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The result of looking for a cause. The order is that in which causes are listed.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The evidence is there.
    Shown,
    /// The evidence could not be read.
    CannotTell,
    /// The evidence was looked for and is not there.
    NotShown,
}

impl Outcome {
    /// Returns the outcome of evidence that was read.
    fn shown_if(is_there: bool) -> Self {
        match is_there {
            true => Self::Shown,
            false => Self::NotShown,
        }
    }
}

/// A rule that recognises a cause.
struct Rule {
    id: CauseId,
    about: About,
    of: Of,
}

/// The subject of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Huge pages that a policy gave. It is not asked of a program that keeps them from its memory.
    HugePages,
    /// Anything else.
    Anything,
}

/// The arms that a rule is asked about.
enum Of {
    /// Every arm except the baseline.
    Arms(Ask),
    /// Every arm.
    All(Ask),
    /// The baseline, for the whole experiment.
    Baseline(Ask),
    /// All arms together.
    Whole(fn(&Context<'_>) -> Vec<Found>),
}

/// A result with its arm; `None` for the whole experiment.
type Found = (Option<String>, Outcome, Kind);

/// The rules about programs, in the order in which their causes are listed.
static PROGRAM_RULES: &[Rule] = &[
    any(Id::ProgramDisablesThp, Of::Whole(own_act::check)),
    any(Id::WorkloadTooShort, Of::Whole(short::check)),
    any(Id::MemoryLimitReached, Of::All(memory_limit::ask)),
    pages(Id::SamePages, Of::Arms(same_pages::ask)),
    pages(Id::HeapGrewInSteps, Of::Arms(heap_steps::ask)),
    any(Id::Breakdown, Of::Arms(breakdown::ask)),
    pages(Id::Translation, Of::Baseline(translation::ask)),
    any(Id::SlowRequestsStalled, Of::Whole(slow_requests::check)),
    any(Id::HostColdMemory, Of::All(host_memory::ask)),
    pages(Id::HugeAllocationFellBack, Of::All(fell_back::ask)),
    pages(Id::KhugepagedHadNoTime, Of::All(khugepaged::ask)),
    pages(Id::ReadFirstZeroPage, Of::All(zero_page::ask)),
    any(Id::CopyOnWriteAfterFork, Of::Arms(after_fork::ask)),
    pages(Id::MemoryBloat, Of::Arms(bloat::ask)),
    pages(Id::KhugepagedFilledGaps, Of::Arms(gaps::ask)),
    pages(Id::ThreadStacksGrew, Of::Arms(stacks::ask)),
];

/// The rules about benches. The time of a bench as a whole says nothing, so other rules are not asked.
static BENCH_RULES: &[Rule] = &[
    any(Id::NoDifference, Of::Arms(bench::no_difference::ask)),
    any(Id::ZeroPageSource, Of::All(bench::zero_page::ask)),
    any(Id::ReadFirstPrefault, Of::All(bench::prefault::ask)),
    any(Id::GrowthBelowHugePage, Of::All(bench::growth::ask)),
    any(Id::PageFaultBound, Of::All(large_share::page_faults)),
    any(Id::ZeroingBound, Of::All(large_share::zeroing)),
];

const fn any(id: Id, of: Of) -> Rule {
    let about = About::Anything;
    Rule { id, about, of }
}

const fn pages(id: Id, of: Of) -> Rule {
    let about = About::HugePages;
    Rule { id, about, of }
}

/// Returns all causes of one experiment: shown first, then those that cannot be told, then those not shown.
///
/// Programs that are compared with each other have none, because rules compare policies.
#[must_use]
pub fn causes(record: &Record, table: &Table) -> Vec<Cause> {
    let plan = &record.header.plan;
    if !plan.programs.is_empty() {
        return Vec::new();
    }
    let rules = match plan.bench {
        Some(_) => BENCH_RULES,
        None => PROGRAM_RULES,
    };
    let context = Context::new(record, table);
    let mut causes: Vec<Cause> = rules.iter().flat_map(|rule| rule.check(&context)).collect();
    causes.sort_by_key(|cause| cause.outcome);
    causes
}

impl Rule {
    fn check(&self, context: &Context<'_>) -> Vec<Cause> {
        let mut told = self.of.told(context);
        if self.about == About::HugePages {
            told.retain(|(arm, ..)| !is_vain(context, arm.as_deref()));
        }
        let causes = told.into_iter().map(|(arm, outcome, kind)| Cause {
            arm,
            outcome,
            id: self.id,
            kind,
        });
        causes.collect()
    }
}

impl Of {
    fn told(&self, context: &Context<'_>) -> Vec<Found> {
        let names = context.policies().iter().map(|policy| policy.name.as_str());
        let baseline = context.baseline();
        let of = |arm: &str, ask: Ask| {
            let (outcome, kind) = context.ask(arm, ask)?;
            Some((Some(arm.to_owned()), outcome, kind))
        };
        match *self {
            Self::All(ask) => names.filter_map(|arm| of(arm, ask)).collect(),
            Self::Arms(ask) => {
                let arms = names.filter(|arm| *arm != baseline);
                arms.filter_map(|arm| of(arm, ask)).collect()
            }
            Self::Baseline(ask) => {
                let whole = names
                    .filter(|arm| *arm == baseline)
                    .filter_map(|arm| of(arm, ask));
                whole
                    .map(|(_, outcome, kind)| (None, outcome, kind))
                    .collect()
            }
            Self::Whole(check) => check(context),
        }
    }
}
