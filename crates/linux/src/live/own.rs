//! The means by which this kernel splits a huge page from outside, found on our own memory.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hugewise_experiment::run::stats::median;

use super::member::Member;
use super::switch::Pages;
use crate::machine::fresh_memory::FreshMemory;
use crate::machine::root::Root;
use crate::observe::collapse::Unusable;

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

/// Finds the means that splits a huge page of our own memory and lets it become huge again.
///
/// # Errors
/// Why none does.
pub fn find_split(root: &Root, page_bytes: u64, huge_bytes: u64) -> Result<SplitMeans, NoSplit> {
    let block = OwnBlock::new(huge_bytes).ok_or_else(no_memory)?;
    let file = Arc::new(DebugFile(root.path("sys/kernel/debug/split_huge_pages")));
    for means in [SplitMeans::Cold, SplitMeans::Debugfs(file)] {
        let own = Member::open(std::process::id(), page_bytes, huge_bytes, means.clone());
        let own = own.map_err(|it| refused(&it))?;
        if splits(&own, block.start)? {
            return Ok(means);
        }
    }
    Err(NoSplit::NotSplit)
}

/// Seconds that switching a block takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchPrice {
    /// To a huge page.
    pub to_huge: f64,
    /// To small ones.
    pub to_small: f64,
}

/// Measures the price on blocks of our own.
///
/// # Errors
/// As [`find_split`].
pub fn switch_price(root: &Root, page_bytes: u64, huge_bytes: u64) -> Result<SwitchPrice, NoSplit> {
    /// The median of several blocks: one may meet a busy moment.
    const BLOCKS: usize = 8;
    let means = find_split(root, page_bytes, huge_bytes)?;
    let blocks: Option<Vec<OwnBlock>> = (0..BLOCKS).map(|_| OwnBlock::new(huge_bytes)).collect();
    let blocks = blocks.ok_or_else(no_memory)?;
    let own = Member::open(std::process::id(), page_bytes, huge_bytes, means)
        .map_err(|it| refused(&it))?;
    let mut times = [Vec::new(), Vec::new()];
    for block in &blocks {
        let began = Instant::now();
        make_huge(&own, block.start)?;
        times[0].push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let split = own.split(&[block.start]);
        times[1].push(began.elapsed().as_secs_f64());
        split.map_err(|_| NoSplit::NotSplit)?;
    }
    let [to_huge, to_small] = times.map(|it| median(&it).unwrap_or_default());
    Ok(SwitchPrice { to_huge, to_small })
}

fn no_memory() -> NoSplit {
    NoSplit::NoHugePage {
        why: "no memory".to_owned(),
    }
}

fn refused(unusable: &Unusable) -> NoSplit {
    NoSplit::Refused {
        why: unusable.to_string(),
    }
}

/// Returns true if a block becomes huge, then small, then huge again.
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
            Err(error) => format!(
                "MADV_COLLAPSE: {}",
                crate::machine::error::name_of_number(error)
            ),
        },
    })
}

/// One block of written memory.
struct OwnBlock {
    start: u64,
    /// Holds the block.
    _memory: FreshMemory,
}

impl OwnBlock {
    fn new(huge_bytes: u64) -> Option<Self> {
        let huge = usize::try_from(huge_bytes).ok()?;
        let memory = FreshMemory::new(huge.checked_mul(2)?).ok()?;
        let start = memory.aligned(huge);
        // SAFETY: the memory has twice the size of the aligned block, and nobody else uses it.
        unsafe { start.write_bytes(1, huge) };
        Some(Self {
            start: start as u64,
            _memory: memory,
        })
    }
}
