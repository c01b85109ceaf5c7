//! A picture of numbers, with the numbers as a table.

use super::grid::Grid;

/// A picture, and a table with the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name for links and ids: lower case, digits and hyphens.
    pub id: String,
    /// The heading.
    pub title: String,
    /// One sentence: how to read it.
    pub caption: String,
    /// The picture: one `<svg>` element that scales by viewBox, with `<title>` elements for hover and classes for
    /// colours. It contains no script and no style.
    pub svg: String,
    /// The same numbers, formatted like in text output.
    pub table: Grid,
}
