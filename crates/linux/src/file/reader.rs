//! Reads many files chosen by another user, with limits for their number and size.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::kind::refused;
use super::read::{open_regular, read_within};
use super::rights::Rights;
use crate::machine::root::sorted_names;

/// The maximum number of names read in a directory.
const MOST_NAMES: usize = 10_000;

/// A reader with limits for all files together.
#[derive(Debug)]
pub struct Reader {
    rights: Rights,
    files: Cell<u32>,
    bytes: Cell<u64>,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The numbers of its device and of itself: two names may lead to one file.
    pub identity: (u64, u64),
}

impl Reader {
    /// Creates a reader with these rights, and a limit for the number of files and for their total size.
    #[must_use]
    pub fn new(rights: Rights, files: u32, bytes: u64) -> Self {
        Self {
            rights,
            files: Cell::new(files),
            bytes: Cell::new(bytes),
        }
    }

    /// Returns its rights.
    #[must_use]
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Reads a regular file.
    ///
    /// # Errors
    /// It is no regular file, this user may not read it, or a limit is reached.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Found> {
        let files = self.files.get().checked_sub(1);
        let files = files.ok_or_else(|| refused("too many files were read before it"))?;
        let file = self.rights.lend(|| open_regular(path))?;
        let found = file.metadata()?;
        self.files.set(files);
        let bytes = read_within(file, most.min(self.bytes.get()))?;
        self.bytes.set(self.bytes.get() - bytes.len() as u64);
        Ok(Found {
            bytes,
            identity: (found.dev(), found.ino()),
        })
    }

    /// Returns the names in a directory, sorted; only some of them if there are more than 10,000.
    ///
    /// # Errors
    /// It is not there, or this user may not list it.
    pub fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = self.rights.lend(|| fs::read_dir(path))?.take(MOST_NAMES);
        Ok(sorted_names(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_all_files_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "12345").unwrap();
        let reader = Reader::new(Rights::own(), 3, 12);
        let read = || reader.read(&path, 5).map(|found| found.bytes.len());
        assert!(reader.read(&folder.path().join("none"), 5).is_err());
        assert_eq!((read().unwrap(), read().unwrap()), (5, 5));
        assert!(read().is_err(), "15 bytes are more than 12");
        assert!(read().is_err(), "three files were read");
        assert_eq!(reader.list(folder.path()).unwrap(), ["x"]);
    }
}
