//! A process that restores settings at once when the process that changed them is killed.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{JOURNAL_FILE, UndoFolder, undo};
use crate::machine::descriptors::Room;
use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;
use crate::machine::turn::take_settings;

/// The hidden first argument that makes the program a guardian.
pub const GUARDIAN_WORD: &str = "__restore";

/// The guardian of a process that changes settings. It waits until this is dropped or the process is dead, and undoes
/// the journal, if it still exists.
#[derive(Debug)]
pub struct Guardian(Child);

impl Guardian {
    /// Starts the guardian; `state` is the directory of the journal.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(state: &Path) -> Result<Self> {
        let program = Path::new("/proc/self/exe");
        let _room = Room::make();
        let child = Command::new(program)
            .arg(GUARDIAN_WORD)
            .arg(state)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child
            .map(Self)
            .map_err(|error| Error::io("starting the guardian from", program, error))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs this process as a guardian. To be called by `main` if the first argument is [`GUARDIAN_WORD`]; the second is
/// the directory of the journal.
#[must_use]
pub fn guardian_main() -> ExitCode {
    // Signals of the terminal and of the process group must not reach it.
    let _ = rustix::process::setsid();
    let Some(state) = std::env::args_os().nth(2) else {
        return ExitCode::FAILURE;
    };
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let state = Path::new(&state);
    if !state.join(JOURNAL_FILE).exists() {
        return ExitCode::SUCCESS;
    }
    match restore(state) {
        Ok(()) => ExitCode::SUCCESS,
        // The error cannot be reported here; the next start tries again and reports it.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Undoes the journal. Whichever process takes the lock first undoes it; that may be a new experiment.
fn restore(state: &Path) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let since = Instant::now();
    loop {
        match take_settings() {
            Ok(hold) => return undo(&hold, &UndoFolder::new(&Root::real(), state)).map(drop),
            Err(error) if matches!(error.kind, Kind::Busy { .. }) && since.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}
