//! The rows of the table of processes: filtered and sorted.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::sample::Process;

/// The sort column of the processes; numbers are sorted largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Column {
    Pid,
    Name,
    #[default]
    Resident,
    Huge,
    Share,
    Faults,
}

impl Column {
    /// All, from left to right.
    pub(super) const ALL: [Self; 6] = [
        Self::Pid,
        Self::Name,
        Self::Resident,
        Self::Huge,
        Self::Share,
        Self::Faults,
    ];

    /// Its heading.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Pid => "PID",
            Self::Name => "process",
            Self::Resident => "resident",
            Self::Huge => "huge",
            Self::Share => "huge %",
            Self::Faults => "faults/s",
        }
    }

    /// The column this many places to the right, wrapping around.
    pub(super) fn stepped(self, step: usize) -> Self {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(place + step) % Self::ALL.len()]
    }
}

/// A process and its page faults per second, if known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) process: &'a Process,
    pub(super) faults: Option<f64>,
}

/// The processes that match a filter, sorted.
pub(super) fn rows<'a>(
    processes: &'a [Process],
    rates: &BTreeMap<(u32, u64), f64>,
    filter: &str,
    sort: Column,
) -> Vec<Row<'a>> {
    let filter = filter.to_lowercase();
    // A complete PID matches only that process, even if others begin with the same digits.
    let whole: Option<u32> = filter.parse().ok();
    let whole = whole.filter(|pid| processes.iter().any(|it| it.pid == *pid));
    let fits = |process: &&Process| match whole {
        Some(pid) => process.pid == pid,
        None => {
            process.name.to_lowercase().contains(&filter)
                || process.pid.to_string().starts_with(&filter)
        }
    };
    let row = |process: &'a Process| Row {
        process,
        faults: rates.get(&process.identity()).copied(),
    };
    let mut rows: Vec<_> = processes.iter().filter(fits).map(row).collect();
    rows.sort_by(|one, other| {
        let by_pid = one.process.pid.cmp(&other.process.pid);
        compare(one, other, sort).then(by_pid)
    });
    rows
}

fn compare(one: &Row<'_>, other: &Row<'_>, sort: Column) -> Ordering {
    let numbers = |value: fn(&Row<'_>) -> Option<f64>| {
        let (one, other) = (value(one).unwrap_or(-1.0), value(other).unwrap_or(-1.0));
        other.total_cmp(&one)
    };
    match sort {
        Column::Pid => Ordering::Equal,
        Column::Name => one.process.name.cmp(&other.process.name),
        Column::Resident => numbers(|row| Some(row.process.resident_bytes as f64)),
        Column::Huge => numbers(|row| row.process.huge.bytes().map(|bytes| bytes as f64)),
        Column::Share => numbers(|row| row.process.huge_share()),
        Column::Faults => numbers(|row| row.faults),
    }
}
