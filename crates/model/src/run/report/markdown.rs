//! For a comment in an issue or a pull request.

use std::fmt::{self, Write};

use super::advice::{self, Advice};
use super::answer::is_said;
use super::blocks::{blocks, legend};
use super::notes::{self, Notes};
use super::section::sections;
use super::{Report, text};
use crate::run::findings::Outcome;
use crate::text::Color;
use crate::text::Style;
use crate::text::Verbosity;
use crate::text::grid::Cell;
use crate::text::grid::Grid;
use crate::text::wrap::plain;

/// Wide enough for every policy side by side: Markdown wraps by itself.
const WIDE: Style = Style {
    width: usize::MAX,
    color: Color::Never,
    verbose: Verbosity::Normal,
};

/// Draws a report as Markdown.
///
/// # Errors
/// Only those of `out`.
pub fn render_markdown(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    for answer in report.answers() {
        writeln!(out, "**{}**\n", escaped(&answer))?;
    }
    advice(report, out)?;
    let footnotes = Notes::default();
    let (mut drawn, mut legends) = (Vec::new(), Vec::new());
    for section in sections(report) {
        if let Some(title) = &section.title {
            writeln!(out, "{}\n", escaped(title))?;
        }
        for block in blocks(report, &section, &WIDE, &footnotes) {
            grid(&block, out)?;
            drawn.push(block);
        }
        legends.extend(legend(&section));
        legends.extend(report.cell_legend(&section));
    }
    legends.extend(notes::signs(report, &drawn, &footnotes));
    list(&legends, out)?;
    drawings(report, out)?;
    findings(report, out)?;
    let mut foot = notes::doubts(report);
    foot.extend(footnotes.lines());
    foot.extend(notes::circumstances(report));
    foot.extend(
        report
            .record_path
            .iter()
            .map(|path| format!("Record: {}", plain(path))),
    );
    list(&foot, out)
}

fn advice(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    let lines = advice::advice(report);
    for line in &lines {
        match line {
            Advice::Sentence(text) => writeln!(out, "- {}", escaped(text))?,
            Advice::Command { lead, command } => writeln!(out, "- {lead} {}", code(command))?,
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)
}

/// Text that is to be copied as it stands.
fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// Curves, of a bench that has some: in characters, which every renderer of Markdown shows.
fn drawings(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    const COLUMNS: usize = 80;
    for drawing in report.drawings(COLUMNS) {
        writeln!(out, "```text\n{}\n```\n", drawing.join("\n"))?;
    }
    Ok(())
}

fn list(lines: &[String], out: &mut impl Write) -> fmt::Result {
    for line in lines {
        writeln!(out, "- {}", escaped(line))?;
    }
    if lines.is_empty() {
        Ok(())
    } else {
        writeln!(out)
    }
}

fn grid(grid: &Grid, out: &mut impl Write) -> fmt::Result {
    let columns = grid.widths().len();
    for (index, row) in grid.rows.iter().enumerate() {
        let mut cells: Vec<String> = row.iter().map(cell).collect();
        cells.resize(columns, String::new());
        writeln!(out, "| {} |", cells.join(" | "))?;
        if index == 0 {
            writeln!(out, "|---{}|", "|--:".repeat(columns.saturating_sub(1)))?;
        }
    }
    writeln!(out)
}

fn cell(cell: &Cell) -> String {
    escaped(&cell.text)
}

fn findings(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    let said = report
        .findings
        .iter()
        .filter(|f| f.outcome != Outcome::NotShown && !is_said(f));
    let lines: Vec<String> = said
        .map(|f| format!("{}, {}: {}", text::heading(f.outcome), f.id, plain(&f.text)))
        .collect();
    list(&lines, out)
}

/// Characters that Markdown or HTML would take for its own. `~` and `=` are kept: alone in a
/// cell they mean nothing to it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '@' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(
            escaped("a|b <img> *x* [y](z)"),
            "a\\|b &lt;img> \\*x\\* \\[y\\](z)"
        );
    }
}
