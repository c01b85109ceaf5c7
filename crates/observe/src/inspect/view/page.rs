//! One process as an HTML page: a summary, a picture of its address space, and its mappings by reason.

use super::{Glob, Inspection, coverage, picture};
use hugewise_base::units::bytes_text;
use hugewise_text::document::{Field, Level, Section};
use hugewise_text::page::{Page, to_page};
use hugewise_text::wrap::plain;

impl Inspection {
    /// Renders the page; `source` is its JSON form, and `only` selects mappings.
    #[must_use]
    pub fn page(&self, only: Option<&Glob>, source: &[u8]) -> String {
        let process = &self.space.process;
        let command = plain(&process.command);
        let mut document = self.document(only, Level::First);
        document.push(self.circumstances());
        let figures = [picture::figure(self, only), coverage::figure(self, only)];
        to_page(&Page {
            title: &format!("hugewise inspect: {command} (process {})", process.pid),
            document: &document,
            figures: &figures.into_iter().flatten().collect::<Vec<_>>(),
            further: &[],
            source,
            again: "hugewise inspect --from",
        })
    }

    fn circumstances(&self) -> Section {
        let settings = &self.settings;
        let fields = [
            ("Kernel", plain(&settings.kernel)),
            ("Architecture", plain(&settings.arch)),
            ("Huge page", bytes_text(self.space.huge_bytes)),
        ];
        let fields = fields.map(|(label, text)| Field::new(label, text));
        Section::titled("How it was measured").with(fields.to_vec())
    }
}
