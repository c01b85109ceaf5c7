//! Claims that a cell of `bench memory` read the zero page, so that its speed is none of memory.

use super::cells::{of_suite, percent};
use crate::base::units::Unit;
use crate::run::cells::Cell;
use crate::run::findings::context::{Claim, Context, MissingInput, PolicyView};
use crate::run::findings::{Finding, Rule};
use crate::run::metric::cells::{CellMetric, PageKind, pages_name};
use crate::text::number::quantity;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ZeroPageSource;

impl Rule for ZeroPageSource {
    fn id(&self) -> &'static str {
        "zero-page-source"
    }

    fn explain(&self) -> &'static str {
        "Claims that a cell read the zero page: one page of zeroes, small or huge, that the kernel maps \
         for memory that was never written, and that stays in a cache. Its speed is none of memory. \
         Evidence: what lay under the source once it was measured, as the kernel tells it. Refuted \
         by other pages there. Next: write the source first; compare with the same cell over \
         written memory."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

/// From this share of its source on, a cell measured the zero page.
const HALF: f64 = 0.5;
const SOURCE: &str = "source";
const RATE: &str = CellMetric::RateBytesPerSecond.name();

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let Some(bench) = of_suite(view.context, "memory") else {
        return Ok(Claim::Nothing);
    };
    let mut reading = 0;
    let mut zero = Vec::new();
    for cell in &bench.cells {
        let Some(share) = zero_share(view, cell) else {
            continue;
        };
        reading += 1;
        if share >= HALF {
            zero.push(Misread {
                cell,
                rate: view.here(cell.reading(RATE))?,
                written: over_written(view, cell),
            });
        }
    }
    let policy = view.policy;
    Ok(
        match zero.iter().max_by(|a, b| a.order().total_cmp(&b.order())) {
            None if reading == 0 => Claim::Nothing,
            None => Claim::NotShown(format!("{policy}: no cell read the zero page")),
            Some(worst) => Claim::Shown(format!(
                "{policy}: {} of {reading} cells read the zero page, which is not memory speed. The page stays \
                 in the cache; {}",
                zero.len(),
                worst.text()
            )),
        },
    )
}

/// A cell that measured the zero page.
struct Misread<'a> {
    cell: &'a Cell,
    rate: f64,
    /// The same over written memory, where the record has it.
    written: Option<f64>,
}

impl Misread<'_> {
    /// How far it misleads: by how much it is faster, where that is known.
    fn order(&self) -> f64 {
        self.written.map_or(0.0, |written| self.rate / written)
    }

    fn text(&self) -> String {
        let rate = |rate| quantity(&Unit::BytesPerSecond, rate);
        let text = format!("{} reads at {}", self.cell, rate(self.rate));
        match self.written {
            Some(written) => format!(
                "{text}, and at {} over written memory, {} of that",
                rate(written),
                percent(written / self.rate)
            ),
            None => text,
        }
    }
}

/// The part of what a cell reads that was the zero page; `None` of a cell that reads nothing else
/// than it writes, and where nobody could look.
fn zero_share(view: &mut PolicyView<'_, '_>, cell: &Cell) -> Option<f64> {
    let length = cell.number(2)? as f64 * cell.number(4)? as f64;
    let mut sum = |kinds: &[PageKind]| -> Option<f64> {
        let names = kinds
            .iter()
            .map(|&kind| cell.reading(&pages_name(SOURCE, kind)));
        let known: Vec<f64> = names
            .filter_map(|name| {
                let bytes = view.median_or_missing(&name).ok()?;
                Some(view.noted(&name, bytes))
            })
            .collect();
        (!known.is_empty()).then(|| known.into_iter().sum())
    };
    let zero = sum(&[PageKind::Zero, PageKind::HugeZero]);
    let others = sum(&[PageKind::Small, PageKind::Huge, PageKind::Hugetlb]);
    zero.or(others.map(|_| 0.0)).map(|bytes| bytes / length)
}

/// The speed of the same cell over written memory, where there is one.
fn over_written(view: &mut PolicyView<'_, '_>, cell: &Cell) -> Option<f64> {
    let words: Vec<&str> = cell
        .parts()
        .map(|word| if word == "untouched" { "written" } else { word })
        .collect();
    let written = Cell::of(&words).ok().filter(|written| written != cell)?;
    let rate = view.here(written.reading(RATE)).ok()?;
    (rate > 0.0).then_some(rate)
}
