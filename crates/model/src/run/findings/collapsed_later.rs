//! Claims how much of the memory in use a policy made huge while the program ran.

use super::context::Context;
use super::made_huge::{MEMORY, claim};
use super::{Finding, Rule};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct CollapsedLater;

impl Rule for CollapsedLater {
    fn id(&self) -> &'static str {
        "collapsed-later"
    }

    fn explain(&self) -> &'static str {
        "Claims that collapse= made memory huge that the program had in use: one thread at a time was \
         stopped and made to call madvise(MADV_COLLAPSE). Its times include these stops, in which its \
         other threads run on. Evidence: the calls, the bytes that were huge afterwards, and how long \
         threads stood. Refuted by memory that was huge without it. Next: an earlier time, or \
         `hugewise inspect -p PID` for the reason of a refusal."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, |view| claim(view, &MEMORY))
    }
}
