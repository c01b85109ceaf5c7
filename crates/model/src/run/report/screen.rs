//! How much of a report one screen has room for.

use crate::text::document::Document;
use crate::text::{Style, to_text};

/// Lines of the first screen.
const LINES: usize = 24;

/// How many rows of the table and how many causes the first screen has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) rows: usize,
    pub(super) causes: usize,
}

impl Room {
    /// All rows. More causes than these are details.
    pub(super) const FULL: Self = Self {
        rows: usize::MAX,
        causes: 3,
    };

    /// From much to little, rows first: all of them are in the table of details, causes among the
    /// findings.
    const STEPS: [Self; 8] = [
        Self::FULL,
        Self { rows: 8, causes: 3 },
        Self { rows: 6, causes: 3 },
        Self { rows: 4, causes: 3 },
        Self { rows: 4, causes: 2 },
        Self { rows: 4, causes: 1 },
        Self { rows: 3, causes: 1 },
        Self { rows: 3, causes: 0 },
    ];
}

/// As much as one screen of that width has room for; the least where the answer alone is longer.
/// `compose` makes the first screen.
pub(super) fn fitted(width: usize, compose: impl Fn(Room) -> Document) -> Room {
    let style = Style {
        width,
        ..Style::default()
    };
    let fits = |room: &Room| to_text(&compose(*room), &style).lines().count() <= LINES;
    let [.., least] = Room::STEPS;
    Room::STEPS.into_iter().find(fits).unwrap_or(least)
}
