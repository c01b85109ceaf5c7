//! How the program ends: one table of exit codes, for the program, its manual and the documents.

use std::process::ExitCode;

use strum::VariantArray;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Something failed that is neither the user's nor the workload's doing.
    Internal = 1,
    /// The command line or a file that it names is wrong.
    Usage = 2,
    /// A trial failed; the report says which and how.
    TrialFailed = 3,
    /// Not possible on this machine.
    Refused = 4,
    /// A `--fail-if` condition holds, `advise --check` found a rule that is not followed, or `doctor --verify-counters`
    /// a wrong event.
    Gate = 5,
    /// Another experiment has the machine.
    Busy = 6,
    /// With `--strict`: something about the result is in doubt.
    Doubtful = 7,
    /// A signal ended the experiment early; what was measured is reported.
    Interrupted = 130,
}

impl Exit {
    /// All of them, by their numbers.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in a line.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Internal => "internal error: please report it",
            Self::Usage => "the command line, or a file that it names, is wrong",
            Self::TrialFailed => {
                "a trial failed, or --latency was read in none; the report says which and how"
            }
            Self::Refused => "not possible on this machine",
            Self::Gate => {
                "a --fail-if condition holds, advise --check found a rule that is not followed, or doctor --verify-counters a wrong event"
            }
            Self::Busy => "another experiment has the machine; --wait TIME waits for it",
            Self::Doubtful => {
                "--strict: the control failed or is inconclusive, a policy was not applied, or the result or a --fail-if is not decided"
            }
            Self::Interrupted => "a signal ended the run; what was measured is reported",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
