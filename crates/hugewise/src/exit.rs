//! Errors that determine the exit code.

use std::fmt;

pub use hugewise_base::exit::Exit;
use hugewise_base::plain::{plain, plain_lines};

/// An error with its exit code.
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
    fault(Exit::Usage, message)
}

/// There is no process with that PID.
pub fn no_process(pid: u32) -> anyhow::Error {
    usage(format!("there is no process {pid}"))
}

/// The machine cannot do something that was required.
pub fn refused(message: impl fmt::Display) -> anyhow::Error {
    fault(Exit::Refused, message)
}

/// Another experiment has the machine.
pub fn busy(message: impl fmt::Display) -> anyhow::Error {
    fault(Exit::Busy, message)
}

/// A signal ended it before there was anything to report.
pub fn interrupted(message: impl fmt::Display) -> anyhow::Error {
    fault(Exit::Interrupted, format_args!("interrupted: {message}"))
}

/// A command of the experiment failed before anything could be measured.
pub fn trial_failed(message: impl fmt::Display) -> anyhow::Error {
    fault(Exit::TrialFailed, message)
}

/// An error of several lines. Quoted text must not add line breaks to it.
pub fn lines(exit: Exit, message: impl fmt::Display) -> anyhow::Error {
    let message = plain_lines(&message.to_string()).into_owned();
    Fault { exit, message }.into()
}

/// An error of one line, whatever it quotes.
fn fault(exit: Exit, message: impl fmt::Display) -> anyhow::Error {
    let message = plain(&message.to_string());
    Fault { exit, message }.into()
}

/// The exit code for an error.
pub fn of(error: &anyhow::Error) -> Exit {
    error
        .downcast_ref::<Fault>()
        .map_or(Exit::Internal, |fault| fault.exit)
}
