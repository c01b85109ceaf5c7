//! The journal of original settings, and their restoration after a kill.
//!
//! The original values are on disk before the first write. A guard restores them. If no guard could run (SIGKILL, a
//! crash), the journal still exists, and [`undo`] restores them: called by the guardian at once, at the next start, or
//! on request.

use std::fmt;

mod guardian;
mod journal;
mod place;

pub use guardian::{GUARDIAN_WORD, Guardian, guardian_main};
pub use journal::JOURNAL_FILE;
pub(crate) use journal::{Change, Entry, Journal};
pub use place::{Steps, UndoFolder, Unwatched};

use hugewise_base::setting::is_pool;
use serde::Serialize;

use crate::machine::error::{Kind, Result};
use crate::machine::lock::Hold;

/// The directory of the real machine's journal.
pub const STATE_DIR: &str = "/var/lib/hugewise";

/// A setting that differs from its original value, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftBehind {
    /// Path relative to the root of the machine.
    pub path: String,
    /// The value before the experiment.
    pub original: String,
    /// The current value, if it could be read.
    pub found: Option<String>,
    /// The reason why it was not restored.
    pub why: Why,
}

/// The reason why a setting was not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It has a value that the experiment never wrote: another program changed it.
    ChangedByOthers,
    /// The kernel refused, with this error.
    Refused(String),
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.as_deref().unwrap_or("something unreadable");
        write!(
            f,
            "/{} reads `{found}` and read `{}` before: ",
            self.path, self.original
        )?;
        match &self.why {
            Why::ChangedByOthers => {
                f.write_str("another program changed it since then; it was not overwritten")
            }
            Why::Refused(error) => write!(f, "it could not be restored ({error})"),
        }
    }
}

/// A restored setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Path relative to the root of the machine.
    pub path: String,
    /// The value before the restoration.
    pub from: String,
    /// The restored value.
    pub to: String,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, to } = self;
        write!(f, "/{path} is `{to}` again, not `{from}`")
    }
}

/// The result of the search for a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalFound {
    /// No journal: no experiment was interrupted.
    Nothing,
    /// One from an earlier boot, whose settings are gone. It was removed, if the user may do so.
    AnotherBoot {
        /// The process that wrote it.
        pid: u32,
    },
    /// One of this boot.
    ThisBoot {
        /// The process that wrote it.
        pid: u32,
    },
}

/// The restored settings, and those not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoReport {
    /// The journal.
    pub found: JournalFound,
    /// Restored settings.
    pub restored: Vec<Restored>,
    /// Settings not restored. If the kernel refused any, the journal still exists.
    pub left_behind: Vec<LeftBehind>,
}

impl UndoReport {
    /// Returns the report for a missing journal.
    pub(crate) fn nothing() -> Self {
        Self::of(JournalFound::Nothing)
    }

    fn of(found: JournalFound) -> Self {
        Self {
            found,
            restored: Vec::new(),
            left_behind: Vec::new(),
        }
    }
}

/// Restores the settings after an interrupted experiment. Does nothing without a journal, so it can be repeated; if
/// interrupted, it is repeated from the start.
///
/// The lock proves that the journal does not belong to a running experiment.
///
/// # Errors
/// The journal cannot be read or parsed (it is kept), or cannot be removed.
pub fn undo(_lock: &Hold, place: &UndoFolder) -> Result<UndoReport> {
    let Some(journal) = journal::read_journal(place)? else {
        sweep(place)?;
        return Ok(UndoReport::of(JournalFound::Nothing));
    };
    let pid = journal.pid;
    if journal.boot_id != journal::read_boot_id(place)? {
        sweep(place)?;
        return Ok(UndoReport::of(JournalFound::AnotherBoot { pid }));
    }
    let mut report = UndoReport::of(JournalFound::ThisBoot { pid });
    for entry in journal.entries.iter().rev() {
        match restore(place, entry, entry.ours()) {
            Ok(restored) => report.restored.extend(restored),
            Err(left) => report.left_behind.push(left),
        }
    }
    forget(place, &report.left_behind)?;
    Ok(report)
}

/// Removes files no longer needed. A user without permission leaves them to root: they do no harm.
fn sweep(place: &UndoFolder) -> Result<()> {
    match Journal::remove(place) {
        Err(error) if error.kind == Kind::NotPermitted => Ok(()),
        done => done,
    }
}

/// Removes the journal unless it is still needed.
pub(crate) fn forget(place: &UndoFolder, left_behind: &[LeftBehind]) -> Result<()> {
    let refused = |left: &LeftBehind| matches!(left.why, Why::Refused(_));
    if left_behind.iter().any(refused) {
        return Ok(());
    }
    Journal::remove(place)
}

/// The values of a file that may be due to this experiment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ours<'a> {
    /// These values.
    Values(&'a [String]),
    /// These numbers and all in between.
    Between(u64, u64),
    /// Any value: the kernel chose it, and after a kill it is not recorded anywhere.
    Any,
}

impl Ours<'_> {
    /// No value: the file is only read.
    pub(crate) const NOTHING: Self = Self::Values(&[]);

    fn include(self, value: &str) -> bool {
        match self {
            Self::Values(values) => values.iter().any(|ours| ours == value),
            Self::Between(low, high) => value
                .parse()
                .is_ok_and(|value| (low..=high).contains(&value)),
            Self::Any => true,
        }
    }
}

impl Entry {
    /// Returns the values that the file may have because these were written. A pool stops growing or shrinking if no
    /// page can be allocated or freed, so that each intermediate size may be due to this experiment.
    pub(crate) fn after<'a>(&self, values: &'a [String]) -> Ours<'a> {
        let sizes = values.iter().chain([&self.original]);
        let sizes = sizes.map(|value| value.parse::<u64>().ok());
        let sizes: Option<Vec<u64>> = sizes.collect();
        match sizes.filter(|_| is_pool(&self.path)) {
            Some(sizes) => {
                let (low, high) = (sizes.iter().min(), sizes.iter().max());
                Ours::Between(low.map_or(0, |&low| low), high.map_or(0, |&high| high))
            }
            None => Ours::Values(values),
        }
    }

    fn ours(&self) -> Ours<'_> {
        match &self.change {
            Change::Written(values) => self.after(values),
            Change::Follows => Ours::Any,
        }
    }

    /// Returns the written values; none for a follower file.
    pub(crate) fn written(&self) -> Ours<'_> {
        match &self.change {
            Change::Written(values) => self.after(values),
            Change::Follows => Ours::NOTHING,
        }
    }

    pub(crate) fn left(&self, found: Option<String>, why: Why) -> LeftBehind {
        LeftBehind {
            path: self.path.clone(),
            original: self.original.clone(),
            found,
            why,
        }
    }
}

/// Restores one file if it has a value due to this experiment; returns the result.
pub(crate) fn restore(
    place: &UndoFolder,
    entry: &Entry,
    ours: Ours<'_>,
) -> std::result::Result<Option<Restored>, LeftBehind> {
    let refused = |found, error: String| entry.left(found, Why::Refused(error));
    let from = place
        .value(&entry.path)
        .map_err(|error| refused(None, error.to_string()))?;
    if from == entry.original {
        return Ok(None);
    }
    if !ours.include(&from) {
        return Err(entry.left(Some(from), Why::ChangedByOthers));
    }
    place
        .set(&entry.path, &entry.original)
        .map_err(|error| refused(Some(from.clone()), error.to_string()))?;
    let to = place
        .value(&entry.path)
        .map_err(|error| refused(None, error.to_string()))?;
    if to != entry.original {
        return Err(refused(
            Some(to),
            "the kernel kept another value".to_owned(),
        ));
    }
    Ok(Some(Restored {
        path: entry.path.clone(),
        from,
        to,
    }))
}
