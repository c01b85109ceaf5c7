//! The address space as an SVG picture. Pointing at a run of equal ranges shows its reason.

use std::cmp::Reverse;

use super::map::{CELLS, Cells, cells, index_of};
use super::mappings::{name, picked, why};
use super::{Glob, Inspection};
use hugewise_base::units::bytes_text;
use hugewise_text::figure::Figure;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::{count, counted};
use hugewise_text::svg::{Anchor, Svg, WIDTH, text_width};

const TITLE: &str = "Address space";
/// The left edge of the cells; addresses are written to the left of it.
const LEFT: f64 = 110.0;
const CELL: (f64, f64) = (12.0, 14.0);
const LINE: f64 = 17.0;
/// The space drawn for unmapped addresses between mappings.
const HOLE: f64 = 6.0;
/// The longest run drawn to scale, in ranges. A longer run has this length, and shows its number of ranges.
const LONGEST: u64 = 24;
/// The largest number of runs drawn. If there are more, those with the most memory are drawn.
const MOST: usize = 1500;

/// Draws the map, with a table row for each run; `only` selects mappings.
pub(super) fn figure(inspection: &Inspection, only: Option<&Glob>) -> Option<Figure> {
    let places = picked(&inspection.space, only);
    let wanted = |it: &Cells<'_>| places.binary_search(&it.judgement.mapping).is_ok();
    let mut drawn: Vec<Cells<'_>> = cells(inspection).filter(wanted).collect();
    let left_out = drawn.len().saturating_sub(MOST);
    drawn.sort_by_key(|it| Reverse((it.judgement.resident_bytes, it.count)));
    drawn.truncate(MOST);
    drawn.sort_by_key(|it| it.judgement.start);
    if drawn.is_empty() {
        return None;
    }
    let huge = bytes_text(inspection.space.huge_bytes);
    let rest = match left_out {
        0 => String::new(),
        some => format!(
            " The {} with the least memory are left out.",
            counted(some as u64, "stretch")
        ),
    };
    Some(Figure {
        id: "map".to_owned(),
        title: TITLE.to_owned(),
        caption: format!(
            "A cell is a range of {huge}; rest the pointer on it for its reason. More than \
             {LONGEST} alike in a row are one box with their number.{rest}"
        ),
        svg: draw(inspection, &drawn),
        table: table(inspection, &drawn),
    })
}

fn table(inspection: &Inspection, drawn: &[Cells<'_>]) -> Grid {
    let heads = [
        "address", "mapping", "ranges", "resident", "reason", "evidence",
    ];
    let align = [
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Wrapped,
    ];
    let mut grid = Grid::headed(&heads).aligned(&align);
    for it in drawn {
        let one = it.judgement;
        grid.push([
            format!("{:x}", one.start),
            name(&inspection.space.mappings[one.mapping]),
            count(one.ranges),
            one.resident_bytes
                .map_or_else(|| "?".to_owned(), bytes_text),
            one.code.name().to_owned(),
            why(one).collect::<Vec<_>>().join("; "),
        ]);
    }
    grid
}

/// Draws the legend of the states in use, downwards from the top. Returns its lower edge.
pub(super) fn legend(svg: &mut Svg, is_drawn: impl Fn(usize) -> bool) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for (index, (letter, _, meaning)) in CELLS.into_iter().enumerate() {
        if !is_drawn(index) {
            continue;
        }
        let width = CELL.0 + 6.0 + text_width(meaning);
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + LINE + 2.0);
        }
        svg.group(&class(index), |svg| {
            svg.rect("cell", (x, y), (x + CELL.0, y + CELL.1), None);
            svg.text(
                "on",
                Anchor::Middle,
                (x + 6.0, y + 11.0),
                &letter.to_string(),
            );
        });
        svg.text("", Anchor::Start, (x + CELL.0 + 5.0, y + 11.0), meaning);
        x += width + 14.0;
    }
    y + LINE + 8.0
}

/// Returns the CSS class of a state, by its index among the cells.
pub(super) fn class(index: usize) -> String {
    format!("s{index}")
}

fn state(it: &Cells<'_>) -> usize {
    index_of(it.judgement.code.state())
}

/// Returns the text in a box, and the width of the box.
fn label(it: &Cells<'_>) -> (String, f64) {
    let letter = CELLS[state(it)].0.to_string();
    if it.count <= LONGEST {
        return (letter, it.count as f64 * CELL.0);
    }
    let label = format!("{letter}×{}", count(it.count));
    let width = text_width(&label) + 8.0;
    (label, width)
}

fn draw(inspection: &Inspection, drawn: &[Cells<'_>]) -> String {
    let mut svg = Svg::default();
    let top = legend(&mut svg, |index| drawn.iter().any(|it| state(it) == index));
    let (mut x, mut y) = (LEFT, top);
    for (place, it) in drawn.iter().enumerate() {
        let (label, width) = label(it);
        if it.is_behind_hole && x > LEFT {
            x += HOLE;
        }
        if x > LEFT && x + width > WIDTH {
            (x, y) = (LEFT, y + LINE);
        }
        if x <= LEFT || place == 0 {
            let address = format!("{:x}", it.judgement.start);
            svg.text("muted", Anchor::End, (LEFT - 8.0, y + 11.0), &address);
        }
        svg.group(&class(state(it)), |svg| {
            let title = hover(inspection, it);
            svg.rect("cell", (x, y), (x + width - 1.0, y + CELL.1), Some(&title));
            svg.text("on", Anchor::Start, (x + 2.0, y + 11.0), &label);
        });
        x += width;
    }
    svg.finish(TITLE, y + LINE)
}

/// Returns the tooltip: the address, the state and the reason.
fn hover(inspection: &Inspection, it: &Cells<'_>) -> String {
    let one = it.judgement;
    let name = name(&inspection.space.mappings[one.mapping]);
    let memory = one
        .resident_bytes
        .map_or_else(|| "?".to_owned(), bytes_text);
    let ranges = counted(one.ranges, "range");
    format!(
        "{:x} {name}: {ranges}, {memory} resident. {}: {}",
        one.start,
        one.code,
        one.code.sentence()
    )
}
