//! Folio sizes: what each is used for, and what became of it in the last second; and the hugetlb
//! pools.

use std::collections::BTreeMap;

use crate::watch::rates::Between;
use hugewise_base::units::bytes_text;
use hugewise_observe::machine::{MachineSample, Setting};
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::count;
use hugewise_text::wrap::plain;

use super::{memory_text, rate_text};

/// A column of a rate: heading, file of `hugepages-SIZE/stats`, whether it is trouble.
const RATES: [(&str, &str, bool); 4] = [
    ("served/s", "anon_fault_alloc", false),
    ("fallbacks/s", "anon_fault_fallback", true),
    ("splits/s", "split", true),
    ("swapped/s", "swpout", true),
];

/// The tables.
pub(super) fn document(between: &Between<'_>) -> Document {
    let machine = &between.now.machine;
    let mut folios = Section::titled("Transparent folios");
    match &machine.sizes.value {
        Ok(sizes) if sizes.is_empty() => {
            folios.push("This kernel has no counters by size (Linux 6.8).");
        }
        Ok(sizes) => {
            folios.push(grid(sizes, between));
            let note = "served: a page fault got a folio of this size; fallbacks: it wanted one and \
                        got smaller pages; in part: folios of which some pages are mapped no more";
            folios.push(Block::Notes(vec![note.to_owned()]));
        }
        Err(why) => folios.push(why.to_string()),
    }
    Document::new([folios, pools(machine)])
}

fn grid(sizes: &BTreeMap<u64, BTreeMap<String, u64>>, between: &Between<'_>) -> Grid {
    let heading = ["size", "setting"]
        .into_iter()
        .chain(RATES.map(|rate| rate.0));
    let heading: Vec<_> = heading.chain(["in use", "in part"]).collect();
    let mut grid = Grid::headed(&heading).aligned(&[Align::Right, Align::Left]);
    for (&size, files) in sizes {
        let memory = |file: &str| files.get(file).map(|folios| folios.saturating_mul(size));
        let mut row = vec![
            Cell::plain(bytes_text(size)),
            Cell::plain(setting(&between.now.machine, size)),
        ];
        row.extend(RATES.map(|(_, file, is_trouble)| rate(between, size, file, is_trouble)));
        row.push(Cell::plain(memory_text(memory("nr_anon"))));
        row.push(Cell::plain(memory_text(memory("nr_anon_partially_mapped"))));
        grid.rows.push(row);
    }
    grid
}

fn rate(between: &Between<'_>, size: u64, file: &str, is_trouble: bool) -> Cell {
    let rate = between.per_second(|sample| {
        let sizes = sample.machine.sizes.value.as_ref().ok()?;
        sizes.get(&size)?.get(file).copied()
    });
    let is_bad = is_trouble && rate.is_some_and(|rate| rate > 0.0);
    let tone = if is_bad { Tone::Bad } else { Tone::Plain };
    Cell::plain(rate_text(rate)).tone(tone)
}

/// The setting of anonymous memory of a size.
fn setting(machine: &MachineSample, size: u64) -> String {
    let is_it = |it: &&Setting| it.size == Some(size) && it.file.ends_with("/enabled");
    let settings = machine.settings.value.as_deref().unwrap_or_default();
    let found = settings.iter().find(is_it);
    found.map_or_else(|| "-".to_owned(), |it| plain(&it.mode))
}

fn pools(machine: &MachineSample) -> Section {
    let mut section = Section::titled("hugetlb pools");
    match &machine.pools.value {
        Err(why) => section.push(why.to_string()),
        Ok(pools) => {
            let mut grid = Grid::headed(&["size", "pages", "free", "reserved", "overcommit"]);
            grid.align = vec![Align::Right];
            for (&size, pool) in pools {
                let counts = [pool.total, pool.free, pool.reserved, pool.overcommit];
                grid.push(std::iter::once(bytes_text(size)).chain(counts.map(count)));
            }
            section.push(grid);
        }
    }
    section
}
