//! A thread of a traced tree.

use super::call::Call;
use super::range::Range;
use crate::spawn::registers::OwnState;

/// The current step of a thread.
#[derive(Debug)]
pub(super) enum Step {
    /// It is running its own program.
    Own,
    /// It is making a call whose result is needed; contains the old address if the call moves memory.
    Calling(Call, u64),
    /// It has called exec(2), and the memory of its program is to be advised at the end of its next call; contains the
    /// number of stops before that.
    Executing(u8),
    /// It is making an injected call.
    Advising { own: Box<OwnState>, entered: bool },
}

/// A thread of a traced tree.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) process: i32,
    pub(super) step: Step,
    /// Ranges still to be advised.
    pub(super) ranges: Vec<Advised>,
}

/// A range and its advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advised {
    pub(super) range: Range,
    pub(super) advice: libc::c_int,
}
