//! The exit codes: one table for the program, its manual and the documents.

use std::process::ExitCode;

use strum::VariantArray;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// An internal failure, caused neither by the user nor by the workload.
    Internal = 1,
    /// The command line, or a file that it names, is wrong.
    Usage = 2,
    /// A trial failed; the report names the trial and the reason.
    TrialFailed = 3,
    /// Not possible on this machine.
    Refused = 4,
    /// A `--fail-if` condition holds, `advise --check` found a violated rule, or `doctor --verify-counters` a wrong
    /// event.
    Gate = 5,
    /// Another experiment is using the machine.
    Busy = 6,
    /// With `--strict`: the result is in doubt.
    Doubtful = 7,
    /// A signal ended the experiment early; the results so far are reported.
    Interrupted = 130,
}

impl Exit {
    /// All codes, in numeric order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the meaning, in one line.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Internal => "internal error: please report it",
            Self::Usage => "the command line, or a file that it names, is wrong",
            Self::TrialFailed => {
                "a trial failed, or --latency found no value in any trial; see the report"
            }
            Self::Refused => "not possible on this machine",
            Self::Gate => {
                "a --fail-if condition holds, advise --check found a violated rule, or doctor --verify-counters a wrong event"
            }
            Self::Busy => "another experiment has the machine; --wait TIME waits for it",
            Self::Doubtful => {
                "--strict: the control failed or is inconclusive, a policy was not applied, or the result or a --fail-if is not decided"
            }
            Self::Interrupted => "a signal ended the run; the results so far are reported",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
