use serde::Deserialize;

use super::analysis::Analysis;
use super::event::{Event, MissEvent, SCHEMA};
use crate::base::recording::{Origin, Recorded};
use crate::observe::faults;

/// The kind of an event.
#[derive(Deserialize)]
struct Tag {
    event: String,
}

/// Whether a file that begins with this line is a recording of misses, of whatever version.
#[must_use]
pub fn is_recording(first: &[u8]) -> bool {
    serde_json::from_slice::<Tag>(first).is_ok_and(|tag| tag.event == "sampling")
}

impl Recorded for Analysis {
    type Event = Event;
    const OF: &'static str = "misses";
    const WRITER: &'static str = "hugewise misses --out";
    const SCHEMA: u32 = SCHEMA;

    /// The tag decides between the two kinds of events, so that an error names the fault of the
    /// line.
    fn parse(line: &[u8]) -> Result<Event, serde_json::Error> {
        let tag: Tag = serde_json::from_slice(line)?;
        if matches!(tag.event.as_str(), "sampling" | "miss" | "sampled") {
            serde_json::from_slice(line).map(Event::Misses)
        } else {
            serde_json::from_slice::<faults::Event>(line).map(Event::Space)
        }
    }

    fn origin(event: &Event) -> Option<Origin> {
        let Event::Misses(MissEvent::Sampling(conditions)) = event else {
            return None;
        };
        Some(Origin {
            schema: conditions.schema,
            program: conditions.hugewise.clone(),
        })
    }

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
