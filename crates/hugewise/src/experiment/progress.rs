//! Progress on stderr while an experiment runs: a status line on a terminal, otherwise a line at intervals.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use hugewise_base::plain::plain;
use hugewise_base::units::rough;
use hugewise_linux::machine::terminal;

use super::progress_line::fitted;
use crate::stderr::{line, message, message_lines};

/// The kind of progress messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// Interim results of the policies.
    #[default]
    Policies,
    /// Only the elapsed rounds: its policies are no answer, such as the rows of a design.
    Rows,
}

/// Who sees the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal.
    Person,
    /// A reader of a log.
    Log,
    /// Nobody: `--quiet`, or the workload's own output is shown.
    Nobody,
}

impl Audience {
    /// The audience of stderr.
    pub fn of_stderr() -> Self {
        match stderr().is_terminal() {
            true => Self::Person,
            false => Self::Log,
        }
    }

    /// How long rounds run before the first estimate is computed: a log of a short experiment has none.
    fn patience(self) -> Duration {
        match self {
            Self::Person => Duration::ZERO,
            Self::Log => Duration::from_secs(10),
            Self::Nobody => Duration::MAX,
        }
    }

    /// Minimum time between two estimates.
    fn interval(self) -> Duration {
        match self {
            Self::Person => Duration::from_millis(500),
            Self::Log => Duration::from_secs(30),
            Self::Nobody => Duration::MAX,
        }
    }
}

/// The progress: the time left, the estimate so far, and the current action.
#[derive(Debug)]
pub struct Progress {
    audience: Audience,
    bar: ProgressBar,
    /// When the round progress was last shown.
    told: Cell<Instant>,
    so_far: RefCell<String>,
    /// Dropped at the first message; until then a log reports that the first trial runs.
    silence: RefCell<Option<Sender<()>>>,
}

/// A log has its first line within five seconds.
const SILENCE: Duration = Duration::from_secs(4);

/// Reports that the first trial runs, and repeats this at intervals until another message comes.
fn break_silence() -> Sender<()> {
    let (sender, said) = channel();
    let is_silent = move |time| said.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    // If no thread can be started, only these lines are missing.
    let _ = thread::Builder::new().spawn(move || {
        let began = Instant::now();
        if is_silent(SILENCE) {
            message("the first trial runs; its time decides how long the experiment takes");
        }
        while is_silent(Audience::Log.interval()) {
            let so_long = rough(began.elapsed());
            message(format_args!("the first trial still runs, since {so_long}"));
        }
    });
    sender
}

impl Progress {
    /// Starts the progress.
    pub fn begin(audience: Audience, telling: Telling) -> Self {
        let target = match audience {
            Audience::Person => ProgressDrawTarget::stderr_with_hz(5),
            Audience::Log | Audience::Nobody => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.enable_steady_tick(Duration::from_millis(500));
        Self {
            audience,
            bar,
            told: Cell::new(Instant::now()),
            so_far: RefCell::default(),
            silence: RefCell::new(match (audience, telling) {
                (Audience::Log, Telling::Policies) => Some(break_silence()),
                _ => None,
            }),
        }
    }

    /// Shows the start of an action, such as a trial.
    pub fn now(&self, left: Option<Duration>, what: &str) {
        let left = left.map(|left| format!("up to {} left", rough(left)));
        let columns = terminal::columns(stderr()).unwrap_or(80).into();
        let line = fitted(left.as_deref(), &self.so_far.borrow(), what, columns);
        let template = match line.ends_with_now {
            true => "{msg} for {elapsed}",
            false => "{msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.reset_elapsed();
        self.bar.set_message(plain(&line.text));
    }

    /// Ends the rounds: the next trials add nothing to the estimates.
    pub fn rounds_are_over(&self) {
        self.so_far.borrow_mut().clear();
    }

    /// Shows the end of a round. `so_far` computes the estimates, and is called only if somebody sees them.
    pub fn round_over<E>(
        &self,
        left: Option<Duration>,
        so_far: impl FnOnce() -> Result<String, E>,
    ) -> Result<(), E> {
        let pause = match self.so_far.borrow().is_empty() {
            true => self.audience.patience(),
            false => self.audience.interval(),
        };
        if self.told.get().elapsed() < pause {
            return Ok(());
        }
        self.told.set(Instant::now());
        *self.so_far.borrow_mut() = so_far()?;
        if self.audience == Audience::Log {
            let left = left.map_or_else(String::new, |it| format!("up to {} left, ", rough(it)));
            message(format_args!("{left}{}", self.so_far.borrow()));
        }
        Ok(())
    }

    /// Prints a message above the progress.
    pub fn say(&self, text: &str) {
        self.silence.take();
        if self.audience != Audience::Nobody {
            self.bar.suspend(|| message_lines(text));
        }
    }

    /// Prints one line above the progress.
    pub fn print_above(&self, text: &str) {
        self.bar.suspend(|| line(text));
    }

    /// Ends the line.
    pub fn finish(&self) {
        self.silence.take();
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_not_worked_out() {
        let progress = Progress::begin(Audience::Nobody, Telling::Policies);
        let asked = progress.round_over(None, || Err("asked"));
        assert_eq!(asked, Ok(()));
    }
}
