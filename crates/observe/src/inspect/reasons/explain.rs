//! The explanation of a reason, for `inspect --explain`.

use super::Code;
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};

impl Code {
    /// Describes the reason completely.
    #[must_use]
    pub fn explained(self) -> Document {
        let row = self.row();
        let head =
            Section::default().with(Paragraph::new(format!("{self}: {}", self.sentence())).hang(2));
        let part =
            |title: &str, text: &str| Section::titled(title).with(Paragraph::new(text).indent(2));
        Document::new([
            head,
            part("What it is", row.what),
            part("To make it huge", &row.fix.general()),
            part("How to see it", row.sign),
            part("Kernels", row.kernels),
            part("Source", row.source),
        ])
    }

    /// Lists all reasons, one sentence each.
    #[must_use]
    pub fn list() -> Document {
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Wrapped]);
        for code in Self::all() {
            grid.push([code.name(), code.sentence()]);
        }
        Document::new([Section::default().with(grid)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_text::{Style, to_text};

    #[test]
    fn every_reason_is_explained_within_80_columns() {
        for code in Code::all() {
            let text = to_text(&code.explained(), &Style::default());
            assert!(text.starts_with(code.name()));
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(!text.contains(['{', '}']), "{text}");
            assert_eq!(text.matches("\n\n").count(), 5, "{text}");
        }
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        let list = to_text(&Code::list(), &Style::default());
        assert_eq!(list.lines().count(), Code::all().len(), "{list}");
    }
}
