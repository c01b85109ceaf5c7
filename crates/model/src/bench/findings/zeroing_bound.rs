//! Claims that clearing new memory is a good part of what a program spends.
//!
//! Evidence: in a cell of `bench slab`, the memory that came in, at the speed at which the same
//! process clears memory, is a tenth of all time or more. An estimate from below.
//! Refuted by a share that is smaller; where memory goes back and comes again, it may be too small.
//! Next: keep memory and use it again. Huge pages and prefaulting move the clearing, and save none.

use super::cells::{Part, largest_part};
use crate::run::findings::ground::{Absent, Ground, Look, Said};
use crate::run::findings::{Finding, Rule};
use crate::run::metric::cells::CellMetric;

/// See the module.
#[derive(Debug)]
pub(super) struct ZeroingBound;

impl Rule for ZeroingBound {
    fn id(&self) -> &'static str {
        "zeroing-bound"
    }

    fn explain(&self) -> &'static str {
        "Claims that clearing new memory is a good part of the time. Evidence: the memory that came \
         in, at the speed at which the same process clears memory, is a tenth of all time or \
         more; an estimate from below. Refuted by a smaller share, unless memory went back and \
         came again. Next: keep memory and use it again: huge pages and prefaulting move the \
         clearing, and save none of it."
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
        largest_part(look, "zeroing", CellMetric::ZeroingRatio.name())?
    else {
        return Ok(Said::Nothing);
    };
    Ok(if is_good {
        Said::Shown(format!(
            "{text}: clearing new memory takes at least that; huge pages and prefaulting move it, and \
             save none"
        ))
    } else {
        Said::NotShown(format!("{text}: clearing new memory is no great part"))
    })
}
