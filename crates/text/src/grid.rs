//! Aligned columns.

use std::fmt;

use super::wrap::{display_width, padded, wrapped_at_spaces};
use super::{Flow, Tone};

/// One cell: its text and its tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Good, bad or plain. The text also carries the meaning.
    pub tone: Tone,
    /// Sets if the text can wrap in a wrapped column.
    pub flow: Flow,
}

impl Cell {
    /// Creates a cell without a tone.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a cell for a command or an address, which never wraps.
    #[must_use]
    pub fn whole(text: impl Into<String>) -> Self {
        Self {
            flow: Flow::Whole,
            ..Self::plain(text)
        }
    }

    /// Sets the tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// Rows of cells; the first row is the heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The rows. If a row is short, its last cell is a note that can extend over the columns to its right.
    pub rows: Vec<Vec<Cell>>,
    /// The alignment of columns. By default the first column is aligned left, the others right.
    pub align: Vec<Align>,
}

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Sentences, in the last column, wrapped in the width that the others leave. A longer word gets its own line,
    /// starting further left.
    Wrapped,
}

impl Align {
    /// Returns true for a column of numbers.
    #[must_use]
    pub fn is_right(self) -> bool {
        self == Self::Right
    }
}

/// Between two columns.
const GAP: usize = 2;
/// The smallest width of a column of sentences, however narrow the terminal.
const NARROWEST: usize = 16;

impl Grid {
    /// Creates a table with a heading. Unless set otherwise, columns are aligned as for numbers.
    #[must_use]
    pub fn headed(heading: &[&str]) -> Self {
        Self {
            rows: vec![heading.iter().map(|text| Cell::plain(*text)).collect()],
            align: Vec::new(),
        }
    }

    /// Sets the alignment of the columns.
    #[must_use]
    pub fn aligned(self, align: &[Align]) -> Self {
        Self {
            align: align.to_vec(),
            ..self
        }
    }

    /// Adds a row of plain cells.
    pub fn push<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Cell::plain).collect());
    }

    /// The number of columns of the longest row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The alignment of a column.
    #[must_use]
    pub fn align(&self, column: usize) -> Align {
        let other = if column == 0 {
            Align::Left
        } else {
            Align::Right
        };
        self.align.get(column).copied().unwrap_or(other)
    }

    /// The width of each column: that of its widest cell, not counting notes.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        let columns = self.columns();
        let width = |column: usize| {
            let rows = self.rows.iter();
            let whole = rows.filter(|row| row.len() == columns || column + 1 < row.len().max(2));
            let cells = whole.filter_map(|row| row.get(column));
            cells
                .map(|cell| display_width(&cell.text))
                .max()
                .unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    /// The width of the table, in terminal columns.
    #[must_use]
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// Draws the rows in `width` terminal columns. `paint` applies the tone after the text is aligned.
    #[must_use]
    pub fn lines(&self, width: usize, paint: impl Fn(&str, Tone) -> String) -> Vec<String> {
        let widths = self.widths();
        let rows = self.rows.iter();
        rows.flat_map(|row| self.row_lines(row, &widths, width, &paint))
            .collect()
    }

    fn row_lines(
        &self,
        row: &[Cell],
        widths: &[usize],
        room: usize,
        paint: &impl Fn(&str, Tone) -> String,
    ) -> Vec<String> {
        let mut lines = vec![String::new()];
        let mut used = 0;
        for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
            let gap = if column == 0 { 0 } else { GAP };
            used += gap;
            lines[0].push_str(&" ".repeat(gap));
            let is_note = row.len() < widths.len() && column + 1 == row.len() && column > 0;
            match self.align(column) {
                _ if is_note => lines[0].push_str(&paint(&cell.text, cell.tone)),
                Align::Left => {
                    let gap = " ".repeat(width.saturating_sub(display_width(&cell.text)));
                    lines[0].push_str(&paint(&cell.text, cell.tone));
                    lines[0].push_str(&gap);
                }
                Align::Right => {
                    let gap = " ".repeat(width.saturating_sub(display_width(&cell.text)));
                    lines[0].push_str(&gap);
                    lines[0].push_str(&paint(&cell.text, cell.tone));
                }
                Align::Wrapped if cell.flow == Flow::Whole => {
                    let text = paint(&cell.text, cell.tone);
                    if lines[0].trim().is_empty() {
                        lines.clear();
                    }
                    lines.push(padded("", whole_at(&cell.text, used, room)) + &text);
                }
                Align::Wrapped => {
                    let mut texts = sentence_lines(&cell.text, used, room).into_iter();
                    let (_, first) = texts.next().unwrap_or_default();
                    lines[0].push_str(&paint(&first, cell.tone));
                    let lead = |columns| padded("", columns);
                    lines.extend(texts.map(|(at, text)| lead(at) + &paint(&text, cell.tone)));
                }
            }
            used += width;
        }
        for line in &mut lines {
            line.truncate(line.trim_end().len());
        }
        lines
    }
}

/// Returns the column where an unwrapped text begins: the column of its neighbours, or as far left as it needs.
pub(super) fn whole_at(text: &str, column: usize, room: usize) -> usize {
    room.saturating_sub(display_width(text)).min(column)
}

/// Wraps sentences that begin after `used` columns. Returns each line with the number of columns before it.
fn sentence_lines(text: &str, used: usize, width: usize) -> Vec<(usize, String)> {
    let room = width.saturating_sub(used).max(NARROWEST);
    let texts = wrapped_at_spaces(text, room);
    let is_long = |text: &String| display_width(text) > room;
    let shown_below = texts.first().is_some_and(is_long);
    let first = shown_below.then(|| (used, String::new()));
    let placed = texts.into_iter().map(|text| {
        let at = width.saturating_sub(display_width(&text)).min(used);
        (if is_long(&text) { at } else { used }, text)
    });
    first.into_iter().chain(placed).collect()
}

/// Writes the rows without tones, one line each.
impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines(usize::MAX, |text, _| text.to_owned());
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(grid: &Grid, width: usize) -> Vec<String> {
        grid.lines(width, |text, _| text.to_owned())
    }

    #[test]
    fn names_go_left_and_numbers_right() {
        let mut grid = Grid::headed(&["", "as-is", "thp=always"]);
        grid.push(["wall time", "4.21 s", "3.38 s"]);
        grid.push(["walks", "not measured ¹"]);
        let expected = [
            "            as-is  thp=always",
            "wall time  4.21 s      3.38 s",
            "walks      not measured ¹",
        ];
        assert_eq!(lines(&grid, 80), expected);
    }

    #[test]
    fn sentences_are_wrapped_in_the_last_column() {
        let mut grid = Grid::headed(&["reason", "bytes", "what it is"]).aligned(&[
            Align::Left,
            Align::Right,
            Align::Wrapped,
        ]);
        grid.push(["VMA_SMALL", "3 MiB", "The mapping spans no aligned block."]);
        let expected = [
            "reason     bytes  what it is",
            "VMA_SMALL  3 MiB  The mapping spans",
            "                  no aligned block.",
        ];
        assert_eq!(lines(&grid, 36), expected);
    }

    #[test]
    fn a_flag_is_never_broken() {
        let align = [Align::Left, Align::Wrapped];
        let mut grid = Grid::default().aligned(&align);
        grid.push([
            "java (4242)",
            "to do: Give -XX:+UseTransparentHugePages there.",
        ]);
        grid.push(["java (4243)", "-XX:+UseTransparentHugePages"]);
        let expected = [
            "java (4242)  to do: Give",
            "    -XX:+UseTransparentHugePages",
            "             there.",
            "java (4243)",
            "    -XX:+UseTransparentHugePages",
        ];
        assert_eq!(lines(&grid, 32), expected);
    }
}
