//! Short names of policies for columns, with a legend.

use std::collections::BTreeMap;

use crate::run::answer::{Answer, words};
use crate::text::document::{Block, Section};
use crate::text::wrap::display_width;

/// The width of the longest name that a column shows in full.
const LONGEST: usize = 24;

/// The names that a legend has at most.
const MOST_LINES: usize = 2;

/// Names as columns show them.
#[derive(Clone, Debug, Default)]
pub(in crate::run::answer) struct Names {
    short: BTreeMap<String, String>,
}

impl Names {
    /// Returns the short names of all policies whose names are too long for a column.
    pub(in crate::run::answer) fn of(answer: &Answer) -> Self {
        let mut names = Self::default();
        let long = answer.arms.iter().map(|arm| &arm.name);
        for name in long.filter(|name| display_width(name) > LONGEST) {
            let is_taken = |short: &String| names.short.values().any(|it| it == short);
            let mut short = ends_of(name);
            let mut number = 2;
            while is_taken(&short) {
                short = format!("{} {number}", ends_of(name));
                number += 1;
            }
            names.short.insert(name.clone(), short);
        }
        names
    }

    /// Returns a name as a column shows it.
    pub(in crate::run::answer) fn show<'a>(&'a self, name: &'a str) -> &'a str {
        self.short.get(name).map_or(name, String::as_str)
    }

    /// Returns a text with every long name in it as a column shows it.
    pub(in crate::run::answer) fn shorten(&self, text: &str) -> String {
        let names = self.short.iter();
        names.fold(text.to_owned(), |text, (name, short)| {
            text.replace(name, short)
        })
    }

    /// Returns one line for each shortened name that a table of these sections has.
    pub(in crate::run::answer) fn legend(&self, sections: &[Section]) -> Vec<String> {
        let blocks = sections.iter().flat_map(|section| &section.blocks);
        let cells: Vec<&str> = blocks
            .filter_map(|(_, block)| match block {
                Block::Table(grid) => Some(grid.rows.iter().flatten()),
                _ => None,
            })
            .flatten()
            .map(|cell| cell.text.as_str())
            .collect();
        let shown = self.short.iter();
        let shown = shown.filter(|(_, short)| cells.iter().any(|cell| cell.contains(*short)));
        let mut lines: Vec<String> = shown
            .map(|(name, short)| format!("{short} = {name}"))
            .collect();
        let hidden = lines.len().saturating_sub(MOST_LINES);
        if hidden > 1 {
            lines.truncate(MOST_LINES);
            lines.push(words::left_out(hidden, "name"));
        }
        lines
    }
}

/// Returns both ends of a long name: those of variants differ at the end.
fn ends_of(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let half = LONGEST / 2 - 2;
    let head: String = letters[..half].iter().collect();
    let tail: String = letters[letters.len() - half..].iter().collect();
    format!("{head}…{tail}")
}
