//! A frozen machine for tests that change it, with its lock and its journal.

use std::fs;
use std::path::PathBuf;

use hugewise_experiment::run::policy::realise::{FileWrite, Realisation};
use hugewise_linux::machine::lock::{self, Hold};
use hugewise_linux::machine::root::Root;
use hugewise_linux::undo::UndoFolder;
use tempfile::TempDir;

const THP: &str = "sys/kernel/mm/transparent_hugepage";
pub const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";

/// Relative path and content of every settings file of the frozen machine.
pub const ORIGINALS: [(&str, &str); 5] = [
    ("enabled", "madvise"),
    ("defrag", "madvise"),
    ("hugepages-64kB/enabled", "never"),
    ("khugepaged/max_ptes_none", "511"),
    (MIN_FREE, "67584"),
];

#[derive(Debug)]
pub struct Ground {
    folder: TempDir,
}

impl Ground {
    pub fn new() -> Self {
        let ground = Self {
            folder: in_memory(),
        };
        ground.write("proc/sys/kernel/random/boot_id", "this-boot\n");
        fs::create_dir_all(ground.path(THP)).unwrap();
        for (file, value) in ORIGINALS {
            ground.write(&path_of(file), value);
        }
        // In the kernel's format.
        ground.write(&path_of("enabled"), "always [madvise] never\n");
        ground
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub fn write(&self, relative: &str, content: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Returns the word in brackets or the whole content.
    pub fn value(&self, relative: &str) -> String {
        let text = fs::read_to_string(self.path(relative)).unwrap();
        let word = text.split(['[', ']']).nth(1).unwrap_or(&text);
        word.trim().to_owned()
    }

    pub fn state(&self) -> PathBuf {
        self.path("var/lib/hugewise")
    }

    pub fn place(&self) -> UndoFolder {
        UndoFolder::new(&Root::at(self.folder.path()), &self.state())
    }

    pub fn lock(&self) -> Hold {
        lock::hold(self.folder.path()).unwrap()
    }

    /// Asserts that every setting has its original value, and the state directory is empty.
    pub fn assert_untouched(&self, after: &str) {
        for (file, value) in ORIGINALS {
            assert_eq!(self.value(&path_of(file)), value, "{file} {after}");
        }
        let left: Vec<_> = fs::read_dir(self.state()).map_or_else(
            |_| Vec::new(),
            |entries| entries.map(|entry| entry.unwrap().file_name()).collect(),
        );
        assert!(left.is_empty(), "{left:?} {after}");
    }
}

/// Uses memory if available, because a journal is synced many times.
fn in_memory() -> TempDir {
    TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap()
}

/// Returns the path of a setting, relative to the root.
pub fn path_of(file: &str) -> String {
    if file == MIN_FREE {
        return file.to_owned();
    }
    format!("{THP}/{file}")
}

pub fn writes(files: &[(&str, &str)]) -> Realisation {
    Realisation {
        files: files
            .iter()
            .map(|&(file, value)| FileWrite {
                path: path_of(file),
                value: value.to_owned(),
            })
            .collect(),
        ..Realisation::default()
    }
}
