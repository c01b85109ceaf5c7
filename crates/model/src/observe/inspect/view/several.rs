//! Many processes: one line each.

use std::cmp::Reverse;
use std::fmt::{self, Write};

use serde::Serialize;

use crate::base::units::bytes_text;
use crate::observe::inspect::reasons::Code;
use crate::text::csv_field as field;
use crate::text::wrap::{plain, shortened};

use super::{Inspection, is_small};

/// What is said of one process among many. It holds no mappings: there may be many processes
/// with many.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Brief {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Effective user id.
    pub uid: u32,
    /// Resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Memory in huge pages of any sort, in bytes.
    pub huge_bytes: Option<u64>,
    /// Resident memory that could be huge by all settings, and is small, in bytes.
    pub could_be_huge_bytes: Option<u64>,
    /// The reason of the most small memory.
    pub main_reason: Option<Code>,
}

impl Brief {
    /// The short form of an inspection; `None` for threads of the kernel and zombies, which
    /// have no memory.
    #[must_use]
    pub fn of(inspection: &Inspection) -> Option<Self> {
        let process = &inspection.space.process;
        (!inspection.space.mappings.is_empty()).then(|| Self {
            pid: process.pid,
            command: process.command.clone(),
            uid: process.uid,
            resident_bytes: inspection.summary.resident,
            huge_bytes: huge(inspection),
            could_be_huge_bytes: inspection.summary.could_be_huge,
            main_reason: main_reason(inspection),
        })
    }
}

/// Draws many processes as a table, the largest first.
///
/// # Errors
/// Only those of `out`.
pub fn render_several(briefs: &[Brief], out: &mut impl Write) -> fmt::Result {
    let mut sorted: Vec<&Brief> = briefs.iter().collect();
    sorted.sort_by_key(|one| Reverse(one.resident_bytes));
    writeln!(
        out,
        "{:>8} {:<15} {:>10} {:>10} {:>10}  why small",
        "process", "command", "resident", "huge", "could be"
    )?;
    for one in sorted {
        let text = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), bytes_text);
        let line = format!(
            "{:>8} {:<15} {:>10} {:>10} {:>10}  {}",
            one.pid,
            shortened(&plain(&one.command), 15),
            text(one.resident_bytes),
            text(one.huge_bytes),
            text(one.could_be_huge_bytes),
            one.main_reason.map_or("", Code::name)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The same as CSV.
///
/// # Errors
/// Only those of `out`.
pub fn render_several_csv(briefs: &[Brief], out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "pid,command,uid,resident_bytes,huge_bytes,could_be_huge_bytes,main_reason"
    )?;
    for one in briefs {
        let number = |bytes: Option<u64>| bytes.map_or_else(String::new, |b| b.to_string());
        writeln!(
            out,
            "{},{},{},{},{},{},{}",
            one.pid,
            field(&one.command),
            one.uid,
            number(one.resident_bytes),
            number(one.huge_bytes),
            number(one.could_be_huge_bytes),
            one.main_reason.map_or("", Code::name)
        )?;
    }
    Ok(())
}

/// Memory in huge pages of any sort.
fn huge(one: &Inspection) -> Option<u64> {
    let summary = &one.summary;
    let others = summary.huge_file.unwrap_or(0) + summary.hugetlb.unwrap_or(0);
    Some(summary.huge_anonymous? + summary.huge_shmem? + others)
}

/// The reason of the most small memory.
fn main_reason(one: &Inspection) -> Option<Code> {
    let reasons = one.summary.reasons.iter();
    reasons
        .filter(|reason| is_small(reason.code))
        .max_by_key(|reason| (reason.resident, Reverse(reason.code)))
        .map(|reason| reason.code)
}
