//! Progress on stderr while an experiment runs: a line that changes on a terminal, else a line
//! from time to time.

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

/// What is told of an experiment while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// How its policies do.
    #[default]
    Policies,
    /// How far it is: its policies are no answer, such as the rows of a design.
    Rows,
}

/// Who sees the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal.
    Person,
    /// Whoever reads a log.
    Log,
    /// Nobody: `--quiet`, or the workload's own output is shown.
    Nobody,
}

impl Audience {
    /// Who reads stderr.
    pub fn of_stderr() -> Self {
        match stderr().is_terminal() {
            true => Self::Person,
            false => Self::Log,
        }
    }

    /// How long rounds go on before the first estimate is worked out: a log of a short experiment
    /// has none.
    fn patience(self) -> Duration {
        match self {
            Self::Person => Duration::ZERO,
            Self::Log => Duration::from_secs(10),
            Self::Nobody => Duration::MAX,
        }
    }

    /// How often the estimate is worked out anew at the most.
    fn interval(self) -> Duration {
        match self {
            Self::Person => Duration::from_millis(500),
            Self::Log => Duration::from_secs(30),
            Self::Nobody => Duration::MAX,
        }
    }
}

/// The progress: the time left, the estimate so far, and what runs now.
#[derive(Debug)]
pub struct Progress {
    audience: Audience,
    bar: ProgressBar,
    /// When it was told last how far the rounds are.
    told: Cell<Instant>,
    so_far: RefCell<String>,
    /// Dropped as soon as something is said: until then a log hears that the first trial runs.
    silence: RefCell<Option<Sender<()>>>,
}

/// A log hears within five seconds that something happens.
const SILENCE: Duration = Duration::from_secs(4);

/// Says that the first trial runs, and from time to time that it still does, until something else
/// is said.
fn break_silence() -> Sender<()> {
    let (sender, said) = channel();
    let is_silent = move |time| said.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    // Where no thread can be started, only these lines are missing.
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
    /// Begins.
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

    /// Something begins, such as a trial.
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

    /// What comes now is no round, and adds nothing to what is known so far.
    pub fn rounds_are_over(&self) {
        self.so_far.borrow_mut().clear();
    }

    /// A round is over. `so_far` works out what is known, and is asked only where somebody sees it.
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
