//! Whether and how this kernel splits a huge page from outside, found by trying on memory of our own.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::member::Member;
use super::switch::Pages;
use crate::machine::root::Root;

/// How huge pages are split.
#[derive(Clone, Debug)]
pub enum SplitMeans {
    /// `MADV_COLD` on one base page of each.
    Cold,
    /// The file `split_huge_pages` of debugfs.
    Debugfs(Arc<DebugFile>),
}

/// `split_huge_pages` of debugfs (mm/huge_memory.c): `PID,START,END` splits the huge pages in a span.
#[derive(Debug)]
pub struct DebugFile(PathBuf);

impl DebugFile {
    /// Splits blocks, one write each.
    pub(super) fn split(&self, pid: u32, starts: &[u64], huge_bytes: u64) -> Result<usize, i32> {
        for (done, start) in starts.iter().enumerate() {
            let line = format!("{pid},{start:#x},{:#x}", start + huge_bytes);
            if let Err(error) = self.write(&line) {
                return match done {
                    0 => Err(error.raw_os_error().unwrap_or(libc::EIO)),
                    _ => Ok(done),
                };
            }
        }
        Ok(starts.len())
    }

    fn write(&self, line: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.0)?;
        file.write_all(line.as_bytes())
    }
}

/// Why huge pages cannot be split and made from outside here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSplit {
    /// No huge page could be made to try on.
    #[error("no huge page could be made of our own memory to try on ({why})")]
    NoHugePage {
        /// Why.
        why: String,
    },
    /// The kernel refuses us, even for our own memory.
    #[error("{why}")]
    Refused {
        /// What to grant.
        why: String,
    },
    /// Neither means splits.
    #[error(
        "this kernel splits no huge page from outside: MADV_COLD on a part of one leaves it whole, and \
         split_huge_pages of debugfs is not there or may not be written"
    )]
    NotSplit,
}

/// Finds the means that splits a huge page of our own, and makes sure that it can be made huge again.
///
/// # Errors
/// Why none does.
pub fn find_split(root: &Root, page_bytes: u64, huge_bytes: u64) -> Result<SplitMeans, NoSplit> {
    let block = OwnBlock::new(huge_bytes).ok_or_else(|| NoSplit::NoHugePage {
        why: "no memory".to_owned(),
    })?;
    let file = Arc::new(DebugFile(root.path("sys/kernel/debug/split_huge_pages")));
    for means in [SplitMeans::Cold, SplitMeans::Debugfs(file)] {
        let own = Member::open(std::process::id(), page_bytes, huge_bytes, means.clone());
        let own = own.map_err(|unusable| NoSplit::Refused {
            why: unusable.to_string(),
        })?;
        if splits(&own, block.start)? {
            return Ok(means);
        }
    }
    Err(NoSplit::NotSplit)
}

/// Whether a block becomes huge, then small, then huge again.
fn splits(own: &Member, start: u64) -> Result<bool, NoSplit> {
    make_huge(own, start)?;
    let is_small = own.split(&[start]).is_ok() && own.huge(&[start]).is_empty();
    if is_small {
        make_huge(own, start)?;
    }
    Ok(is_small)
}

fn make_huge(own: &Member, start: u64) -> Result<(), NoSplit> {
    let made = own.collapse(&[start]);
    if own.huge(&[start]) == [start] {
        return Ok(());
    }
    Err(NoSplit::NoHugePage {
        why: match made {
            Ok(()) => "the page map does not show it".to_owned(),
            Err(error) => format!("MADV_COLLAPSE: {}", crate::machine::error::name_of_number(error)),
        },
    })
}

/// One block of written memory.
struct OwnBlock {
    start: u64,
    base: *mut libc::c_void,
    bytes: usize,
}

impl OwnBlock {
    fn new(huge_bytes: u64) -> Option<Self> {
        let huge = usize::try_from(huge_bytes).ok()?;
        let bytes = huge.checked_mul(2)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping, which overlaps nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let start = base.addr().next_multiple_of(huge);
        let block = Self {
            start: start as u64,
            base,
            bytes,
        };
        // SAFETY: the aligned block lies inside the mapping of twice its size; nobody else uses it.
        unsafe { base.with_addr(start).cast::<u8>().write_bytes(1, huge) };
        Some(block)
    }
}

impl Drop for OwnBlock {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nothing refers to any more.
        unsafe { libc::munmap(self.base, self.bytes) };
    }
}
