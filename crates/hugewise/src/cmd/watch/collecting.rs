//! Samples, taken in a thread of their own so that keys never wait for them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::observe::watch::{Focus, Groups, Watcher};
use hugewise_model::observe::watch::Tab;
use hugewise_model::text::document::Document;

use super::live::Event;
use super::looking::sentence;
use super::stalls::Stalls;

/// What the user looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Of the samples.
    pub(super) focus: Focus,
    /// Whether stalls are traced.
    pub(super) tracing: Tracing,
}

/// Whether stalls are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tracing {
    #[default]
    Off,
    On,
}

impl Wanted {
    /// What a tab shows, and which process comes first.
    pub(super) fn of(tab: Tab, process: Option<u32>) -> Self {
        let groups = match tab {
            Tab::Groups => Groups::Read,
            _ => Groups::LeftOut,
        };
        let tracing = match tab {
            Tab::Stalls => Tracing::On,
            _ => Tracing::Off,
        };
        Self {
            focus: Focus { process, groups },
            tracing,
        }
    }

    /// Whether another one shows what this one leaves out: then nobody waits for the next sample.
    fn lacks(self, next: Self) -> bool {
        let groups = (self.focus.groups, next.focus.groups);
        groups == (Groups::LeftOut, Groups::Read)
            || (self.tracing, next.tracing) == (Tracing::Off, Tracing::On)
    }
}

/// Takes a sample every `interval`, until nobody wants any more.
pub(super) fn collect(
    mut watcher: Watcher,
    interval: Duration,
    wanted: Receiver<Wanted>,
    events: Sender<Event>,
) -> Result<JoinHandle<()>> {
    let collect = move || {
        let mut now = Wanted::default();
        let mut stalls = None;
        loop {
            let due = Instant::now() + interval;
            let sample = Event::Sample(Box::new(watcher.sample(now.focus)));
            let traced = trace(&mut stalls, now.tracing).map(Event::Stalls);
            let mut news = std::iter::once(sample).chain(traced);
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

/// What the tracing has seen; it is begun where it is wanted, and ended where it is not.
fn trace(stalls: &mut Option<Stalls>, tracing: Tracing) -> Option<Document> {
    if tracing == Tracing::Off {
        *stalls = None;
        return None;
    }
    let seen = match stalls {
        Some(stalls) => stalls.document(),
        None => Stalls::begin().and_then(|begun| stalls.insert(begun).document()),
    };
    Some(seen.unwrap_or_else(|error| sentence(&format!("{error:#}."))))
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
