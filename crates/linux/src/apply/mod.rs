//! Applies policies: files are journalled, written, read back and restored.

pub mod cached_code;
mod entries;
pub mod executable;
mod file_window;
pub mod first_touch;
pub mod fragment;
pub mod page_cache;
pub mod preload;
pub mod runtime;

use hugewise_base::setting::{MIN_FREE, is_pool};
use hugewise_experiment::run::policy::realise::{FileWrite, Realisation};

use entries::read_entries;

use crate::machine::error::{Error, Kind, Result};
use crate::machine::lock::Hold;
use crate::undo::{
    Change, Entry, Guardian, Journal, LeftBehind, Ours, UndoFolder, UndoReport, Why, forget,
    restore, undo,
};

/// The machine's settings during an experiment. All files written by any policy are journalled; every file that is not
/// part of the current policy has its original value.
///
/// Dropping it restores as much as possible; [`Machine::finish`] reports the rest.
#[derive(Debug)]
pub struct Machine {
    place: UndoFolder,
    entries: Vec<Entry>,
    recovered: UndoReport,
    _lock: Option<Hold>,
    /// Acts when it is dropped, after everything has been restored.
    guardian: Option<Guardian>,
}

impl Machine {
    /// Prepares to apply any of `realisations`: restores what an earlier experiment left behind, and reads and journals
    /// all files that they write. Without files to write, no journal and no privilege is needed.
    ///
    /// # Errors
    /// An earlier journal cannot be undone; a file cannot be read; the journal cannot be written. In these cases
    /// nothing was changed for this experiment.
    pub fn begin(lock: Hold, place: UndoFolder, realisations: &[&Realisation]) -> Result<Self> {
        let recovered = undo(&lock, &place)?;
        refuse_refusals(&recovered)?;
        let entries = read_entries(&place, realisations)?;
        if !entries.is_empty() {
            Journal::new(&place, entries.clone())?.save(&place)?;
        }
        Ok(Self {
            place,
            entries,
            recovered,
            _lock: Some(lock),
            guardian: None,
        })
    }

    /// Returns a machine whose settings are changed and held by another program: no policy may write any.
    #[must_use]
    pub fn held_by_others(place: UndoFolder) -> Self {
        Self {
            place,
            entries: Vec::new(),
            recovered: UndoReport::nothing(),
            _lock: None,
            guardian: None,
        }
    }

    /// Adds a guardian, which restores the settings if this process is killed. None is started if no file is to be
    /// written.
    ///
    /// # Errors
    /// The guardian cannot be started.
    pub fn guarded(mut self) -> Result<Self> {
        if !self.entries.is_empty() {
            self.guardian = Some(Guardian::start(self.place.state())?);
        }
        Ok(self)
    }

    /// Returns what [`Machine::begin`] found of an earlier experiment and restored.
    #[must_use]
    pub fn recovered(&self) -> &UndoReport {
        &self.recovered
    }

    /// Writes the files of one policy, until the guard is released or dropped.
    ///
    /// # Errors
    /// Another program has changed a file since the experiment began, the kernel refuses a value, or the kernel stores
    /// a different one. Files written before the error have been restored.
    pub fn apply(&mut self, realisation: &Realisation) -> Result<Applied<'_>> {
        self.refuse_drift()?;
        let foreign = self.foreign_followers()?;
        let mut applied = Applied {
            machine: self,
            written: Vec::new(),
            noted: Vec::new(),
            foreign,
        };
        for file in &realisation.files {
            applied.write(file)?;
        }
        applied.note_followers()?;
        Ok(applied)
    }

    /// Returns the journalled files that have a changed value although no policy is applied: another program changed
    /// them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn drift(&self) -> Result<Vec<LeftBehind>> {
        let mut drifted = Vec::new();
        for entry in &self.entries {
            let found = self.place.value(&entry.path)?;
            if found != entry.original {
                drifted.push(entry.left(Some(found), Why::ChangedByOthers));
            }
        }
        Ok(drifted)
    }

    /// A trial would be mislabelled if a file of another policy had a foreign value.
    fn refuse_drift(&self) -> Result<()> {
        let drifted = self.drift()?;
        match drifted.iter().find(|left| left.path != MIN_FREE) {
            None => Ok(()),
            Some(left) => Err(other("applying a policy", left.to_string())),
        }
    }

    /// Ends the experiment: verifies that all files have their original values, and removes the journal. The journal
    /// stays if the kernel refused to restore a value.
    ///
    /// # Errors
    /// The journal cannot be removed.
    pub fn finish(mut self) -> Result<Vec<LeftBehind>> {
        self.put_back()
    }

    /// Guards have restored the files that they wrote; this repeats it for guards that failed. A value that follows is
    /// only looked at: if it is not the old one, somebody chose it.
    fn put_back(&mut self) -> Result<Vec<LeftBehind>> {
        let entries = std::mem::take(&mut self.entries);
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let left_behind: Vec<LeftBehind> = entries
            .iter()
            .rev()
            .filter_map(|entry| restore(&self.place, entry, entry.written()).err())
            .collect();
        forget(&self.place, &left_behind)?;
        Ok(left_behind)
    }

    fn entry(&self, path: &str) -> Result<usize> {
        let known = self.entries.iter().position(|entry| entry.path == path);
        known.ok_or_else(|| {
            let what = format!("/{path} is not among the files of this experiment");
            other("applying a policy", what)
        })
    }

    fn foreign_followers(&self) -> Result<Vec<usize>> {
        let mut foreign = Vec::new();
        for (at, entry) in self.followers() {
            if self.place.value(&entry.path)? != entry.original {
                foreign.push(at);
            }
        }
        Ok(foreign)
    }

    fn followers(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| entry.change == Change::Follows)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // On failure the journal stays, and the next start restores the rest.
        let _ = self.put_back();
    }
}

/// An applied policy. Dropping it restores the files; [`Machine::drift`] then reports the files that could not be
/// restored.
#[derive(Debug)]
pub struct Applied<'a> {
    machine: &'a mut Machine,
    written: Vec<Reads>,
    /// The values that the kernel gave to the follower files.
    noted: Vec<Reads>,
    /// Followers that another program had changed already.
    foreign: Vec<usize>,
}

/// A journalled file, by its index, and its value caused by this program.
#[derive(Debug)]
struct Reads {
    entry: usize,
    ours: Vec<String>,
}

impl Applied<'_> {
    fn write(&mut self, file: &FileWrite) -> Result<()> {
        let place = &self.machine.place;
        let entry = self.machine.entry(&file.path)?;
        // Recorded before the write, so that a partly failed write is also restored.
        self.written.push(Reads {
            entry,
            ours: vec![file.value.clone()],
        });
        place.set(&file.path, &file.value)?;
        let mut taken = place.value(&file.path)?;
        if taken != file.value && is_pool(&file.path) {
            // The first attempt has compacted memory, which may help the second.
            place.set(&file.path, &file.value)?;
            taken = place.value(&file.path)?;
        }
        if taken == file.value {
            return Ok(());
        }
        let what = not_taken(file, &taken);
        if let Some(last) = self.written.last_mut() {
            last.ours.push(taken);
        }
        Err(other("applying a policy", what))
    }

    /// Records the values that the kernel gave to the follower files, to distinguish them from later changes by others.
    fn note_followers(&mut self) -> Result<()> {
        for (entry, follower) in self.machine.followers() {
            let ours = vec![self.machine.place.value(&follower.path)?];
            self.noted.push(Reads { entry, ours });
        }
        Ok(())
    }

    /// Restores the files in the reverse order of writing, then their followers: only then has the kernel computed
    /// their last values.
    fn put_back(&self) {
        if self.written.is_empty() {
            return;
        }
        let machine = &*self.machine;
        let disturbed: Vec<usize> = self.disturbed().collect();
        let files = self.written.iter().rev().map(|Reads { entry, ours }| {
            let entry = &machine.entries[*entry];
            (entry, entry.after(ours))
        });
        let followers = machine.followers().map(|(at, entry)| {
            let free = !disturbed.contains(&at) && !self.foreign.contains(&at);
            (entry, if free { Ours::Any } else { Ours::NOTHING })
        });
        for (entry, ours) in files.chain(followers) {
            // Files that cannot be restored here are found again, and reported, when the machine is finished.
            let _ = restore(&machine.place, entry, ours);
        }
    }

    /// Returns the followers whose values differ from those given by the kernel.
    fn disturbed(&self) -> impl Iterator<Item = usize> + '_ {
        let machine = &*self.machine;
        self.noted.iter().filter_map(|Reads { entry, ours }| {
            let found = machine.place.value(&machine.entries[*entry].path).ok()?;
            (!ours.contains(&found)).then_some(*entry)
        })
    }
}

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Describes the value of a file that did not accept a new value.
fn not_taken(file: &FileWrite, taken: &str) -> String {
    let FileWrite { path, value } = file;
    let sizes = value.parse::<u64>().ok().zip(taken.parse::<u64>().ok());
    match sizes.filter(|_| is_pool(path)) {
        Some((wanted, made)) if made < wanted => format!(
            "/{path}: {made} of {wanted} pages could be made, because free memory is too fragmented; \
             ask for fewer, or end programs that hold much memory"
        ),
        Some((wanted, held)) => {
            format!("/{path}: {held} pages are in use, so that the pool cannot shrink to {wanted}")
        }
        None => format!("/{path}: `{value}` was written, but it reads `{taken}`"),
    }
}

/// Refuses to start if an earlier experiment cannot be undone, because it would spoil this one.
fn refuse_refusals(recovered: &UndoReport) -> Result<()> {
    let refused = |left: &&LeftBehind| matches!(left.why, Why::Refused(_));
    match recovered.left_behind.iter().find(refused) {
        None => Ok(()),
        Some(left) => Err(other("undoing an earlier experiment", left.to_string())),
    }
}

fn other(doing: &str, what: String) -> Error {
    Error {
        kind: Kind::Other(what),
        doing: doing.to_owned(),
        path: None,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_is_said() {
        let pool = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
        for (path, value, taken, words) in [
            (pool, "64", "40", "40 of 64 pages could be made"),
            (pool, "2", "5", "5 pages are in use"),
            ("sys/x", "always", "never", "but it reads `never`"),
        ] {
            let file = FileWrite {
                path: path.to_owned(),
                value: value.to_owned(),
            };
            let said = not_taken(&file, taken);
            assert!(said.contains(words), "{said}");
        }
    }
}
