//! Many processes: one line each.

use serde::Serialize;
use std::cmp::Reverse;

use crate::inspect::reasons::Code;
use hugewise_base::units::bytes_text;
use hugewise_text::csv::{Csv, optional};
use hugewise_text::document::{Document, Level, Section};
use hugewise_text::grid::Align::{Left, Right};
use hugewise_text::grid::Grid;
use hugewise_text::wrap::{plain, shortened};

use super::Inspection;

/// The short form of one process in a list of many. It has no mappings, because many processes can have many mappings.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Brief {
    /// The PID.
    pub pid: u32,
    /// The name.
    pub command: String,
    /// Effective user id.
    pub uid: u32,
    /// Resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Memory in huge pages of any kind, in bytes.
    pub huge_bytes: Option<u64>,
    /// Small resident memory that is eligible for huge pages, in bytes.
    pub could_be_huge_bytes: Option<u64>,
    /// The reason that covers the most small memory.
    pub main_reason: Option<Code>,
}

impl Brief {
    /// The short form of an inspection; `None` for kernel threads and zombies, which have no memory.
    #[must_use]
    pub fn of(inspection: &Inspection) -> Option<Self> {
        let process = &inspection.space.process;
        (!inspection.space.mappings.is_empty()).then(|| Self {
            pid: process.pid,
            command: process.command.clone(),
            uid: process.uid,
            resident_bytes: inspection.summary.resident,
            huge_bytes: inspection.summary.huge(),
            could_be_huge_bytes: inspection.summary.could_be_huge,
            main_reason: inspection.summary.main_reason(),
        })
    }
}

/// Renders many processes as a table, the largest first.
#[must_use]
pub fn several(briefs: &[Brief]) -> Document {
    let mut sorted: Vec<&Brief> = briefs.iter().collect();
    sorted.sort_by_key(|one| Reverse(one.resident_bytes));
    let heading = [
        "process",
        "command",
        "resident",
        "huge",
        "eligible",
        "why small",
    ];
    let align = [Right, Left, Right, Right, Right, Left];
    let mut grid = Grid::headed(&heading).aligned(&align);
    for one in sorted {
        let text = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), bytes_text);
        grid.push([
            one.pid.to_string(),
            shortened(&plain(&one.command), 15),
            text(one.resident_bytes),
            text(one.huge_bytes),
            text(one.could_be_huge_bytes),
            one.main_reason.map_or("", Code::name).to_owned(),
        ]);
    }
    let mut section = Section::default();
    section
        .blocks
        .extend(most_eligible(briefs).map(|text| (Level::First, text.into())));
    Document::new([section.with(grid)])
}

/// Names the process with the most eligible memory.
fn most_eligible(briefs: &[Brief]) -> Option<String> {
    let eligible = |one: &Brief| one.could_be_huge_bytes.unwrap_or(0);
    let most = briefs.iter().max_by_key(|one| eligible(one))?;
    let total: u64 = briefs.iter().map(eligible).sum();
    (total > 0).then(|| {
        format!(
            "{} are eligible for huge pages, but small; most of it in {} ({}): {}.",
            bytes_text(total),
            plain(&most.command),
            most.pid,
            bytes_text(eligible(most))
        )
    })
}

/// Renders the same table as CSV.
#[must_use]
pub fn several_csv(briefs: &[Brief]) -> String {
    let mut csv = Csv::new(&[
        "pid",
        "command",
        "uid",
        "resident_bytes",
        "huge_bytes",
        "could_be_huge_bytes",
        "main_reason",
    ]);
    for one in briefs {
        csv.row([
            one.pid.to_string(),
            one.command.clone(),
            one.uid.to_string(),
            optional(one.resident_bytes),
            optional(one.huge_bytes),
            optional(one.could_be_huge_bytes),
            optional(one.main_reason),
        ]);
    }
    csv.into_text()
}
