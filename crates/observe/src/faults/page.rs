//! The summary as a page, with its call chains as a flame graph.

use std::collections::BTreeMap;

use super::flame;
use super::stacks::Weigh;
use super::summary::FaultSummary;
use hugewise_text::document::{Field, Section};
use hugewise_text::page::{Page, to_page};
use hugewise_text::wrap::plain;

impl FaultSummary {
    /// Renders the page: `folded` are its call chains, weighted by `weigh`; `source` is the recording.
    #[must_use]
    pub fn page(&self, folded: &BTreeMap<String, u64>, weigh: Weigh, source: &[u8]) -> String {
        let mut document = self.document();
        document.push(self.circumstances());
        let figure = flame::figure(folded, weigh);
        to_page(&Page {
            title: &format!("hugewise faults: {}", plain(&self.conditions.subject)),
            document: &document,
            figures: figure.as_slice(),
            further: &[],
            source,
            again: "hugewise faults --replay",
        })
    }

    fn circumstances(&self) -> Section {
        let conditions = &self.conditions;
        let fields = [
            ("Observed", &conditions.subject),
            ("Version", &conditions.hugewise),
            ("Kernel", &conditions.kernel),
        ];
        let fields = fields.map(|(label, text)| Field::new(label, plain(text)));
        Section::titled("How it was measured").with(fields.to_vec())
    }
}
