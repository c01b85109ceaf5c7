//! Aligned columns: the first to the left, the others to the right.

use std::fmt;

use super::Tone;

/// One cell: what it says, and how it is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Good, bad or plain; the text says it too.
    pub tone: Tone,
}

impl Cell {
    /// A cell that is neither good nor bad.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// Rows of cells; the first row is the heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The rows; shorter ones end early.
    pub rows: Vec<Vec<Cell>>,
}

/// Between two columns.
const GAP: usize = 2;

impl Grid {
    /// Width of each column: that of its widest cell. A cell that ends its row early (a note
    /// instead of values) may reach over the columns to its right.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        (0..columns)
            .map(|column| {
                let cells = self
                    .rows
                    .iter()
                    .filter(|row| row.len() == columns || column == 0);
                cells
                    .filter_map(|row| row.get(column))
                    .map(Cell::width)
                    .max()
                    .unwrap_or(0)
            })
            .collect()
    }

    /// Columns of text that the rows take.
    #[must_use]
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// Draws the rows; `paint` gives a text its tone after it has been aligned.
    #[must_use]
    pub fn lines(&self, paint: impl Fn(&str, Tone) -> String) -> Vec<String> {
        let widths = self.widths();
        self.rows
            .iter()
            .map(|row| line(row, &widths, &paint))
            .collect()
    }
}

/// The rows without tones, each with its end of line.
impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines(|text, _| text.to_owned());
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

fn line(row: &[Cell], widths: &[usize], paint: &impl Fn(&str, Tone) -> String) -> String {
    let mut line = String::new();
    for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.width()));
        let text = paint(&cell.text, cell.tone);
        if column == 0 {
            line.push_str(&text);
            line.push_str(&pad);
        } else {
            line.push_str(&" ".repeat(GAP));
            let note = row.len() < widths.len();
            line.push_str(if note { "" } else { &pad });
            line.push_str(&text);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_left_and_numbers_right() {
        let row = |cells: &[&str]| cells.iter().map(|text| Cell::plain(*text)).collect();
        let grid = Grid {
            rows: vec![
                row(&["", "as-is", "thp=always"]),
                row(&["wall time", "4.21 s", "3.38 s"]),
                row(&["walks", "not measured ¹"]),
            ],
        };
        let lines = grid.lines(|text, _| text.to_owned());
        let expected = [
            "            as-is  thp=always",
            "wall time  4.21 s      3.38 s",
            "walks      not measured ¹",
        ];
        assert_eq!(lines, expected);
    }
}
