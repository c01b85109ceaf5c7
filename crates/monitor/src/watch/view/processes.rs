//! The table of processes.

use crate::watch::rows::{Column, Row};
use crate::watch::sample::HugeMemory;
use hugewise_base::units::bytes_text;
use hugewise_text::Tone;
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::percent;
use hugewise_text::wrap::{padded, plain, shortened};

use super::rate_text;

/// Columns for the name of a process: the kernel keeps fifteen characters.
const NAME: usize = 16;

/// The processes, with a mark at the sort column.
pub(super) fn grid(rows: &[Row<'_>], sort: Column) -> Grid {
    let right = Align::Right;
    let align = [right, Align::Left, right, right, right, right];
    let heading = Column::ALL.map(|column| heading(column, sort));
    let mut grid = Grid {
        rows: vec![heading.into()],
        align: align.into(),
    };
    grid.rows.extend(rows.iter().map(row));
    grid
}

fn heading(column: Column, sort: Column) -> Cell {
    let width = match column {
        Column::Pid => 7,
        Column::Name => 0,
        Column::Resident | Column::Share | Column::Faults => 9,
        Column::Huge => 13,
    };
    let mark = if column == sort { "▾" } else { "" };
    let text = format!("{}{mark}", column.heading());
    let text = match column {
        Column::Name => padded(&text, NAME),
        _ => format!("{text:>width$}"),
    };
    Cell::plain(text).tone(Tone::Strong)
}

fn row(row: &Row<'_>) -> Vec<Cell> {
    let process = row.process;
    let share = process.huge_share();
    let huge = match process.huge {
        HugeMemory::Waiting => "not yet read".to_owned(),
        HugeMemory::Large => "press Enter".to_owned(),
        HugeMemory::NotPermitted => "no permission".to_owned(),
        HugeMemory::Bytes { .. } => bytes_text(process.huge.bytes().unwrap_or(0)),
    };
    vec![
        Cell::plain(process.pid.to_string()),
        Cell::plain(shortened(&plain(&process.name), NAME)),
        Cell::plain(bytes_text(process.resident_bytes)),
        Cell::plain(huge),
        Cell::plain(share.map_or_else(String::new, percent)),
        Cell::plain(rate_text(row.faults)),
    ]
}
