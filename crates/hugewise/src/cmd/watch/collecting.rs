//! Samples, taken in a thread of their own so that keys never wait for them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::observe::watch::{Focus, Groups, Watcher};

use super::live::Event;

/// Takes a sample every `interval`, until nobody wants any more.
pub(super) fn collect(
    mut watcher: Watcher,
    interval: Duration,
    wanted: Receiver<Focus>,
    events: Sender<Event>,
) -> Result<JoinHandle<()>> {
    let collect = move || {
        let mut focus = Focus::default();
        loop {
            let due = Instant::now() + interval;
            let sample = Box::new(watcher.sample(focus));
            if events.send(Event::Sample(sample)).is_err() {
                break;
            }
            match wait(&wanted, focus, due) {
                Some(next) => focus = next,
                None => break,
            }
        }
    };
    let thread = thread::Builder::new().name("samples".to_owned());
    thread
        .spawn(collect)
        .context("starting the thread of samples")
}

/// What is wanted when the next sample is due; `None` when nobody wants one. Cgroups that were left
/// out so far are not waited for.
fn wait(wanted: &Receiver<Focus>, mut focus: Focus, due: Instant) -> Option<Focus> {
    loop {
        match wanted.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(next) => {
                let is_urgent = focus.groups == Groups::LeftOut && next.groups == Groups::Read;
                focus = next;
                if is_urgent {
                    return Some(focus);
                }
            }
            Err(RecvTimeoutError::Timeout) => return Some(focus),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}
