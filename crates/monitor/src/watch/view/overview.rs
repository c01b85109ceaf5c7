//! The machine in a few lines: memory, settings, and rates per second.

use crate::watch::history::History;
use crate::watch::rates::{Between, counters};
use crate::watch::sample::{Header, Sample};
use crate::watch::state::State;
use hugewise_base::counter::{Better, Counter};
use hugewise_base::free_blocks::{free_bytes, free_huge_pages, small_block_share};
use hugewise_base::units::bytes_text;
use hugewise_observe::machine::{MachineSample, free_blocks};
use hugewise_text::Tone;
use hugewise_text::document::{Document, Field, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::{count, percent};
use hugewise_text::wrap::plain;

use super::{memory_text, rate_text, share_text, sizes};

/// Columns that the words and rates of two counters take.
const WORDS: usize = 2 * (LABEL + 10 + 4);
/// The longest label of a counter.
const LABEL: usize = 19;
/// Longest curve.
const CURVE: usize = 60;

/// The lines above the processes.
pub(super) fn head(state: &State, between: &Between<'_>, columns: usize) -> Document {
    let State {
        header,
        history,
        trend,
        ..
    } = state;
    let mut fields = vec![
        Field::new("settings", settings(&between.now.machine)),
        Field::new("memory", memory(&between.now.machine)),
        Field::new("huge files", huge_files(&between.now.machine)),
        Field::new("free", free(header, &between.now.machine)),
        Field::new("waiting", waiting(between)),
        Field::new("khugepaged", khugepaged(between)),
    ];
    let is_growing = trend.growth().is_some_and(|it| it.is_growing());
    let in_part = is_growing.then(|| sizes::in_part(trend)).flatten();
    fields.extend(in_part.map(|text| Field::new("in part", text)));
    let curve = (columns.saturating_sub(WORDS) / 2).min(CURVE);
    Document::new([
        Section::default().with(fields),
        Section::default().with(rates(history, curve)),
    ])
}

/// Two counters per line, each with its rate and its curve.
fn rates(history: &History, curve: usize) -> Grid {
    let align = [Align::Left, Align::Right, Align::Left];
    let mut grid = Grid::default().aligned(&[align, align].concat());
    let rates: Vec<_> = counters()
        .enumerate()
        .map(|(place, counter)| cells(history, place, counter, curve))
        .collect();
    let (left, right) = rates.split_at(rates.len().div_ceil(2));
    for (at, cells) in left.iter().enumerate() {
        let beside = right.get(at).cloned().unwrap_or_default();
        grid.rows.push([cells.clone(), beside].concat());
    }
    grid
}

fn cells(history: &History, place: usize, counter: Counter, curve: usize) -> Vec<Cell> {
    let (row, rate) = (counter.row(), history.last(place));
    let is_bad = row.better == Better::Lower && rate.is_some_and(|rate| rate > 0.0);
    let tone = if is_bad { Tone::Bad } else { Tone::Plain };
    let unit = if rate.is_some() { "/s" } else { "" };
    let curve = history.curve(place, curve);
    vec![
        Cell::plain(format!("{:<LABEL$}", row.label)),
        Cell::plain(format!("{:>8}{unit}", rate_text(rate))).tone(tone),
        Cell::plain(curve),
    ]
}

fn settings(machine: &MachineSample) -> String {
    let settings = match &machine.settings.value {
        Ok(settings) => settings,
        Err(why) => return why.to_string(),
    };
    let of = |file: &str| {
        let found = settings
            .iter()
            .find(|it| it.size.is_none() && it.file == file);
        found.map_or("-", |it| it.mode.as_str())
    };
    let text = format!(
        "enabled {} · defrag {} · shared memory {}",
        of("enabled"),
        of("defrag"),
        of("shmem_enabled")
    );
    plain(&text)
}

fn memory(machine: &MachineSample) -> String {
    let memory = match &machine.memory.value {
        Ok(memory) => memory,
        Err(why) => return why.to_string(),
    };
    let part = |all: Counter, huge: Counter| match all.total(memory) {
        Some(bytes) => {
            let share = share_text(huge.total(memory), bytes);
            format!("{} ({share} % huge)", bytes_text(bytes))
        }
        None => "-".to_owned(),
    };
    format!(
        "anonymous {} · shared {}",
        part(Counter::AnonBytes, Counter::AnonHugeBytes),
        part(Counter::ShmemBytes, Counter::ShmemHugeBytes)
    )
}

/// Files in the page cache in huge pages; `-` before Linux 5.4.
fn huge_files(machine: &MachineSample) -> String {
    match &machine.memory.value {
        Ok(memory) => memory_text(Counter::FileHugeBytes.total(memory)),
        Err(why) => why.to_string(),
    }
}

fn free(header: &Header, machine: &MachineSample) -> String {
    let zones = match &machine.zones.value {
        Ok(zones) => zones,
        Err(why) => return why.to_string(),
    };
    let blocks = free_blocks(zones);
    let free = bytes_text(free_bytes(&blocks, header.page_bytes));
    let Some(huge) = header.huge_bytes else {
        return free;
    };
    let pages = free_huge_pages(&blocks, header.page_bytes, huge);
    let small = percent(small_block_share(&blocks, header.page_bytes, huge));
    format!(
        "{free} · room for {} huge pages · {small} % in smaller blocks",
        count(pages)
    )
}

/// The share of time in which tasks waited for memory.
fn waiting(between: &Between<'_>) -> String {
    if let Err(why) = &between.now.machine.pressure.value {
        return why.to_string();
    }
    let us = |sample: &Sample, full: bool| {
        let pressure = sample.machine.pressure.value.as_ref().ok()?;
        Some(if full {
            pressure.full_us
        } else {
            pressure.some_us
        })
    };
    let share = |full| {
        let rate = between.per_second(|sample| us(sample, full));
        rate.map_or_else(|| "-".to_owned(), |us| percent(us / 1e6))
    };
    format!(
        "some tasks waited for memory {} % of the time, all tasks {} %",
        share(false),
        share(true)
    )
}

fn khugepaged(between: &Between<'_>) -> String {
    if let Err(why) = &between.now.machine.khugepaged.value {
        return why.to_string();
    }
    let work = |sample: &Sample| sample.machine.khugepaged.value.as_ref().ok().copied();
    let pages = between.per_second(|sample| Some(work(sample)?.pages_collapsed));
    let cpu = between.per_second(|sample| work(sample)?.cpu_ns);
    let cpu = cpu.map_or_else(|| "-".to_owned(), |ns| percent(ns / 1e9));
    format!("{} huge pages/s · {cpu} % of a processor", rate_text(pages))
}
