use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::machine::error::{Error, Result};

/// The machine as files: the real one at `/`, or a frozen one in a directory.
///
/// Readers take a `Root` and paths relative to it (`proc/meminfo`, `sys/kernel/mm/…`), so every test can use a machine
/// captured elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// Returns the running machine.
    #[must_use]
    pub fn real() -> Self {
        Self {
            path: PathBuf::from("/"),
        }
    }

    /// Returns a machine in a directory that contains `proc/` and `sys/`.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns true for the running machine: only then do system calls describe it.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.path == Path::new("/")
    }

    /// Returns the path of a file, given relative to the root.
    #[must_use]
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        debug_assert!(
            relative.as_ref().is_relative(),
            "{}",
            relative.as_ref().display()
        );
        self.path.join(relative)
    }

    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// The file does not exist, may not be read, or the kernel failed.
    pub fn read(&self, relative: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = self.path(relative);
        fs::read(&path).map_err(|error| Error::io("reading", &path, error))
    }

    /// Returns the text of a small file, trimmed; bytes other than UTF-8 are replaced.
    ///
    /// # Errors
    /// The same as for [`Root::read`].
    pub fn read_trimmed(&self, relative: impl AsRef<Path>) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read(relative)?)
            .trim()
            .to_owned())
    }

    /// Returns the names in a directory, sorted; names other than UTF-8 are left out.
    ///
    /// # Errors
    /// The directory does not exist or may not be read.
    pub fn list(&self, relative: impl AsRef<Path>) -> Result<Vec<String>> {
        let path = self.path(relative);
        let entries = fs::read_dir(&path).map_err(|error| Error::io("listing", &path, error))?;
        Ok(sorted_names(entries))
    }
}

/// Returns the names of directory entries, sorted; names other than UTF-8 are left out.
pub(crate) fn sorted_names(entries: impl Iterator<Item = io::Result<fs::DirEntry>>) -> Vec<String> {
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Creates a machine from these files, which is removed with the directory.
#[cfg(test)]
pub(crate) fn machine_of(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, content) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().expect("a path below the root")).expect("a folder");
        fs::write(file, content).expect("a file");
    }
    let root = Root::at(folder.path());
    (folder, root)
}
