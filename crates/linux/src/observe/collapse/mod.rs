//! `process_madvise(MADV_COLLAPSE)` on a running process, with proof.
//!
//! The call drains every processor's list of fresh pages once (lru_add_drain_all), which costs
//! more than making a huge page. So neighbouring ranges go into one call first; whatever is not
//! huge afterwards is tried once more alone, because only then does the error number, and the
//! event that the kernel gives, belong to that range.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hugewise_observe::collapse::{Attempt, End, Plan, RangeOutcome, Refusal};

use crate::machine::error::name_of_number;

mod reasons;
mod target;

pub use reasons::KernelReasons;
#[cfg(feature = "live")]
pub(crate) use target::{Advice, advise};
pub use target::{CollapseTarget, Unusable};

/// At most so many ranges in one call: an interrupt waits for no more than one.
const RANGES_PER_CALL: usize = 32;

/// So many refusals in a row for want of memory are enough.
const ENOUGH_REFUSALS: u32 = 3;

/// Collapses memory of another process.
pub trait Advise {
    /// Makes the stretch huge, or some of it, or nothing: see the return value's worth above.
    ///
    /// # Errors
    /// The number of the error, one for the whole stretch.
    fn collapse(&self, stretch: Range<u64>) -> Result<(), i32>;
}

/// Reads the state of a range again.
pub trait Reread {
    /// How the range is mapped now.
    fn state(&self, range: Range<u64>) -> MappingState;
}

/// Checks whether memory is mapped.
pub trait Covers {
    /// Whether the range is mapped, without a hole.
    fn is_mapped(&self, range: Range<u64>) -> bool;
}

/// Checks whether the process still has the address space that was planned for.
pub trait Lives {
    /// What has become of its memory.
    fn life(&self) -> Life;
}

/// Reports the kernel's reasons besides the error number.
pub trait Reasons {
    /// Drops the reasons so far.
    fn forget(&mut self);
    /// The status of the one range that was tried since.
    fn status(&mut self) -> Option<String>;
}

/// How a range is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingState {
    /// By a PMD, to memory and not to the huge zero page.
    Huge,
    /// By small pages, or to the huge zero page, or not at all.
    Small,
    /// There is no page scan that could tell.
    Unknown,
}

/// Whether a process and its memory are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Both are.
    Same,
    /// It became another program: its memory is a new one.
    Replaced,
    /// It ended.
    Ended,
}

/// Makes the ranges of a plan huge, one stretch after another, until all had their turn or
/// `stop` is set. `progress` receives the number of ranges that had their turn.
pub fn collapse(
    target: &(impl Advise + Reread + Covers + Lives),
    plan: &Plan,
    reasons: &mut impl Reasons,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(usize),
) -> Attempt {
    let mut work = Work {
        target,
        reasons,
        stop,
        huge: plan.huge_bytes,
        fates: Vec::with_capacity(plan.ranges.len()),
        short: 0,
        in_calls: Duration::ZERO,
    };
    let mut ended = End::Finished;
    let starts: Vec<u64> = plan.ranges.iter().map(|range| range.start).collect();
    for stretch in stretches(&starts, plan.huge_bytes) {
        if let Err(why) = work.stretch(stretch) {
            ended = why;
            break;
        }
        progress(work.fates.len());
    }
    Attempt {
        fates: work.fates,
        ended,
        call_seconds: work.in_calls.as_secs_f64(),
    }
}

/// Neighbouring ranges together, at most [`RANGES_PER_CALL`] of them.
fn stretches(starts: &[u64], huge: u64) -> impl Iterator<Item = &[u64]> {
    starts
        .chunk_by(move |a, b| a.checked_add(huge) == Some(*b))
        .flat_map(|neighbours| neighbours.chunks(RANGES_PER_CALL))
}

struct Work<'a, T, R> {
    target: &'a T,
    reasons: &'a mut R,
    stop: &'a AtomicBool,
    huge: u64,
    fates: Vec<(u64, RangeOutcome)>,
    /// Refusals in a row for want of memory.
    short: u32,
    in_calls: Duration,
}

impl<T: Advise + Reread + Covers + Lives, R: Reasons> Work<'_, T, R> {
    fn stretch(&mut self, starts: &[u64]) -> Result<(), End> {
        self.may_go_on()?;
        if let ([first, .., last], true) = (starts, starts.len() > 1) {
            self.call(*first..last + self.huge)?;
        }
        for &start in starts {
            let fate = self.range(start)?;
            self.short = match &fate {
                RangeOutcome::Refused(refusal) if refusal.is_want_of_memory() => self.short + 1,
                _ => 0,
            };
            self.fates.push((start, fate));
            if self.short >= ENOUGH_REFUSALS {
                return Err(End::NoMemory {
                    refusals: self.short,
                });
            }
        }
        Ok(())
    }

    /// The fate of one range, which is tried alone unless it is huge by now.
    fn range(&mut self, start: u64) -> Result<RangeOutcome, End> {
        let range = start..start + self.huge;
        if self.target.state(range.clone()) == MappingState::Huge {
            return Ok(RangeOutcome::Made);
        }
        self.may_go_on()?;
        self.reasons.forget();
        let error = self.call(range.clone())?;
        let state = self.target.state(range.clone());
        let status = self.reasons.status();
        // A hole gives the error of a want of memory, and the kernel does not even look at it.
        let may_be_hole = error == Some(libc::ENOMEM) && status.is_none();
        let is_hole = may_be_hole && !self.target.is_mapped(range);
        // What the process does meanwhile must not be told as a refusal.
        self.same_process()?;
        Ok(match (state, error) {
            (MappingState::Huge, _) => RangeOutcome::Made,
            (MappingState::Unknown, None) => RangeOutcome::Claimed,
            _ if is_hole => RangeOutcome::Gone,
            (MappingState::Small | MappingState::Unknown, error) => {
                RangeOutcome::Refused(Refusal {
                    error: error.map_or_else(|| "none".to_owned(), name_of_number),
                    status,
                })
            }
        })
    }

    fn may_go_on(&self) -> Result<(), End> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(End::Interrupted);
        }
        self.same_process()
    }

    fn same_process(&self) -> Result<(), End> {
        match self.target.life() {
            Life::Same => Ok(()),
            Life::Replaced => Err(End::BecameAnother),
            Life::Ended => Err(End::ProcessEnded),
        }
    }

    /// One call; its error number, unless the error is about the whole process.
    fn call(&mut self, stretch: Range<u64>) -> Result<Option<i32>, End> {
        let began = Instant::now();
        let result = self.target.collapse(stretch);
        self.in_calls += began.elapsed();
        match result {
            Ok(()) => Ok(None),
            Err(libc::ESRCH) => Err(End::ProcessEnded),
            Err(error @ (libc::EPERM | libc::EACCES)) => Err(End::NotPermitted {
                grant: target::grant(error).to_owned(),
            }),
            Err(error) => Ok(Some(error)),
        }
    }
}

#[cfg(test)]
mod tests;
