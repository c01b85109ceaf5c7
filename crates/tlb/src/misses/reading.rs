use serde::Deserialize;

use super::analysis::Analysis;
use super::event::{Conditions, Event, MissEvent};
use hugewise_base::geometry;
use hugewise_base::jsonl::{self, Line};
use hugewise_base::recording::Recorded;
use hugewise_observe::faults;

/// The kind of an event.
#[derive(Deserialize)]
struct Tag {
    event: String,
}

/// Returns true if a file with this first line is a recording of misses, of any version.
#[must_use]
pub fn is_recording(first: &[u8]) -> bool {
    jsonl::begins::<Event>(first)
}

impl Line for Event {
    type Header = Conditions;
    const TAG: &'static str = "event";
    const HEADER: &'static str = "sampling";
    const KIND: &'static str = "misses";
    const VERSION: u32 = 1;
    const TITLE: &'static str = "a recording of misses";
    const WRITER: &'static str = "hugewise misses --out";

    fn from_header(header: Conditions) -> Self {
        Self::Misses(MissEvent::Sampling(Box::new(header)))
    }

    fn check(header: &Conditions) -> Result<(), String> {
        let huge = header.pmd_bytes.map(|bytes| ("pmd_bytes", bytes));
        geometry::check(("page_bytes", header.page_bytes), huge, None)
    }

    /// The kind of the event selects one type to parse, so that an error is about this line only, not about every other
    /// type.
    fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let tag: Tag = serde_json::from_slice(line)?;
        if matches!(tag.event.as_str(), "sampling" | "miss" | "sampled") {
            serde_json::from_slice(line).map(Self::Misses)
        } else {
            faults::Event::parse(line).map(Self::Space)
        }
    }
}

impl Recorded for Analysis {
    type Event = Event;

    fn begin(event: &Event) -> Option<Self> {
        match event {
            Event::Misses(MissEvent::Sampling(conditions)) => {
                Some(Self::new((**conditions).clone()))
            }
            _ => None,
        }
    }

    fn push(&mut self, event: &Event) {
        self.push(event);
    }
}
