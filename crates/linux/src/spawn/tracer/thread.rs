//! A thread of a traced tree, and what it had before it made a call of the tracer's.

use std::io;

use super::Range;
use super::filter::Call;
use super::registers::{Registers, SignalMask};

/// Where a thread stands.
#[derive(Debug)]
pub(super) enum Step {
    /// It runs its own program.
    Own,
    /// It makes a call whose result matters.
    Calling(Call),
    /// It has run exec(2), and has memory of its program to advise, at the end of a call of its
    /// own: so many stops at calls come before.
    Executing(u8),
    /// It makes a call of ours.
    Advising { own: Box<OwnState>, entered: bool },
}

/// What a thread had before it made a call of ours.
#[derive(Debug)]
pub(super) struct OwnState {
    pub(super) registers: Registers,
    mask: SignalMask,
}

impl OwnState {
    pub(super) fn read(thread: i32) -> io::Result<Self> {
        Ok(Self {
            registers: Registers::read(thread)?,
            mask: SignalMask::read(thread)?,
        })
    }

    /// A thread that was killed meanwhile has nothing to put back.
    pub(super) fn put_back(self, thread: i32) {
        let _ = self.registers.write(thread);
        let _ = self.mask.write(thread);
    }
}

/// A thread of a traced tree.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) process: i32,
    pub(super) step: Step,
    /// Ranges that are still to be advised.
    pub(super) ranges: Vec<Range>,
}
