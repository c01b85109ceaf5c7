//! Claims that page faults are a good part of what a program spends.
//!
//! Evidence: in a cell of `bench slab`, which does nothing in the kernel but take memory, kernel
//! time is a tenth of all time or more. It bounds the faults from above: clearing is in it.
//! Refuted by a smaller share. Next: fewer faults, by huge pages or by prefaulting many pages at a
//! time; what is left then is clearing.

use super::cells::{Part, largest_part};
use crate::run::findings::ground::{Absent, Ground, Look, Said};
use crate::run::findings::{Finding, Rule};
use crate::run::metric::cells::CellMetric;

/// See the module.
#[derive(Debug)]
pub(super) struct PageFaultBound;

impl Rule for PageFaultBound {
    fn id(&self) -> &'static str {
        "page-fault-bound"
    }

    fn explain(&self) -> &'static str {
        "Claims that page faults are a good part of the time. Evidence: in a program that does \
         nothing in the kernel but take memory, kernel time is a tenth of all time or more; it \
         bounds the faults from above, as clearing is in it. Refuted by a smaller share. Next: \
         fewer faults, by huge pages or by prefaulting; what is left then is clearing."
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
    Ok(if is_good {
        Said::Shown(format!(
            "{text}: with nothing else to do in the kernel, that is page faults and the clearing in them"
        ))
    } else {
        Said::NotShown(format!("{text}: page faults are no great part"))
    })
}
