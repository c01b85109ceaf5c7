//! Claims that the stacks of a service's threads hold more memory under a policy.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::base::missing::Missing;
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ThreadStacksGrew;

const STACKS: MetricId = MetricId::ThreadStacksBytes;
const HUGE: MetricId = MetricId::ThreadStacksHugeBytes;
const THREADS: MetricId = MetricId::ThreadsTotal;

impl Rule for ThreadStacksGrew {
    fn id(&self) -> &'static str {
        "thread-stacks-grew"
    }

    fn explain(&self) -> &'static str {
        "Claims that the stacks of a service's threads hold more memory under a policy: a stack of \
         the size of a huge page, or stacks side by side, become huge pages and are resident whole, \
         also after a guard page has split them. Evidence: the resident memory of the mappings in \
         which the stack pointers of its threads lie, at the end of the load, with no more threads. \
         Refuted when it grows as much under thp=never. Next: another size of stacks (java -Xss), \
         the JVM's -XX:+THPStackMitigation, or thp=madvise; Linux 6.7 and later give no huge page \
         to what is mapped with MAP_STACK."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    // A policy all of whose trials failed has said so already.
    let unasked = [Missing::NotAsked, Missing::TrialFailed, Missing::NotRun].map(Err);
    if unasked.contains(&view.median_or_missing(STACKS)) {
        return Ok(Claim::Nothing);
    }
    let (there, here) = view.both(STACKS)?;
    let (threads_there, threads) = view.both(THREADS)?;
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    let policy = view.policy;
    let lead = format!(
        "The stacks of {} threads hold {} instead of {}",
        told(THREADS, threads),
        told(STACKS, here),
        told(STACKS, there)
    );
    if view.change(STACKS) != Some(Change::Higher) || here - there < huge_page {
        return Ok(Claim::NotShown(format!(
            "{policy}: thread stacks did not grow. {lead}"
        )));
    }
    if view.change(THREADS) == Some(Change::Higher) {
        return Ok(Claim::CannotTell(format!(
            "{policy}: thread stacks grew, but so did the number of threads. {lead}; {} threads before",
            told(THREADS, threads_there)
        )));
    }
    let huge = view.here(HUGE)?;
    Ok(Claim::Shown(format!(
        "{policy}: thread stacks grew because they became huge pages. {lead} ({} per thread), {} of \
         it huge; a stack that was huge stays resident when a guard page splits it",
        told(STACKS, here / threads.max(1.0)),
        told(HUGE, huge)
    )))
}
