use super::analysis::Analysis;
use super::event::{Conditions, Event};
use hugewise_base::geometry;
use hugewise_base::jsonl::Line;
use hugewise_base::recording::Recorded;

impl Line for Event {
    type Header = Conditions;
    const TAG: &'static str = "event";
    const HEADER: &'static str = "begin";
    const KIND: &'static str = "faults";
    const VERSION: u32 = 1;
    const TITLE: &'static str = "a recording of faults";
    const WRITER: &'static str = "hugewise faults --out";

    fn from_header(header: Conditions) -> Self {
        Self::Begin(Box::new(header))
    }

    fn check(header: &Conditions) -> Result<(), String> {
        let huge = header.pmd_bytes.map(|bytes| ("pmd_bytes", bytes));
        let folios = ("folio_sizes", header.folio_sizes.as_slice());
        geometry::check(("page_bytes", header.page_bytes), huge, Some(folios))
    }

    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

impl Recorded for Analysis {
    type Event = Event;

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
