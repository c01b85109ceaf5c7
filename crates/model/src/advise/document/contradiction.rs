//! A setting that programs want different.

use crate::advise::contradiction::Contradiction;
use crate::text::document::Section;
use crate::text::grid::{Align, Grid};
use crate::text::wrap::plain;

impl Contradiction {
    /// A small matrix: who wants what, and what each can do alone.
    pub(super) fn section(&self) -> Section {
        let now = self.now.as_deref().unwrap_or("not known");
        let mut section = Section::titled(format!("Contradiction: {} is {now}", self.setting));
        let align = [Align::Left, Align::Left, Align::Left, Align::Wrapped];
        let mut grid =
            Grid::headed(&["program", "wants", "said by", "by its own means"]).aligned(&align);
        for wish in &self.wishes {
            grid.push([
                plain(&wish.who()),
                wish.value.clone(),
                wish.by.to_string(),
                wish.own_means.clone().unwrap_or_else(|| "none".to_owned()),
            ]);
        }
        section.push(grid);
        section.push(match &self.solution {
            Some(value) => format!(
                "Both: set {} to {value} for the machine; the others use their own means.",
                self.setting
            ),
            None => {
                "No setting of the machine serves all of them: separate them by host.".to_owned()
            }
        });
        section
    }
}
