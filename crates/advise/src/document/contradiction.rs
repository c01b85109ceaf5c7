//! A setting for which programs want different values.

use std::collections::BTreeSet;

use crate::contradiction::Contradiction;
use hugewise_text::document::Section;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::wrap::plain;

impl Contradiction {
    /// Renders a small table: the programs, the values that they want, and how each can get it individually.
    pub(super) fn section(&self) -> Section {
        let now = self.now.as_deref().unwrap_or("not known");
        let setting = &self.setting;
        let mut section =
            Section::titled(format!("Contradiction about {setting}, which is {now} now"));
        let align = [Align::Left, Align::Left, Align::Left, Align::Wrapped];
        let mut grid =
            Grid::headed(&["program", "wants", "said by", "or, for it alone"]).aligned(&align);
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
            Some(value) if self.now.as_ref() == Some(value) => {
                format!("Keep {setting} at {value}{}.", self.others(value))
            }
            Some(value) => format!("To do: set {setting} to {value}{}.", self.others(value)),
            None => "No value serves all of them: run them on different hosts.".to_owned(),
        });
        section
    }

    /// Names the programs that want a value other than the machine's.
    fn others(&self, value: &str) -> String {
        let wishes = self.wishes.iter().filter(|wish| wish.value != value);
        let others: BTreeSet<_> = wishes.map(|wish| plain(&wish.program)).collect();
        let others: Vec<_> = others.into_iter().collect();
        match others.is_empty() {
            true => String::new(),
            false => format!("; the last column serves {}", others.join(", ")),
        }
    }
}
