//! Blocks made huge or small, a few in a call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hugewise_live::{Call, Hold, Longest, Pace};

use super::room::Short;
use super::urgent::Urgent;
use crate::machine::error::name_of_number;

/// The pages of another process.
pub trait Pages {
    /// Splits the huge pages of blocks, by their addresses. Returns how many from the first on were advised.
    ///
    /// # Errors
    /// The number of the error, if none was.
    fn split(&self, starts: &[u64]) -> Result<usize, i32>;

    /// Makes neighbouring blocks huge.
    ///
    /// # Errors
    /// The number of the error; some blocks may be huge nevertheless.
    fn collapse(&self, starts: &[u64]) -> Result<(), i32>;

    /// Returns the huge ones of these blocks, in order.
    fn huge(&self, starts: &[u64]) -> Vec<u64>;

    /// Returns true while the process and its memory are there.
    fn lives(&self) -> bool;
}

/// Watches free memory while blocks become huge.
pub trait Watch {
    /// Checks that so many more blocks can become huge without work for the kernel.
    ///
    /// # Errors
    /// Why not.
    fn check(&mut self, blocks: u64) -> Result<(), Short>;
}

/// The work on the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// They become huge.
    Collapse,
    /// They become small.
    Split,
}

impl Work {
    /// Returns how long a call of this work holds the address space.
    #[must_use]
    pub fn hold(self) -> Hold {
        match self {
            Self::Collapse => Hold::BlockByBlock,
            Self::Split => Hold::Throughout,
        }
    }
}

/// Why a switch ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It was asked to.
    Interrupted,
    /// The process ended or became another program.
    Ended,
    /// Free memory is short.
    Short(Short),
}

/// The result of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switched {
    /// Blocks that needed the switch.
    pub asked: usize,
    /// Blocks that still need it, with the kernel's error, if it gave one.
    pub refused: BTreeMap<u64, Option<String>>,
    /// Time that it took.
    pub took: Duration,
    /// The longest call and hold.
    pub longest: Longest,
}

/// After so many blocks free memory is looked at again.
const BETWEEN_LOOKS: usize = 32;

/// Makes all blocks huge or small, in ascending order. Blocks that need no switch stay untouched.
///
/// # Errors
/// Why it ended before all had their turn; some are switched then.
pub fn switch(
    pages: &impl Pages,
    work: Work,
    blocks: &[u64],
    huge_bytes: u64,
    pace: &mut Pace,
    watch: &mut impl Watch,
    stop: &AtomicBool,
) -> Result<Switched, Halt> {
    let began = Instant::now();
    let _urgent = Urgent::begin();
    pace.begin();
    let todo = todo(pages, work, blocks);
    let mut job = Job {
        pages,
        pace,
        stop,
        errors: BTreeMap::new(),
    };
    for part in todo.chunks(BETWEEN_LOOKS) {
        job.may_go_on()?;
        match work {
            Work::Split => job.split(part)?,
            Work::Collapse => {
                watch.check(part.len() as u64).map_err(Halt::Short)?;
                job.collapse(part, huge_bytes)?;
            }
        }
    }
    let errors = job.errors;
    let left = self::todo(pages, work, &todo);
    if !pages.lives() {
        return Err(Halt::Ended);
    }
    let refused = left.into_iter().map(|start| {
        let error = errors.get(&start).copied();
        (start, error.map(name_of_number))
    });
    Ok(Switched {
        asked: todo.len(),
        refused: refused.collect(),
        took: began.elapsed(),
        longest: pace.longest(),
    })
}

/// Returns the blocks that need the switch.
fn todo(pages: &impl Pages, work: Work, blocks: &[u64]) -> Vec<u64> {
    let huge = pages.huge(blocks);
    match work {
        Work::Split => huge,
        Work::Collapse => {
            let is_small = |start: &&u64| huge.binary_search(start).is_err();
            blocks.iter().filter(is_small).copied().collect()
        }
    }
}

struct Job<'a, P> {
    pages: &'a P,
    pace: &'a mut Pace,
    stop: &'a AtomicBool,
    errors: BTreeMap<u64, i32>,
}

impl<P: Pages> Job<'_, P> {
    fn may_go_on(&self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Halt::Interrupted);
        }
        match self.pages.lives() {
            true => Ok(()),
            false => Err(Halt::Ended),
        }
    }

    /// Times a call of so many blocks.
    fn call<T>(&mut self, blocks: usize, call: impl FnOnce(&P) -> T) -> T {
        let began = Instant::now();
        let result = call(self.pages);
        let took = began.elapsed();
        self.pace.learn(Call { blocks, took });
        result
    }

    fn split(&mut self, mut starts: &[u64]) -> Result<(), Halt> {
        while !starts.is_empty() {
            self.may_go_on()?;
            let (now, _) = starts.split_at(self.pace.blocks().min(starts.len()));
            let done = match self.call(now.len(), |pages| pages.split(now)) {
                Ok(done) if done > 0 => done.min(now.len()),
                Ok(_) => 1,
                Err(error) => {
                    self.errors.insert(now[0], error);
                    1
                }
            };
            starts = &starts[done..];
        }
        Ok(())
    }

    fn collapse(&mut self, starts: &[u64], huge: u64) -> Result<(), Halt> {
        for neighbours in starts.chunk_by(|a, b| a.checked_add(huge) == Some(*b)) {
            let mut left = neighbours;
            while !left.is_empty() {
                self.may_go_on()?;
                let (now, later) = left.split_at(self.pace.blocks().min(left.len()));
                left = later;
                if let Err(error) = self.call(now.len(), |pages| pages.collapse(now)) {
                    self.again(now, error)?;
                }
            }
        }
        Ok(())
    }

    /// Tries blocks alone, because the error of several belongs to one of them.
    fn again(&mut self, starts: &[u64], error: i32) -> Result<(), Halt> {
        if let [alone] = starts {
            self.errors.insert(*alone, error);
            return Ok(());
        }
        for start in todo(self.pages, Work::Collapse, starts) {
            self.may_go_on()?;
            if let Err(error) = self.call(1, |pages| pages.collapse(&[start])) {
                self.errors.insert(start, error);
            }
        }
        Ok(())
    }
}
