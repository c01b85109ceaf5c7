//! Footnotes of a document.

/// Unique sentences, numbered in order of first use.
#[derive(Debug, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// Returns the mark for a sentence.
    pub fn mark(&mut self, note: &str) -> String {
        let known = self.0.iter().position(|one| one == note);
        let place = known.unwrap_or_else(|| {
            self.0.push(note.to_owned());
            self.0.len() - 1
        });
        format!("[{}]", place + 1)
    }

    /// Returns the sentences below the table.
    pub fn text(&self) -> String {
        let lines = self.0.iter().enumerate();
        lines
            .map(|(place, note)| format!("[{}] {note}.\n\n", place + 1))
            .collect()
    }
}
