use super::analysis::Analysis;
use super::event::{Event, SCHEMA};
use crate::base::recording::{Origin, Recorded};

impl Recorded for Analysis {
    type Event = Event;
    const OF: &'static str = "faults";
    const WRITER: &'static str = "hugewise faults --out";
    const SCHEMA: u32 = SCHEMA;

    fn parse(line: &[u8]) -> Result<Event, serde_json::Error> {
        serde_json::from_slice(line)
    }

    fn origin(event: &Event) -> Option<Origin> {
        let Event::Begin(conditions) = event else {
            return None;
        };
        Some(Origin {
            schema: conditions.schema,
            program: conditions.hugewise.clone(),
        })
    }

    fn begin(event: &Event) -> Option<Self> {
        match event {
            Event::Begin(conditions) => Some(Self::new((**conditions).clone())),
            _ => None,
        }
    }

    fn push(&mut self, event: &Event) {
        self.push(event);
    }
}
