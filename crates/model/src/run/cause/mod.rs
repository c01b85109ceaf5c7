//! Causes: why an effect is there, or why there is none, as typed figures.
//!
//! [`causes`] asks every rule of one experiment. A rule speaks of medians over successful trials, and of differences
//! in seconds by means over paired rounds. It names the cause of a difference only if the comparison is decided.
//! `answer::words::cause` has the words, `explain.toml` the evidence, and [`facts`] has what is no cause.

use serde::Serialize;

use crate::run::compare::Table;
use crate::run::record::Record;

mod bench;
mod breakdown;
mod context;
mod coverage;
mod explain;
pub mod facts;
mod host_memory;
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
pub use host_memory::{HostColdMemory, Uneven};
pub use kind::{CauseId, Kind};
pub use rules::kernel::{
    CopyOnWriteAfterFork, HugeAllocationFellBack, KhugepagedHadNoTime, ReadFirstZeroPage,
};
pub use rules::memory::{
    FilledGaps, GapsDoubt, MemoryBloat, MemoryLimitReached, Sibling, ThreadStacksGrew,
};
pub use rules::program::{HeapGrewInSteps, ProgramDisablesThp, TooShort, Translation};
pub use rules::same_pages::{NothingHuge, SamePages};
pub use rules::slow_requests::SlowRequestsStalled;

use CauseId as Id;
use context::Ask;
use rules::program::is_vain;
use rules::{kernel, memory, program, same_pages, slow_requests};

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
    any(Id::ProgramDisablesThp, Of::Baseline(program::own_act)),
    any(Id::WorkloadTooShort, Of::Baseline(program::too_short)),
    any(Id::MemoryLimitReached, Of::All(memory::limit)),
    pages(Id::SamePages, Of::Arms(same_pages::ask)),
    pages(Id::HeapGrewInSteps, Of::Arms(program::heap_steps)),
    any(Id::Breakdown, Of::Arms(breakdown::ask)),
    pages(Id::Translation, Of::Baseline(program::translation)),
    any(Id::SlowRequestsStalled, Of::Whole(slow_requests::check)),
    any(Id::HostColdMemory, Of::All(host_memory::ask)),
    pages(Id::HugeAllocationFellBack, Of::All(kernel::fell_back)),
    pages(Id::KhugepagedHadNoTime, Of::All(kernel::khugepaged)),
    pages(Id::ReadFirstZeroPage, Of::All(kernel::zero_page)),
    any(Id::CopyOnWriteAfterFork, Of::Arms(kernel::after_fork)),
    pages(Id::MemoryBloat, Of::Arms(memory::bloat)),
    pages(Id::KhugepagedFilledGaps, Of::Arms(memory::gaps)),
    pages(Id::ThreadStacksGrew, Of::Arms(memory::stacks)),
];

/// The rules about benches. The time of a bench as a whole says nothing, so other rules are not asked.
static BENCH_RULES: &[Rule] = &[
    any(Id::NoDifference, Of::Arms(bench::no_difference)),
    any(Id::ZeroPageSource, Of::All(bench::zero_page)),
    any(Id::ReadFirstPrefault, Of::All(bench::prefault)),
    any(Id::GrowthBelowHugePage, Of::All(bench::growth)),
    any(Id::PageFaultBound, Of::All(bench::page_faults)),
    any(Id::ZeroingBound, Of::All(bench::zeroing)),
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
        let is_for_vain = |arm: Option<&str>| match self.about {
            About::HugePages => is_vain(context, arm),
            About::Anything => false,
        };
        let told = self.of.told(context).into_iter();
        let told = told.filter(|(arm, ..)| !is_for_vain(arm.as_deref()));
        let id = self.id;
        told.map(|(arm, outcome, kind)| Cause {
            arm,
            outcome,
            id,
            kind,
        })
        .collect()
    }
}

impl Of {
    fn told(&self, context: &Context<'_>) -> Vec<Found> {
        let baseline = context.baseline();
        let (ask, is_asked): (Ask, fn(&str, &str) -> bool) = match *self {
            Self::All(ask) => (ask, |_, _| true),
            Self::Arms(ask) => (ask, |arm, baseline| arm != baseline),
            Self::Baseline(ask) => (ask, |arm, baseline| arm == baseline),
            Self::Whole(check) => return check(context),
        };
        let names = context.policies().iter().map(|policy| policy.name.as_str());
        let told = names
            .filter(|arm| is_asked(arm, baseline))
            .filter_map(|arm| {
                let (outcome, kind) = context.ask(arm, ask)?;
                let arm = (!matches!(self, Self::Baseline(_))).then(|| arm.to_owned());
                Some((arm, outcome, kind))
            });
        told.collect()
    }
}
