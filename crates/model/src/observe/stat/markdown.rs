//! For a pull request: the table of intervals.

use std::fmt::{self, Write};

use super::text::{cell, columns, mark, target};
use super::{Header, Interval};

/// The columns of the text, as a Markdown table.
///
/// # Errors
/// Only those of `out`.
pub fn render_markdown(
    header: &Header,
    intervals: &[Interval],
    out: &mut impl Write,
) -> fmt::Result {
    writeln!(out, "{}.\n", target(&header.target).replace('|', "\\|"))?;
    write!(out, "| time |")?;
    for column in columns(header) {
        write!(out, " {}{} |", column.head, mark(header, column.reading))?;
    }
    writeln!(out)?;
    writeln!(out, "|---:|{}", "---:|".repeat(columns(header).count()))?;
    for interval in intervals {
        write!(out, "| {:.1} |", interval.end_ns as f64 / 1e9)?;
        for column in columns(header) {
            write!(out, " {} |", cell(interval, column))?;
        }
        writeln!(out)?;
    }
    if let Some(missing) = header.hardware.missing() {
        writeln!(out, "\nNo page walks, misses or cycles: {missing}.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{header, interval};
    use super::*;

    #[test]
    fn every_row_has_the_same_columns() {
        let mut text = String::new();
        render_markdown(&header(), &[interval(0), interval(1)], &mut text).unwrap();
        let rows: Vec<usize> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.matches('|').count())
            .collect();
        assert_eq!(rows, [12; 4], "{text}");
        assert!(text.contains("| 10.0 | 1.20 |"), "{text}");
    }
}
