//! Inspects one process on request, in a separate thread.

use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::machine::root::Root;
use hugewise_monitor::watch::Look;
use hugewise_text::Style;
use hugewise_text::document::{Document, Section};

use super::event::Event;
use crate::cmd::inspect;

/// Minimum pause between two inspections.
const REST: Duration = Duration::from_secs(5);
/// After a slow inspection, the pause is this many times as long.
const PARTS: u32 = 100;

/// The current inspection, and the pause after the last one.
#[derive(Debug, Default)]
pub(super) struct Looking {
    under_way: Option<u32>,
    /// The end of the pause.
    rest: Option<Instant>,
}

impl Looking {
    /// Starts to inspect a process; returns a sentence if the user has to wait.
    pub(super) fn begin(
        &mut self,
        pid: u32,
        style: Style,
        events: &Sender<Event>,
    ) -> Result<Option<String>> {
        if let Some(pid) = self.under_way {
            return Ok(Some(format!("process {pid} is being looked at")));
        }
        let left = self
            .rest
            .map(|rest| rest.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            let seconds = left.as_secs() + 1;
            return Ok(Some(format!("the next look is possible in {seconds} s")));
        }
        self.under_way = Some(pid);
        let events = events.clone();
        let look = move || {
            let began = Instant::now();
            let document = inspect::document(&Root::real(), pid, &style);
            let document = document.unwrap_or_else(|error| sentence(&format!("{error:#}.")));
            let look = Box::new(Look { pid, document });
            // The receiver is gone once the program ends.
            let _ = events.send(Event::Look(look, began.elapsed()));
        };
        let thread = thread::Builder::new().name("look".to_owned());
        thread.spawn(look).context("starting a look")?;
        Ok(None)
    }

    /// Notes the end of an inspection and its duration.
    pub(super) fn finish(&mut self, took: Duration) {
        self.under_way = None;
        self.rest = Some(Instant::now() + REST.max(took * PARTS));
    }
}

/// A document of one sentence.
pub(super) fn sentence(text: &str) -> Document {
    Document::new([Section::default().with(text)])
}
