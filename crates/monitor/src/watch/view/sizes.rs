//! Folio sizes: their settings and their events in the last second; and the hugetlb pools.

use std::collections::BTreeMap;

use crate::watch::rates::Between;
use crate::watch::trend::Trend;
use hugewise_base::counter::{Better, Counter, File, Place};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_observe::machine::{MachineSample, Setting};
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Level, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::{count, quantity};
use hugewise_text::wrap::plain;

use super::{memory_text, rate_text};

/// The columns: counters of `hugepages-SIZE/stats`.
fn columns() -> impl Iterator<Item = Counter> {
    Counter::at(Place::Watch).filter(|counter| counter.row().file == File::SizeStats)
}

/// Returns true if the kernel's file has a state and not a count of events.
fn is_state(counter: Counter) -> bool {
    counter.field().starts_with("nr_")
}

/// The tables.
pub(super) fn document(between: &Between<'_>, trend: &Trend) -> Document {
    let machine = &between.now.machine;
    let mut folios = Section::titled("Transparent folios");
    match &machine.sizes.value {
        Ok(sizes) if sizes.is_empty() => {
            folios.push("This kernel has no counters by size (Linux 6.10).");
        }
        Ok(sizes) => {
            folios.push(grid(sizes, between));
            let meaning =
                |counter: Counter| format!("{}: {}", counter.row().label, counter.row().meaning);
            let meanings: Vec<String> = columns().map(meaning).collect();
            folios.push(Block::Notes(vec![meanings.join("; ")]));
            folios.blocks.extend(in_part(trend).map(|text| {
                let paragraph = Paragraph::new(format!("Mapped in part: {text}."));
                (Level::First, paragraph.into())
            }));
        }
        Err(why) => folios.push(why.to_string()),
    }
    Document::new([folios, pools(machine)])
}

/// Memory mapped in part, and its growth over the time watched; `None` if the kernel does not count it.
pub(super) fn in_part(trend: &Trend) -> Option<String> {
    let now = bytes_text(trend.bytes()?);
    let Some(growth) = trend.growth() else {
        return Some(format!("{now}; its trend needs more samples"));
    };
    let per_hour = |rate: f64| quantity(&Unit::Bytes, rate * 3600.0);
    let [low, high] = growth.interval.map(per_hour);
    let word = match growth.interval {
        _ if growth.is_growing() => "grows",
        [_, high] if high < 0.0 => "falls",
        _ => "no trend",
    };
    Some(format!(
        "{now}; {word}: {} an hour (95 %: {low} to {high}) over {}; queued for a split {}/s, split {}/s",
        per_hour(growth.median),
        quantity(&Unit::Seconds, growth.seconds),
        rate_text(Some(growth.queued)),
        rate_text(Some(growth.split)),
    ))
}

fn grid(sizes: &BTreeMap<u64, BTreeMap<String, u64>>, between: &Between<'_>) -> Grid {
    let fixed = ["size", "setting"].map(str::to_owned);
    let heading: Vec<String> = fixed.into_iter().chain(columns().map(heading)).collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut grid = Grid::headed(&heading).aligned(&[Align::Right, Align::Left]);
    for (&size, files) in sizes {
        let mut row = vec![
            Cell::plain(bytes_text(size)),
            Cell::plain(setting(&between.now.machine, size)),
        ];
        row.extend(columns().map(|counter| match is_state(counter) {
            true => {
                let folios = counter.total(files);
                Cell::plain(memory_text(
                    folios.map(|folios| folios.saturating_mul(size)),
                ))
            }
            false => rate(between, size, counter),
        }));
        grid.rows.push(row);
    }
    grid
}

fn heading(counter: Counter) -> String {
    let per_second = if is_state(counter) { "" } else { "/s" };
    format!("{}{per_second}", counter.row().label)
}

fn rate(between: &Between<'_>, size: u64, counter: Counter) -> Cell {
    let rate = between.per_second(|sample| {
        let sizes = sample.machine.sizes.value.as_ref().ok()?;
        counter.total(sizes.get(&size)?)
    });
    let is_bad = counter.row().better == Better::Lower && rate.is_some_and(|rate| rate > 0.0);
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
