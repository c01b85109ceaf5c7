//! What a reader wants to know of a reason: what it is, where it applies, how it is seen, what
//! repairs it, and where that is written down.

use std::fmt::Write;

use super::Code;
use crate::text::wrap::wrapped;
use allocation::ALLOCATION;
use file::FILE;
use history::HISTORY;
use khugepaged::KHUGEPAGED;
use mapping::MAPPING;
use rest::REST;
use setting::SETTING;

mod allocation;
mod file;
mod history;
mod khugepaged;
mod mapping;
mod rest;
mod setting;

/// The whole story of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// What happens in the kernel.
    pub what: &'static str,
    /// Since or until which kernel. For orientation: back-ports move it, so no reason is ever
    /// decided by it.
    pub kernels: &'static str,
    /// How it is told from user space, and with which right.
    pub seen: &'static str,
    /// What repairs it.
    pub repair: &'static str,
    /// Where it is written down.
    pub source: &'static str,
}

impl Code {
    /// Its story.
    #[must_use]
    pub fn story(self) -> Story {
        let (_, what, kernels, seen, repair, source) = STORIES[self as usize];
        Story {
            what,
            kernels,
            seen,
            repair,
            source,
        }
    }

    /// Its story as text of at most `width` columns.
    #[must_use]
    pub fn explained(self, width: usize) -> String {
        let story = self.story();
        let head = format!("{self}: {}", self.sentence());
        let mut text = wrapped(&head, width, 2).join("\n") + "\n";
        for (title, body) in [
            ("What it is", story.what),
            ("Kernels", story.kernels),
            ("How it is seen", story.seen),
            ("What repairs it", story.repair),
            ("Source", story.source),
        ] {
            let _ = writeln!(text, "\n{title}");
            for line in wrapped(body, width.saturating_sub(2), 0) {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}

type Row = (
    Code,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// How many reasons there are.
const COUNT: usize = 46;

/// One row for each reason, in their order: what, kernels, seen, repair, source.
const STORIES: [Row; COUNT] = in_one(&[
    MAPPING, SETTING, FILE, HISTORY, ALLOCATION, KHUGEPAGED, REST,
]);

/// A missing row is an error of compiling.
const fn in_one(families: &[&[Row]]) -> [Row; COUNT] {
    let mut all = [families[0][0]; COUNT];
    let (mut family, mut row, mut place) = (0, 0, 0);
    while family < families.len() {
        if row == families[family].len() {
            (family, row) = (family + 1, 0);
        } else {
            all[place] = families[family][row];
            (row, place) = (row + 1, place + 1);
        }
    }
    assert!(place == COUNT, "every reason has one story");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_story_within_80_columns() {
        for (row, code) in STORIES.iter().zip(Code::all()) {
            assert_eq!(row.0, code);
            let text = code.explained(80);
            assert!(text.starts_with(code.name()));
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{code}: {line}");
            }
            assert!(!row.1.is_empty() && !row.3.is_empty() && !row.4.is_empty());
        }
    }
}
