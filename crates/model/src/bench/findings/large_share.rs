//! Claims that one part of the time is a large share of it: page faults, or zeroing.

use super::cells::{Part, largest_part};
use crate::run::findings::context::{Claim, Context, MissingInput, PolicyView};
use crate::run::findings::{Finding, Rule};
use crate::run::metric::cells::CellMetric;

/// A part of the time, and what is said of its share in `bench slab`.
#[derive(Debug)]
pub(super) struct LargeShare {
    id: &'static str,
    explanation: &'static str,
    /// The part, as in "the kernel share is".
    part: &'static str,
    share: CellMetric,
    /// What takes the time, where its share is large and where it is small.
    large: &'static str,
    small: &'static str,
    /// What follows where it is large.
    consequence: &'static str,
}

/// Page faults are a large share of what a program spends.
pub(super) const PAGE_FAULT_BOUND: LargeShare = LargeShare {
    id: "page-fault-bound",
    explanation: "Claims that page faults are a large share of the time. Evidence: in a program that does \
         nothing in the kernel but take memory, kernel time is a tenth of all time or more; it \
         is an upper bound for faults, as it contains zeroing. Refuted by a smaller share. Next: \
         fewer faults, by huge pages or by prefaulting; zeroing remains.",
    part: "kernel",
    share: CellMetric::KernelRatio,
    large: "page faults and the zeroing in them are",
    small: "page faults are",
    consequence: "",
};

/// Zeroing new memory is a large share of what a program spends.
pub(super) const ZEROING_BOUND: LargeShare = LargeShare {
    id: "zeroing-bound",
    explanation: "Claims that zeroing new memory is a large share of the time. Evidence: the memory that came \
         in, at the speed at which the same process clears memory, is a tenth of all time or \
         more; an estimate from below. Refuted by a smaller share, unless memory went back and \
         came again. Next: keep memory and use it again: huge pages and prefaulting move the \
         clearing, and save none of it.",
    part: "zeroing",
    share: CellMetric::ZeroingRatio,
    large: "zeroing new memory is",
    small: "zeroing new memory is",
    consequence: "; huge pages and prefaulting move it and save none of it",
};

impl Rule for LargeShare {
    fn id(&self) -> &'static str {
        self.id
    }

    fn explain(&self) -> &'static str {
        self.explanation
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, |view| self.claim(view))
    }
}

impl LargeShare {
    fn claim(&self, view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
        let Some(Part { is_good, text }) = largest_part(view, self.part, self.share.name())? else {
            return Ok(Claim::Nothing);
        };
        let (policy, consequence) = (view.policy, self.consequence);
        Ok(if is_good {
            let large = self.large;
            Claim::Shown(format!(
                "{policy}: {large} a large share of the time. {text}{consequence}"
            ))
        } else {
            let small = self.small;
            Claim::NotShown(format!(
                "{policy}: {small} a small share of the time. {text}"
            ))
        })
    }
}
