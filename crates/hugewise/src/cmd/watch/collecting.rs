//! Samples, taken in a thread of their own so that keys never wait for them.

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

/// What the user looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Of the samples.
    pub(super) focus: Focus,
    /// What is read in addition.
    extra: Extra,
}

/// What is read in addition to samples, while its tab is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Extra {
    #[default]
    Nothing,
    /// Stalls are traced.
    Stalls,
    /// The newest record is read.
    Experiment,
}

impl Wanted {
    /// What a tab shows, and which process comes first.
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

    /// Whether another one shows what this one leaves out: then nobody waits for the next sample.
    fn lacks(self, next: Self) -> bool {
        let groups = (self.focus.groups, next.focus.groups);
        groups == (Groups::LeftOut, Groups::Read)
            || (next.extra != Extra::Nothing && next.extra != self.extra)
    }
}

/// The first rates come so soon.
const FIRST: Duration = Duration::from_millis(500);

/// Takes a sample every `interval`, until nobody wants any more.
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

/// What is read in addition to samples.
#[derive(Debug, Default)]
struct Others {
    stalls: Option<Stalls>,
    experiment: Experiment,
}

impl Others {
    /// What there is to tell. Tracing begins where it is wanted, and ends where it is not.
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

/// What is wanted when the next sample is due; `None` when nobody wants one.
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
