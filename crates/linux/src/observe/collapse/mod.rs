//! Calls `process_madvise(MADV_COLLAPSE)` on a running process, and verifies the result.
//!
//! Each call drains every processor's list of fresh pages (lru_add_drain_all), which costs more than creating a huge
//! page. So neighbouring ranges first share one call. Each range that is still small is then tried in a separate call,
//! because only then do the error number and the kernel's trace event belong to that range.

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

/// The maximum number of ranges per call: an interrupt waits for one call at most.
const RANGES_PER_CALL: usize = 32;

/// The number of consecutive out-of-memory errors after which collapsing stops.
const ENOUGH_REFUSALS: u32 = 3;

/// Collapses memory of another process.
pub trait Advise {
    /// Makes all, part or none of the stretch huge: see above for how far the return value can be trusted.
    ///
    /// # Errors
    /// The error number, one for the whole stretch.
    fn collapse(&self, stretch: Range<u64>) -> Result<(), i32>;
}

/// Reads the state of a range again.
pub trait Reread {
    /// Returns how the range is mapped now.
    fn state(&self, range: Range<u64>) -> MappingState;
}

/// Checks whether memory is mapped.
pub trait Covers {
    /// Returns true if the range is mapped without a hole.
    fn is_mapped(&self, range: Range<u64>) -> bool;
}

/// Checks whether the process still has the address space for which the plan was made.
pub trait Lives {
    /// Returns the current state of its memory.
    fn life(&self) -> Life;
}

/// Reports the kernel's reasons, in addition to the error number.
pub trait Reasons {
    /// Discards the reasons so far.
    fn forget(&mut self);
    /// Returns the status of the only range tried since the last call of `forget`.
    fn status(&mut self) -> Option<String>;
}

/// How a range is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingState {
    /// By a PMD, to memory other than the huge zero page.
    Huge,
    /// By small pages or the huge zero page, or not at all.
    Small,
    /// The kernel has no page scan.
    Unknown,
}

/// The state of a process and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Both exist.
    Same,
    /// The process executed another program, and has a new address space.
    Replaced,
    /// It ended.
    Ended,
}

/// Collapses the ranges of a plan, one stretch after another, until all were tried or `stop` is set. `progress`
/// receives the number of ranges tried so far.
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

/// Groups neighbouring ranges, at most [`RANGES_PER_CALL`] each.
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
    /// The number of consecutive out-of-memory errors.
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

    /// Returns the outcome of one range; tries it in a separate call unless it is huge already.
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
        // A hole also gives ENOMEM, and the kernel does not even scan it.
        let may_be_hole = error == Some(libc::ENOMEM) && status.is_none();
        let is_hole = may_be_hole && !self.target.is_mapped(range);
        // A change of the process must not be reported as a refusal.
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

    /// Makes one call; returns its error number, or ends if the error concerns the whole process.
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
