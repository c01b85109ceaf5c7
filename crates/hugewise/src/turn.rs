//! Takes turns with other experiments on the machine.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_base::units::{parse_duration, rough};
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::{self, Purpose, Settings, Turn};
use hugewise_linux::proc::pid_stat::read_age;
use hugewise_linux::proc::process::read_command_line;
use hugewise_text::wrap::{plain, shortened};

use crate::stderr::message;
use crate::{exit, left_over};

/// How long to wait for another experiment on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most this long.
    UpTo(Duration),
}

impl Wait {
    /// The default: on a terminal the user sees who holds the machine and can decide.
    fn usual() -> Self {
        match stderr().is_terminal() {
            true => Self::UpTo(Duration::MAX),
            false => Self::No,
        }
    }

    fn limit(self) -> Duration {
        match self {
            Self::No => Duration::ZERO,
            Self::UpTo(time) => time,
        }
    }
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "no" => Ok(Self::No),
            _ => parse_duration(text)
                .map(Self::UpTo)
                .map_err(|_| format!("`{text}` is no time to wait; write 10m, or no")),
        }
    }
}

/// Takes the machine and calls `read` for the state that depends on it. Reads the state again after a wait, because the
/// experiment before may have changed settings or been killed.
///
/// # Errors
/// Those of `read`; another experiment still has the machine; a lock cannot be opened.
pub fn take_with<T>(
    purpose: Purpose,
    wait: Option<Wait>,
    read: impl Fn() -> Result<T>,
) -> Result<(Turn, T)> {
    let root = Root::real();
    left_over::put_back(&root)?;
    let before = read()?;
    let (turn, waited) = take(purpose, wait)?;
    if waited == Waited::No {
        return Ok((turn, before));
    }
    if let Settings::Ours(hold) = &turn.settings {
        left_over::put_back_under(hold, &root)?;
    }
    let after = read()?;
    Ok((turn, after))
}

/// Whether another experiment had the machine first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// No.
    No,
    /// Yes.
    Yes,
}

/// Takes the machine, and waits for it if asked.
///
/// # Errors
/// Another experiment still has the machine; a lock cannot be opened.
pub fn take(purpose: Purpose, wait: Option<Wait>) -> Result<(Turn, Waited)> {
    const LOOK: Duration = Duration::from_millis(100);
    let (began, limit) = (Instant::now(), wait.unwrap_or_else(Wait::usual).limit());
    let (mut told, mut waited) = (None, Waited::No);
    loop {
        let error = match turn::take(purpose) {
            Ok(turn) => return Ok((announced(turn), waited)),
            Err(error) => error,
        };
        let Kind::Busy { holder } = error.kind else {
            return Err(error.into());
        };
        if began.elapsed() >= limit {
            return Err(refusal(holder));
        }
        if told != Some(holder) {
            told = Some(holder);
            message(format_args!(
                "waiting for {}; Ctrl-C gives up",
                Holder(holder)
            ));
        }
        waited = Waited::Yes;
        std::thread::sleep(LOOK);
    }
}

/// Reports which other experiments run.
fn announced(turn: Turn) -> Turn {
    if let Some(beside) = turn.beside {
        message(format_args!(
            "{} holds the lock of ordinary users, which does not stop root; if it measures too, \
             both are disturbed",
            Holder(Some(beside))
        ));
    }
    turn
}

fn refusal(holder: Option<u32>) -> anyhow::Error {
    exit::busy(format_args!(
        "{} has this machine; two experiments at once would disturb each other. --wait 10m waits \
         for it",
        Holder(holder)
    ))
}

/// Maximum width of a holder's command line, in columns.
const COMMAND: usize = 80;

/// A process that holds a lock, in words.
#[derive(Clone, Copy, Debug)]
pub struct Holder(pub Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.0 else {
            return f.write_str("a process that cannot be seen from here");
        };
        let root = Root::real();
        let command = shortened(&plain(&read_command_line(&root, pid)), COMMAND);
        match read_age(&root, pid) {
            Some(age) => write!(f, "process {pid} (`{command}`, begun {} ago)", rough(age)),
            None => write!(f, "process {pid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_time_or_none() {
        assert_eq!("no".parse(), Ok(Wait::No));
        assert_eq!("10m".parse(), Ok(Wait::UpTo(Duration::from_secs(600))));
        assert!("never".parse::<Wait>().is_err());
    }

    #[test]
    fn a_holder_is_named_with_its_command() {
        let text = Holder(Some(std::process::id())).to_string();
        assert!(text.contains("(`") && text.contains("begun"), "{text}");
        assert!(Holder(None).to_string().contains("cannot be seen"));
    }
}
