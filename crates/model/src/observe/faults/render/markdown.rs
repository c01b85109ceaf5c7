//! For a pull request.

use std::io::{self, Write};

use super::footnotes::footnotes;
use super::tables::tables;
use super::{headline, matters};
use crate::observe::faults::summary::Summary;
use crate::text::Style;
use crate::text::grid::Grid;

/// Writes the summary for a pull request.
///
/// # Errors
/// The writer failed.
pub fn render_markdown(summary: &Summary, style: &Style, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "**{}**", headline(summary))?;
    for remark in &summary.books.remarks {
        writeln!(out, "\n{remark}")?;
    }
    if summary.total.faults == 0 {
        return Ok(());
    }
    for (title, grid) in tables(summary, style) {
        writeln!(out, "\n### {title}\n")?;
        markdown_table(&grid, out)?;
    }
    for shape in summary
        .shapes
        .iter()
        .filter(|shape| matters(shape, summary))
    {
        let sentence = shape.sentence(&summary.conditions);
        writeln!(out, "\n* **{}**: {sentence}", shape.title())?;
    }
    writeln!(out)?;
    footnotes(summary)
        .iter()
        .try_for_each(|note| writeln!(out, "{note}"))
}

fn markdown_table(grid: &Grid, out: &mut impl Write) -> io::Result<()> {
    let columns = grid.rows.iter().map(Vec::len).max().unwrap_or(0);
    for (index, row) in grid.rows.iter().enumerate() {
        let cell = |column: usize| row.get(column).map_or("", |cell| cell.text.as_str());
        let cells: Vec<String> = (0..columns)
            .map(|column| cell(column).replace('|', "\\|"))
            .collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
        if index == 0 {
            writeln!(out, "|---{}|", "|--:".repeat(columns - 1))?;
        }
    }
    Ok(())
}
