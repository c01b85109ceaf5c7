//! `text=file`: the code of a program and its libraries in huge pages of the page cache.
//!
//! The code stays in its files: all processes share its pages, and symbols keep their addresses. Nothing is traced. The
//! pages exist before the program starts. A mapping uses them if its address and its offset in the file differ by a
//! multiple of a huge page.
//!
//! The means, in this order:
//!
//! * The pages are evicted, and read again through a mapping with `MADV_HUGEPAGE`. The kernel then reads whole huge
//!   folios if the file system can have them.
//! * Blocks that stay small are collapsed by `MADV_COLLAPSE`, through an executable mapping of this process.
//!
//! All trials of other policies get small pages instead: the pages are evicted, and read again one by one.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hugewise_base::units::bytes_text;

use self::files::CodeFile;
use self::pages::Pages;
use super::runtime::CommandContext;
use crate::machine::root::Root;
use crate::proc::maps;

mod files;
mod pages;
mod segments;

/// The files of a command whose code can be in huge pages of the page cache.
#[derive(Debug)]
pub struct CachedCode {
    files: Vec<CodeFile>,
    obstacles: Vec<String>,
    block: u64,
}

/// Code in huge pages of the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugeCode {
    /// Bytes in huge pages.
    pub huge: u64,
    /// Bytes of all blocks that a huge page can hold.
    pub of: u64,
}

impl CachedCode {
    /// Finds the files of a command: its program, or the interpreter of its script, and the libraries that the loader
    /// maps. `block` is the size of a huge page in bytes.
    ///
    /// # Errors
    /// A sentence: there is no program, it may not be read, or its code holds no huge page.
    pub fn find(start: CommandContext<'_>, block: u64) -> Result<Self, String> {
        let (files, obstacles) = files::find(start, block)?;
        if files.is_empty() {
            return Err(obstacles.join("; "));
        }
        Ok(Self {
            files,
            obstacles,
            block,
        })
    }

    /// Returns a sentence for each file with code of at least one huge page that stays in small pages.
    #[must_use]
    pub fn obstacles(&self) -> &[String] {
        &self.obstacles
    }

    /// Returns the paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Puts the code into huge pages.
    ///
    /// # Errors
    /// A sentence: the kernel reported an error, or no block became huge.
    pub fn make_huge(&self) -> Result<HugeCode, String> {
        let mut sum = HugeCode::default();
        let mut refusals = Vec::new();
        for file in &self.files {
            let pages = self.pages(file);
            let made = pages
                .make_huge()
                .map_err(|error| format!("{}: {error}", file.path.display()))?;
            sum.huge += made.huge;
            sum.of += pages.bytes();
            if made.huge < pages.bytes() {
                refusals.push(self.refusal(file, pages.bytes() - made.huge, made.error));
            }
        }
        match sum.huge {
            0 => Err(refusals.join("; ")),
            _ => Ok(sum),
        }
    }

    /// Puts all code into small pages of the page cache.
    ///
    /// # Errors
    /// A sentence: the kernel reported an error, or another program keeps huge pages in use.
    pub fn make_small(&self) -> Result<(), String> {
        for file in &self.files {
            let path = &file.path;
            let left = self.pages(file).make_small();
            let left = left.map_err(|error| format!("{}: {error}", path.display()))?;
            if left > 0 {
                return Err(format!(
                    "{} of {} stay in huge pages of the page cache{}",
                    bytes_text(left),
                    path.display(),
                    in_use(path)
                ));
            }
        }
        Ok(())
    }

    /// Returns the bytes of code in huge pages now. Pages outside the page cache are read from disk.
    ///
    /// # Errors
    /// A sentence: the kernel reported an error.
    pub fn huge_bytes(&self) -> Result<u64, String> {
        let counts = self.files.iter().map(|file| {
            let counted = self.pages(file).read_and_count();
            counted.map_err(|error| format!("{}: {error}", file.path.display()))
        });
        counts.sum()
    }

    fn pages<'a>(&self, file: &'a CodeFile) -> Pages<'a> {
        Pages {
            file: &file.file,
            stretches: &file.stretches,
            block: self.block,
        }
    }

    fn refusal(&self, file: &CodeFile, small: u64, error: Option<i32>) -> String {
        let path = &file.path;
        let in_use = in_use(path);
        let why = match (in_use.is_empty(), error) {
            (false, _) => in_use,
            (true, Some(libc::EINVAL)) => {
                ": this kernel makes no huge pages for files on this file \
                system; ext4 can have them from Linux 6.16, xfs from 5.18, all that can have large \
                folios from 7.2, and others with CONFIG_READ_ONLY_THP_FOR_FS"
                    .to_owned()
            }
            (true, Some(error)) => {
                let error = std::io::Error::from_raw_os_error(error);
                format!(": {error} (MADV_COLLAPSE)")
            }
            (true, None) => String::new(),
        };
        format!(
            "{} of the code of {} stay in small pages{why}",
            bytes_text(small),
            path.display()
        )
    }
}

/// Returns who maps a file, as the end of a sentence: its pages cannot be evicted. Empty if no process is visible that
/// does.
fn in_use(path: &Path) -> String {
    const MOST: usize = 3;
    let users = users(path);
    if users.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = users.iter().take(MOST).map(u32::to_string).collect();
    let more = if users.len() > MOST {
        " and others"
    } else {
        ""
    };
    format!(
        ", because running programs map the file (PID {}{more}); end them first",
        shown.join(", ")
    )
}

/// Returns the visible processes that map a file, except this one.
fn users(path: &Path) -> Vec<u32> {
    let root = Root::real();
    let own = std::process::id();
    let names = root.list("proc").unwrap_or_default().into_iter();
    let pids = names.filter_map(|name| name.parse().ok());
    let maps_it = |pid: &u32| {
        let mappings = maps::read(&root, *pid);
        mappings.iter().any(|it| Path::new(&it.name) == path)
    };
    pids.filter(|pid| *pid != own).filter(maps_it).collect()
}

/// Whole blocks of the code of one file, as neighbouring ranges of the file.
type Stretches = Vec<Range<u64>>;

/// A file, and the reason why its code stays in small pages.
fn obstacle(path: &Path, why: &str) -> String {
    format!("{} {why}", path.display())
}

/// Returns the real path of a file: mappings name it.
fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}
