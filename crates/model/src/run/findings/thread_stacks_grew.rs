//! Claims that the stacks of a service's threads hold more memory under a policy.
//!
//! Evidence: the resident memory of the mappings that hold the stack pointers of its threads, at
//! the end of the load, higher by its own interval and by a huge page at least, with no more
//! threads. A stack whose size is that of a huge page, or stacks that lie side by side, become
//! huge pages at a fault or by khugepaged; a guard page splits them again, and what was filled
//! stays resident (JDK-8303215, JDK-8312182). Refuted when a program of the same threads grows as
//! much under `thp=never`. Next: another size of stacks, or `madvise` for the machine; Linux 6.7
//! and later give no huge page to what is mapped with MAP_STACK, as glibc does.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::base::missing::Missing;
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// See the module.
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

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    // A policy all of whose trials failed has said so already.
    let unasked = [Missing::NotAsked, Missing::TrialFailed, Missing::NotRun].map(Err);
    if unasked.contains(&look.median_or_missing(STACKS)) {
        return Ok(Said::Nothing);
    }
    let (there, here) = look.both(STACKS)?;
    let (threads_there, threads) = look.both(THREADS)?;
    let huge_page = look.ground.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    let lead = format!(
        "{}: the stacks of {} threads hold {} instead of {}",
        look.policy,
        told(THREADS, threads),
        told(STACKS, here),
        told(STACKS, there)
    );
    if look.change_by_itself(STACKS) != Some(Change::Higher) || here - there < huge_page {
        return Ok(Said::NotShown(lead));
    }
    if look.change_by_itself(THREADS) == Some(Change::Higher) {
        return Ok(Said::CannotTell(format!(
            "{lead}, but there were also more threads: {} before",
            told(THREADS, threads_there)
        )));
    }
    let huge = look.here(HUGE)?;
    Ok(Said::Shown(format!(
        "{lead} ({} each), {} of it huge: a stack that is made a huge page is resident whole, and \
         stays so when a guard page splits it",
        told(STACKS, here / threads.max(1.0)),
        told(HUGE, huge)
    )))
}
