//! Claims that a heap that grows by less than a huge page, and is used as it grows, gets no huge
//! page, whatever the settings say.

use super::cells::{each, largest, of_suite, percent};
use crate::base::units::bytes_text;
use crate::run::cells::Cell;
use crate::run::cells::suite::HUGE;
use crate::run::findings::ground::{Absent, Ground, Look, Said};
use crate::run::findings::{Finding, Rule};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct GrowthBelowHugePage;

impl Rule for GrowthBelowHugePage {
    fn id(&self) -> &'static str {
        "growth-below-huge-page"
    }

    fn explain(&self) -> &'static str {
        "Claims that a heap that grows by less than a huge page, and is used as it grows, gets no \
         huge page. Evidence: of the cells that begin on a boundary and are used at once, those \
         with smaller steps have hardly anything huge, those with whole huge pages have. A fault \
         gives a huge page only where all of its room is mapped. Refuted where small steps come \
         out huge. Next: grow by multiples of the huge-page size; `hugewise inspect` finds such \
         heaps in running programs."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

/// At most this share counts as nothing huge, at least that one as much.
const HARDLY: f64 = 0.05;
const MUCH: f64 = 0.5;

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let (Some(bench), Some(huge)) = (
        of_suite(look.ground, "growth"),
        look.ground.host().pmd_bytes(),
    ) else {
        return Ok(Said::Nothing);
    };
    let used = |cell: &&Cell| cell.part(2) == Some("aligned") && cell.part(3) == Some("at-once");
    let step = |cell: &Cell| cell.number(1).unwrap_or(0);
    let cells = || bench.cells.iter().filter(used);
    let below = each(look, cells().filter(|cell| step(cell) < huge), HUGE)?;
    let whole = each(look, cells().filter(|cell| step(cell) >= huge), HUGE)?;
    let much = whole.iter().filter(|(_, share)| *share >= MUCH);
    let least = much.min_by_key(|(cell, _)| step(cell)).copied();
    let (Some((most, below)), Some((best, whole))) = (largest(&below), least.or(largest(&whole)))
    else {
        return Ok(Said::Nothing);
    };
    // Under small pages the question does not arise.
    if whole < MUCH && below < MUCH {
        return Ok(Said::Nothing);
    }
    let policy = look.policy;
    let limit = bytes_text(huge);
    let text = format!(
        "In steps of {} up to {} of the heap became huge, in steps of {} {}",
        bytes_text(step(most)),
        percent(below),
        bytes_text(step(best)),
        percent(whole)
    );
    Ok(if below <= HARDLY && whole >= MUCH {
        Said::Shown(format!(
            "{policy}: heaps that grow by less than {limit} and are touched at once get no huge pages. {text}"
        ))
    } else {
        Said::NotShown(format!(
            "{policy}: heaps that grow by less than {limit} get huge pages too. {text}"
        ))
    })
}
