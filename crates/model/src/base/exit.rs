//! How the program ends: one table of exit codes, for the program, its manual and the documents.

use std::process::ExitCode;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Something failed that is neither the user's nor the workload's doing.
    Internal,
    /// The command line or a file that it names is wrong.
    Usage,
    /// A trial failed; the report says which and how.
    TrialFailed,
    /// Not possible on this machine, or another experiment is running.
    Refused,
    /// A `--fail-if` condition holds.
    Gate,
    /// A signal ended the experiment early; what was measured is reported.
    Interrupted,
}

impl Exit {
    /// All of them, by their numbers.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Internal,
        Self::Usage,
        Self::TrialFailed,
        Self::Refused,
        Self::Gate,
        Self::Interrupted,
    ];

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::TrialFailed => 3,
            Self::Refused => 4,
            Self::Gate => 5,
            Self::Interrupted => 130,
        }
    }

    /// What it means, in a line.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Internal => "internal error: please report it",
            Self::Usage => "the command line, or a file that it names, is wrong",
            Self::TrialFailed => "a trial failed; the report says which and how",
            Self::Refused => "not possible on this machine, or another experiment is running",
            Self::Gate => "a --fail-if condition holds",
            Self::Interrupted => "a signal ended the run; what was measured is reported",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
