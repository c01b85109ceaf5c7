//! A document as Markdown, for a pull request or a wiki.

use super::document::{Bars, Block, Document, Field, Section};
use super::grid::Grid;
use super::{Flow, Verbosity};

/// Draws a document as Markdown. Headings begin at the second level: the first is the page's.
#[must_use]
pub fn to_markdown(document: &Document, verbosity: Verbosity) -> String {
    let document = document.plain();
    let sections = document.sections.iter();
    let drawn = sections.flat_map(|section| section_parts(section, verbosity));
    let mut text = drawn.collect::<Vec<_>>().join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn section_parts(section: &Section, verbosity: Verbosity) -> Vec<String> {
    let blocks = section.shown(verbosity);
    let below: Vec<String> = blocks.map(block).filter(|text| !text.is_empty()).collect();
    let heading = section.heading.iter().filter(|_| !below.is_empty());
    let heading = heading.map(|heading| format!("## {}", escaped(heading)));
    heading.chain(below.iter().cloned()).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(paragraph) => escaped(&paragraph.text),
        Block::Fields(fields) => list(fields.iter().map(field)),
        Block::Table(grid) => table(grid),
        Block::Bars(bars) => bar_table(bars),
        Block::Lines(lines) | Block::Painted(lines) => {
            format!("```text\n{}\n```", lines.join("\n"))
        }
        Block::Notes(notes) => list(notes.iter().map(|note| escaped(note))),
    }
}

fn list(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("- {line}")).collect();
    lines.join("\n")
}

fn field(field: &Field) -> String {
    let label = escaped(field.label.trim());
    let text = flowing(&field.text, field.flow);
    match label.is_empty() {
        true => text,
        false => format!("**{label}**: {text}"),
    }
}

/// Returns a text, as code if it must not wrap. A vertical bar would end a table cell even inside code.
fn flowing(text: &str, flow: Flow) -> String {
    match flow {
        Flow::Whole if !text.contains('`') => format!("`{}`", text.replace('|', "\\|")),
        _ => escaped(text),
    }
}

fn table(grid: &Grid) -> String {
    let columns = grid.columns();
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rows = grid.rows.iter().map(|cells| {
        let mut cells: Vec<String> = cells
            .iter()
            .map(|cell| flowing(&cell.text, cell.flow))
            .collect();
        cells.resize(columns, String::new());
        row(cells)
    });
    let rule = (0..columns).map(|column| match grid.align(column).is_right() {
        true => "--:",
        false => "---",
    });
    let rule = format!("|{}|", rule.collect::<Vec<_>>().join("|"));
    let mut lines: Vec<String> = rows.collect();
    lines.insert(lines.len().min(1), rule);
    lines.join("\n")
}

fn bar_table(bars: &Bars) -> String {
    let [left, right] = &bars.heading;
    let head = format!("| {} | {} |\n|--:|--:|", escaped(left), escaped(right));
    let rows = bars.bars.iter();
    let rows = rows.map(|(label, count)| format!("| {} | {count} |", escaped(label)));
    std::iter::once(head)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Escapes characters that are special in Markdown or HTML. `~` and `=` are kept: a single one in a cell has no special
/// meaning.
#[must_use]
pub fn escaped(text: &str) -> String {
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
    use crate::document::Paragraph;
    use crate::grid::Cell;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(
            escaped("a|b <img> *x* [y](z)"),
            "a\\|b &lt;img> \\*x\\* \\[y\\](z)"
        );
    }

    #[test]
    fn blocks_are_markdown() {
        let row = |cells: &[&str]| cells.iter().map(|text| Cell::plain(*text)).collect();
        let section = Section::titled("Answer")
            .with(Paragraph::new("It helps."))
            .with(Grid {
                rows: vec![row(&["", "a"]), row(&["time", "1 s"])],
                ..Grid::default()
            })
            .with(vec![Field::new("kernel", "6.18")])
            .with(Block::Lines(vec!["hugewise exec".to_owned()]));
        let expected = "## Answer\n\nIt helps.\n\n|  | a |\n|---|--:|\n| time | 1 s |\n\n\
                        - **kernel**: 6.18\n\n```text\nhugewise exec\n```\n";
        let document = Document::new([section]);
        assert_eq!(to_markdown(&document, Verbosity::Normal), expected);
    }
}
