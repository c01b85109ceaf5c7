//! A thread of a traced tree.

use super::call::Call;
use super::range::Range;
use crate::spawn::registers::OwnState;

/// Where a thread stands.
#[derive(Debug)]
pub(super) enum Step {
    /// It runs its own program.
    Own,
    /// It makes a call whose result matters; of one that moves memory, the address before.
    Calling(Call, u64),
    /// It has run exec(2), and has memory of its program to advise, at the end of a call of its
    /// own: so many stops at calls come before.
    Executing(u8),
    /// It makes a call of ours.
    Advising { own: Box<OwnState>, entered: bool },
}

/// A thread of a traced tree.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) process: i32,
    pub(super) step: Step,
    /// Ranges that are still to be advised.
    pub(super) ranges: Vec<Advised>,
}

/// A range and what it is advised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advised {
    pub(super) range: Range,
    pub(super) advice: libc::c_int,
}
