//! The rules, in the order of their causes in the report. Each opens with the claim; `explain.toml` has the evidence.

use super::context::Ask;
use super::{Cause, CauseId, CauseOutcome, Context, Kind};
use super::{bench, breakdown, host_memory};
use CauseId as Id;
use program::is_vain;

pub(super) mod kernel;
pub(super) mod memory;
pub(super) mod program;
pub(super) mod same_pages;
pub(super) mod slow_requests;

/// A rule that recognises a cause.
struct Rule {
    id: CauseId,
    about: About,
    of: Of,
}

/// The subject of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Huge pages from a policy. Skipped for a program that keeps them from its memory.
    HugePages,
    /// Anything else.
    Anything,
}

/// The arms to which a rule applies.
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
pub(super) type Found = (Option<String>, CauseOutcome, Kind);

/// The rules about programs.
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

/// The rules about benches. The total time of a bench has no meaning, so other rules are skipped.
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

/// Evaluates every rule for one experiment.
pub(super) fn check(context: &Context<'_>) -> Vec<Cause> {
    let rules = match context.record.header.plan.bench {
        Some(_) => BENCH_RULES,
        None => PROGRAM_RULES,
    };
    rules.iter().flat_map(|rule| rule.check(context)).collect()
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
        let (ask, is_asked): (Ask, fn(&str, &str) -> bool) = match *self {
            Self::All(ask) => (ask, |_, _| true),
            Self::Arms(ask) => (ask, |arm, baseline| arm != baseline),
            Self::Baseline(ask) => (ask, |arm, baseline| arm == baseline),
            Self::Whole(check) => return check(context),
        };
        let names = context.policies().iter().map(|policy| policy.name.as_str());
        let asked = names.filter(|arm| is_asked(arm, context.baseline()));
        let told = asked.filter_map(|arm| {
            let (outcome, kind) = context.ask(arm, ask)?;
            let arm = (!matches!(self, Self::Baseline(_))).then(|| arm.to_owned());
            Some((arm, outcome, kind))
        });
        told.collect()
    }
}
