//! Mappings by size in memory, each divided by the reason for its state.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::map::{CELLS, index_of};
use super::mappings::{name, picked};
use super::picture::{class, legend};
use super::{Glob, Inspection};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_text::figure::Figure;
use hugewise_text::grid::Grid;
use hugewise_text::svg::{Anchor, Axis, PlotArea, Svg, WIDTH, fitted};

const TITLE: &str = "Memory by mapping";
const LEFT: f64 = 200.0;
const LINE: f64 = 20.0;
const BAR: f64 = 14.0;
/// The number of mappings in the figure.
const MOST: usize = 16;

/// Memory of the mappings with one name, in bytes: per entry of [`CELLS`], and in total.
struct Part {
    name: String,
    states: [u64; CELLS.len()],
    all: u64,
}

/// Draws the bars; `None` if no source shows the pages in memory.
pub(super) fn figure(inspection: &Inspection, only: Option<&Glob>) -> Option<Figure> {
    let all = parts(inspection, only);
    let drawn = &all[..all.len().min(MOST)];
    let rest = match all.len() - drawn.len() {
        0 => String::new(),
        more => format!(" {more} smaller ones are in the table."),
    };
    Some(Figure {
        id: "coverage".to_owned(),
        title: TITLE.to_owned(),
        caption: format!("Resident memory by the name of its mapping, and its state.{rest}"),
        svg: draw(drawn)?,
        table: table(&all),
    })
}

/// Groups mappings by name, largest first. Groups without memory are omitted.
fn parts(inspection: &Inspection, only: Option<&Glob>) -> Vec<Part> {
    let mut parts: BTreeMap<String, [u64; CELLS.len()]> = BTreeMap::new();
    for place in picked(&inspection.space, only) {
        let states = parts
            .entry(name(&inspection.space.mappings[place]))
            .or_default();
        for one in inspection.of_mapping(place) {
            states[index_of(one.code.state())] += one.resident_bytes.unwrap_or(0);
        }
    }
    let part = |(name, states): (String, [u64; CELLS.len()])| Part {
        name,
        all: states.iter().sum(),
        states,
    };
    let mut parts: Vec<Part> = parts.into_iter().map(part).collect();
    parts.retain(|part| part.all > 0);
    parts.sort_by_key(|part| Reverse(part.all));
    parts
}

fn table(parts: &[Part]) -> Grid {
    let used: Vec<usize> = (0..CELLS.len())
        .filter(|&index| parts.iter().any(|part| part.states[index] > 0))
        .collect();
    let states = used.iter().map(|&index| CELLS[index].2);
    let heads: Vec<&str> = ["mapping", "resident"].into_iter().chain(states).collect();
    let mut grid = Grid::headed(&heads);
    for part in parts {
        let states = used.iter().map(|&index| bytes_text(part.states[index]));
        let first = [part.name.clone(), bytes_text(part.all)];
        grid.push(first.into_iter().chain(states));
    }
    grid
}

fn draw(parts: &[Part]) -> Option<String> {
    let mut svg = Svg::default();
    let is_drawn = |index: usize| parts.iter().any(|part| part.states[index] > 0);
    let top = legend(&mut svg, is_drawn);
    let field = PlotArea {
        left: LEFT,
        right: WIDTH - 12.0,
        top,
        bottom: top + LINE * parts.len() as f64,
    };
    let most = parts.iter().map(|part| part.all).max()?;
    let across = Axis::between(0.0, most as f64, field.across())?;
    let ticks = across.labels(&Unit::Bytes, 6, |bytes| bytes_text(bytes as u64));
    field.grid_across(&mut svg, &across, &ticks);
    for (row, part) in parts.iter().enumerate() {
        part.draw(&mut svg, &across, top + LINE * row as f64 + 3.0);
    }
    field.frame(&mut svg);
    Some(svg.finish(TITLE, field.bottom + 24.0))
}

impl Part {
    /// Draws a name and its bar, divided by state.
    fn draw(&self, svg: &mut Svg, across: &Axis, y: f64) {
        let label = fitted(&self.name, LEFT - 8.0);
        svg.text("", Anchor::End, (LEFT - 8.0, y + 11.0), &label);
        let mut before = 0;
        for (index, bytes) in self.states.into_iter().enumerate().filter(|it| it.1 > 0) {
            let ends = [before, before + bytes].map(|bytes| across.place(bytes as f64));
            let title = format!("{}: {} {}", self.name, bytes_text(bytes), CELLS[index].2);
            svg.group(&class(index), |svg| {
                svg.rect("cell", (ends[0], y), (ends[1], y + BAR), Some(&title));
            });
            before += bytes;
        }
    }
}
