//! Words for the switched memory of a running process.

use super::{joined, seconds};
use crate::base::units::Unit;
use crate::run::answer::Switchback;
use crate::text::document::Field;
use crate::text::number::{counted, percent, quantity};

/// Returns the memory and the effect that the answer covers.
pub(in crate::run::answer) fn scope(it: &Switchback) -> String {
    format!(
        "{}; `run --whole-runs` also measures start-up, first touch and added memory",
        memory(it)
    )
}

/// Returns the memory that the effect covers.
pub(in crate::run::answer) fn memory(it: &Switchback) -> String {
    let switched = bytes(it.switched_bytes);
    let share = it
        .share
        .map(|share| format!(" ({} % of it)", percent(share.min(1.0))));
    let share = share.unwrap_or_default();
    format!("lasting effect on {switched} of memory in use{share}")
}

/// Returns the details.
pub(in crate::run::answer) fn details(it: &Switchback) -> Vec<Field> {
    let rows = [
        ("Work", format!("{} of {}", it.source, processes(it))),
        ("Switched", switched(it)),
        ("Skipped", skipped(it)),
        ("Periods", periods(it)),
        ("Held", held(it)),
    ];
    let rows = rows.into_iter().filter(|(_, text)| !text.is_empty());
    rows.map(|(label, text)| Field::new(label, text)).collect()
}

fn bytes(value: f64) -> String {
    quantity(&Unit::Bytes, value)
}

fn processes(it: &Switchback) -> String {
    if it.pids.is_empty() {
        return format!("{} of the program", counted(it.starts.into(), "start"));
    }
    let noun = match it.pids.len() {
        1 => "process",
        _ => "processes",
    };
    let pids: Vec<String> = it.pids.iter().map(u32::to_string).collect();
    format!("{noun} {}", pids.join(", "))
}

fn switched(it: &Switchback) -> String {
    let left_out = match it.left_out_bytes {
        0.0 => String::new(),
        left => format!("{} left out to save time", bytes(left)),
    };
    let found = format!("{} found huge", bytes(it.found_huge_bytes));
    let took: Vec<String> = it
        .switch_seconds
        .iter()
        .map(|took| seconds(*took))
        .collect();
    let took = match took.as_slice() {
        [small, huge] => format!("to small pages in {small}, to huge ones in {huge}"),
        _ => String::new(),
    };
    let longest = it.longest_call_seconds.map_or_else(String::new, |longest| {
        format!("longest call {}", seconds(longest))
    });
    joined([bytes(it.switched_bytes), found, left_out, took, longest])
}

fn skipped(it: &Switchback) -> String {
    let blocks = it.skipped.iter();
    joined(blocks.map(|it| format!("{}: {}", it.why, counted(it.blocks, "block"))))
}

fn periods(it: &Switchback) -> String {
    let cut = match it.cut {
        0 => String::new(),
        cut => format!("{cut} cut by the end of the program"),
    };
    let shams = match it.shams {
        1 => "1 placebo switch".to_owned(),
        shams => format!("{shams} placebo switches"),
    };
    joined([
        format!("{} each", seconds(it.period_seconds)),
        format!("{} after the switch", seconds(it.settle_seconds)),
        shams,
        cut,
    ])
}

fn held(it: &Switchback) -> String {
    let share = |share: Option<f64>, text: &str| {
        share.map_or_else(String::new, |share| format!("{text} {} %", percent(share)))
    };
    let lapses = match it.lapses {
        0 => String::new(),
        lapses => format!("{} lost pages", counted(lapses.into(), "period")),
    };
    joined([
        share(it.least_huge, "huge periods had at least"),
        share(it.most_huge, "small ones at most"),
        lapses,
    ])
}
