//! Takes samples in a separate thread, so that keys are never delayed by them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::observe::watch::{Focus, Groups, Watcher};
use hugewise_monitor::watch::Tab;
use hugewise_text::document::Document;

use super::event::Event;
use super::experiment::Experiment;
use super::looking::sentence;
use super::stalls::Stalls;

/// The data that the screen shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The focus of the samples.
    pub(super) focus: Focus,
    /// Data to read in addition.
    extra: Extra,
}

/// Data to read in addition to samples while its tab is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Extra {
    #[default]
    Nothing,
    /// Traced stalls.
    Stalls,
    /// The newest record.
    Experiment,
}

impl Wanted {
    /// The data for a tab, and the process to read first.
    pub(super) fn of(tab: Tab, process: Option<u32>) -> Self {
        let groups = match tab {
            Tab::Groups => Groups::Read,
            _ => Groups::LeftOut,
        };
        let extra = match tab {
            Tab::Stalls => Extra::Stalls,
            Tab::Experiment => Extra::Experiment,
            _ => Extra::Nothing,
        };
        Self {
            focus: Focus { process, groups },
            extra,
        }
    }

    /// Returns true if `next` shows data that this one leaves out: then the next sample is taken at once.
    fn lacks(self, next: Self) -> bool {
        let groups = (self.focus.groups, next.focus.groups);
        groups == (Groups::LeftOut, Groups::Read)
            || (next.extra != Extra::Nothing && next.extra != self.extra)
    }
}

/// The delay of the second sample, which gives the first rates.
const FIRST: Duration = Duration::from_millis(500);

/// Takes a sample every `interval` until the screen ends.
pub(super) fn collect(
    mut watcher: Watcher,
    interval: Duration,
    wanted: Receiver<Wanted>,
    events: Sender<Event>,
) -> Result<JoinHandle<()>> {
    let collect = move || {
        let mut now = Wanted::default();
        let mut pause = interval.min(FIRST);
        let mut others = Others::default();
        loop {
            let due = Instant::now() + pause;
            pause = interval;
            let sample = Event::Sample(Box::new(watcher.sample(now.focus)));
            let mut news = std::iter::once(sample).chain(others.news(now.extra));
            if !news.all(|event| events.send(event).is_ok()) {
                break;
            }
            match wait(&wanted, now, due) {
                Some(next) => now = next,
                None => break,
            }
        }
    };
    let thread = thread::Builder::new().name("samples".to_owned());
    thread
        .spawn(collect)
        .context("starting the thread of samples")
}

/// The readers of the additional data.
#[derive(Debug, Default)]
struct Others {
    stalls: Option<Stalls>,
    experiment: Experiment,
}

impl Others {
    /// New data, if any. Tracing runs only while it is shown.
    fn news(&mut self, wanted: Extra) -> Option<Event> {
        if wanted != Extra::Stalls {
            self.stalls = None;
        }
        match wanted {
            Extra::Nothing => None,
            Extra::Stalls => Some(Event::Stalls(self.traced())),
            Extra::Experiment => self.experiment.news().map(Event::Experiment),
        }
    }

    fn traced(&mut self) -> Document {
        let seen = match &mut self.stalls {
            Some(stalls) => stalls.document(),
            none => Stalls::begin().and_then(|begun| none.insert(begun).document()),
        };
        seen.unwrap_or_else(|error| sentence(&format!("{error:#}.")))
    }
}

/// Waits until the next sample is due; returns the data to read then, or `None` if the screen has ended.
fn wait(wanted: &Receiver<Wanted>, mut now: Wanted, due: Instant) -> Option<Wanted> {
    loop {
        match wanted.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(next) if now.lacks(next) => return Some(next),
            Ok(next) => now = next,
            Err(RecvTimeoutError::Timeout) => return Some(now),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}
