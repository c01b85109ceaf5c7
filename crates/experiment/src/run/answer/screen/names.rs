//! Short names of policies for columns, with a legend.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::answer::{Answer, SubjectKind, words};
use crate::text::document::{Block, Section};
use crate::text::wrap::display_width;

/// The most names in a legend.
const MOST_LINES: usize = 2;

/// Names as columns show them.
#[derive(Clone, Debug, Default)]
pub(in crate::run::answer) struct Names {
    short: BTreeMap<String, String>,
}

impl Names {
    /// Returns the short names of all policies whose names are longer than `most`.
    pub(in crate::run::answer) fn of(answer: &Answer, most: usize) -> Self {
        let mut names = Self::default();
        let arms = answer.arms.iter().map(|arm| arm.name.as_str());
        let names_of_arms = arms.map(|name| match answer.subject.kind {
            SubjectKind::Programs => words::program(name).1,
            _ => name,
        });
        let long: BTreeSet<&str> = names_of_arms
            .filter(|it| display_width(it) > most)
            .collect();
        for name in long {
            let is_taken = |short: &String| names.short.values().any(|it| it == short);
            let mut short = ends_of(name, most);
            let mut number = 2;
            while is_taken(&short) {
                short = format!("{} {number}", ends_of(name, most));
                number += 1;
            }
            names.short.insert(name.to_owned(), short);
        }
        names
    }

    /// Returns a text with every long name in its column form. Longer names are replaced first if they start with a
    /// shorter one.
    pub(in crate::run::answer) fn shorten(&self, text: &str) -> String {
        let names = self.short.iter().rev();
        names.fold(text.to_owned(), |text, (name, short)| {
            text.replace(name, short)
        })
    }

    /// Returns one line for each shortened name used in a table of these sections.
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

/// Returns both ends of a long name: variants differ at the end.
fn ends_of(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    let half = most / 2 - 2;
    let head: String = letters[..half].iter().collect();
    let tail: String = letters[letters.len() - half..].iter().collect();
    format!("{head}…{tail}")
}
