//! Policies in force: files written after they are journalled, read back, put back.

mod entries;
pub mod executable;
pub mod first_touch;
pub mod fragment;
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

/// The machine's settings during an experiment. All that any policy writes is journalled;
/// whatever is not applied just now has its original value.
///
/// Dropped, it puts everything back as far as it can; [`Machine::finish`] says how far.
#[derive(Debug)]
pub struct Machine {
    place: UndoFolder,
    entries: Vec<Entry>,
    recovered: UndoReport,
    _lock: Option<Hold>,
    /// It acts when it is dropped, after everything is put back.
    guardian: Option<Guardian>,
}

impl Machine {
    /// Gets ready to apply any of `realisations`: puts back what an earlier experiment left,
    /// reads what any of them writes and journals it. Where nothing is to be written there is
    /// no journal, and no privilege is needed.
    ///
    /// # Errors
    /// An earlier journal cannot be undone; a file cannot be read; the journal cannot be
    /// written. Nothing of this experiment has been changed then.
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

    /// A machine whose settings somebody else changed and holds: no policy may write any.
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

    /// The same, put back by a guardian should this process be killed. Where nothing is to be
    /// written, none is started.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn guarded(mut self) -> Result<Self> {
        if !self.entries.is_empty() {
            self.guardian = Some(Guardian::start(self.place.state())?);
        }
        Ok(self)
    }

    /// What [`Machine::begin`] found of an earlier experiment and put back.
    #[must_use]
    pub fn recovered(&self) -> &UndoReport {
        &self.recovered
    }

    /// Puts the files of one policy in force until the guard is released or dropped.
    ///
    /// # Errors
    /// A file was changed by somebody else since the experiment began; the kernel refuses a
    /// value or keeps another. What was written so far has been put back.
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

    /// The journalled files that do not have their original value although no policy is in
    /// force: somebody else changed them.
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

    /// A trial would not be what it is called if another policy's file had a foreign value.
    fn refuse_drift(&self) -> Result<()> {
        let drifted = self.drift()?;
        match drifted.iter().find(|left| left.path != MIN_FREE) {
            None => Ok(()),
            Some(left) => Err(other("applying a policy", left.to_string())),
        }
    }

    /// Ends the experiment: sees that all is as it was, and forgets the journal. The journal
    /// stays where the kernel refused to take an old value back.
    ///
    /// # Errors
    /// The journal cannot be removed.
    pub fn finish(mut self) -> Result<Vec<LeftBehind>> {
        self.put_back()
    }

    /// Guards have put back what they wrote; here it is done for the guards that failed. A
    /// value that follows is only looked at: if it is not the old one, somebody chose it.
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
        // The journal stays if this fails, and the next start puts back what is left.
        let _ = self.put_back();
    }
}

/// The files of one policy in force. Dropped, it puts them back; [`Machine::drift`] then tells
/// what could not be.
#[derive(Debug)]
pub struct Applied<'a> {
    machine: &'a mut Machine,
    written: Vec<Reads>,
    /// What the kernel made of the files that follow.
    noted: Vec<Reads>,
    /// Followers that were somebody else's already.
    foreign: Vec<usize>,
}

/// A journalled file, by its place among them, and what it reads because of us.
#[derive(Debug)]
struct Reads {
    entry: usize,
    ours: Vec<String>,
}

impl Applied<'_> {
    fn write(&mut self, file: &FileWrite) -> Result<()> {
        let place = &self.machine.place;
        let entry = self.machine.entry(&file.path)?;
        // Known before it is written: a write that fails half-way is put back as well.
        self.written.push(Reads {
            entry,
            ours: vec![file.value.clone()],
        });
        place.set(&file.path, &file.value)?;
        let mut taken = place.value(&file.path)?;
        if taken != file.value && is_pool(&file.path) {
            // The first attempt has compacted memory, from which the second may gain.
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

    /// Remembers what the kernel made of the files that follow, to tell it from what others
    /// make of them later.
    fn note_followers(&mut self) -> Result<()> {
        for (entry, follower) in self.machine.followers() {
            let ours = vec![self.machine.place.value(&follower.path)?];
            self.noted.push(Reads { entry, ours });
        }
        Ok(())
    }

    /// The files in the reverse order of writing, then those that follow them: only then has
    /// the kernel computed its last value.
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
            // What is left behind here is found again, and told, when the machine is finished.
            let _ = restore(&machine.place, entry, ours);
        }
    }

    /// The followers that no longer read what the kernel made of them.
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

/// What a file reads that did not take a value.
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

/// An earlier experiment that cannot be undone would spoil this one.
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
