//! How the program ends: exit codes, and the errors that choose them.

use std::fmt;
use std::process::ExitCode;

/// Exit codes, as the manual lists them.
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
    /// The number.
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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error that knows how the program should end.
#[derive(Debug)]
pub struct Fault {
    exit: Exit,
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The user typed something wrong.
pub fn usage(message: impl fmt::Display) -> anyhow::Error {
    Fault {
        exit: Exit::Usage,
        message: message.to_string(),
    }
    .into()
}

/// The machine cannot do what was required.
pub fn refused(message: impl fmt::Display) -> anyhow::Error {
    Fault {
        exit: Exit::Refused,
        message: message.to_string(),
    }
    .into()
}

/// A signal ended it before there was anything to report.
pub fn interrupted(message: impl fmt::Display) -> anyhow::Error {
    Fault {
        exit: Exit::Interrupted,
        message: format!("interrupted: {message}"),
    }
    .into()
}

/// A command of the experiment failed before anything could be measured.
pub fn trial_failed(message: impl fmt::Display) -> anyhow::Error {
    Fault {
        exit: Exit::TrialFailed,
        message: message.to_string(),
    }
    .into()
}

/// How the program ends for an error.
pub fn of(error: &anyhow::Error) -> Exit {
    error
        .downcast_ref::<Fault>()
        .map_or(Exit::Internal, |fault| fault.exit)
}
