//! Short names of policies for columns, with a legend.

use std::collections::BTreeMap;

use crate::run::answer::Answer;
use crate::text::wrap::{display_width, shortened};

/// The width of the longest name that a column shows in full.
const LONGEST: usize = 24;

/// Names as columns show them.
#[derive(Clone, Debug, Default)]
pub(in crate::run::answer) struct Names {
    short: BTreeMap<String, String>,
}

impl Names {
    /// Returns the short names of all policies whose names are too long for a column.
    pub(in crate::run::answer) fn of(answer: &Answer) -> Self {
        let long = answer.arms.iter().map(|arm| &arm.name);
        let long = long.filter(|name| display_width(name) > LONGEST);
        let short = long.enumerate().map(|(index, name)| {
            let number = index + 1;
            (
                name.clone(),
                format!("{}{number}", shortened(name, LONGEST - 2)),
            )
        });
        Self {
            short: short.collect(),
        }
    }

    /// Returns a name as a column shows it.
    pub(in crate::run::answer) fn show<'a>(&'a self, name: &'a str) -> &'a str {
        self.short.get(name).map_or(name, String::as_str)
    }

    /// Returns one line for each shortened name.
    pub(in crate::run::answer) fn legend(&self) -> Vec<String> {
        let lines = self.short.iter();
        lines
            .map(|(name, short)| format!("{short} = {name}"))
            .collect()
    }
}
