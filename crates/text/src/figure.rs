//! A picture of numbers, with the numbers.

use super::grid::Grid;

/// A picture with the table that says the same in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name for links and ids: lower case, digits and hyphens.
    pub id: String,
    /// What it shows, as a heading.
    pub title: String,
    /// One sentence: how to read it.
    pub caption: String,
    /// The picture: one `<svg>` element that scales by viewBox, with `<title>` elements for hover and classes for colours; no script, no style of its own.
    pub svg: String,
    /// The same numbers, formatted by the functions that format them in text.
    pub table: Grid,
}
