//! Claims that page faults are a good part of what a program spends.

use super::cells::{Part, largest_part};
use crate::run::findings::ground::{Absent, Ground, Look, Said};
use crate::run::findings::{Finding, Rule};
use crate::run::metric::cells::CellMetric;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct PageFaultBound;

impl Rule for PageFaultBound {
    fn id(&self) -> &'static str {
        "page-fault-bound"
    }

    fn explain(&self) -> &'static str {
        "Claims that page faults are a large share of the time. Evidence: in a program that does \
         nothing in the kernel but take memory, kernel time is a tenth of all time or more; it \
         is an upper bound for faults, as it contains zeroing. Refuted by a smaller share. Next: \
         fewer faults, by huge pages or by prefaulting; zeroing remains."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let Some(Part { is_good, text }) =
        largest_part(look, "kernel", CellMetric::KernelRatio.name())?
    else {
        return Ok(Said::Nothing);
    };
    let policy = look.policy;
    Ok(if is_good {
        Said::Shown(format!(
            "{policy}: page faults and the zeroing in them are a large share of the time. {text}"
        ))
    } else {
        Said::NotShown(format!(
            "{policy}: page faults are a small share of the time. {text}"
        ))
    })
}
