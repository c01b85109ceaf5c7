//! The journal of old settings, and their restoration after a kill.
//!
//! Before the first write the old values are on disk. A guard puts them back; where no guard
//! could run (SIGKILL, a crash) the journal is still there, and [`undo`] does: by the
//! guardian at once, or at the next start, or when it is asked to.

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

/// Where the journal of the real machine is kept.
pub const STATE_DIR: &str = "/var/lib/hugewise";

/// A setting that is not as it was before the experiment, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftBehind {
    /// Path relative to the root of the machine.
    pub path: String,
    /// Before the experiment.
    pub original: String,
    /// What it reads now, where that could be found out.
    pub found: Option<String>,
    /// Why it was not put back.
    pub why: Why,
}

/// Why a setting was not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It holds what the experiment never wrote: it is somebody else's now.
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
                f.write_str("somebody else changed it meanwhile; it was left alone")
            }
            Why::Refused(error) => write!(f, "it could not be restored ({error})"),
        }
    }
}

/// A setting that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Path relative to the root of the machine.
    pub path: String,
    /// What it read.
    pub from: String,
    /// What it reads again.
    pub to: String,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, to } = self;
        write!(f, "/{path} is `{to}` again, not `{from}`")
    }
}

/// Which journal was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalFound {
    /// None: no experiment was cut short.
    Nothing,
    /// One of an earlier boot, which took the settings with it. It was removed
    /// by whoever may.
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

/// What was put back, and what was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoReport {
    /// The journal.
    pub found: JournalFound,
    /// Settings that were put back.
    pub restored: Vec<Restored>,
    /// Settings that were not. If the kernel refused any, the journal is still there.
    pub left_behind: Vec<LeftBehind>,
}

impl UndoReport {
    /// Nothing was found.
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

/// Puts back what an experiment that was cut short left behind. Does nothing where there is
/// no journal, so it can be repeated; cut short itself, it is repeated from the start.
///
/// The lock proves that the journal is not that of an experiment that still runs.
///
/// # Errors
/// The journal cannot be read or understood (it is kept), or not removed.
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

/// Removes what is of no use any more. A user who may not leaves it to root: it does no harm.
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

/// The values of a file that this experiment may have written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ours<'a> {
    /// These.
    Values(&'a [String]),
    /// These numbers and all between.
    Between(u64, u64),
    /// Whatever it reads: the kernel chose the value, and after a kill nobody knows it.
    Any,
}

impl Ours<'_> {
    /// None: the file is only looked at.
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
    /// What the file may read because these values were written. A pool stays where no page was
    /// left to make or to give back, so that each size on the way is ours.
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

    /// The values that were written: of a file that follows, none.
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

/// Puts one file back if it holds a value of ours; says what was done.
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
