//! A document as HTML: fragments for a page, in which all text is escaped.

use super::document::{Bars, Block, Document, Field, Level, Paragraph, Section};
use super::grid::{Cell, Grid};
use super::{Tone, xml_escaped};

/// Draws sections. Headings begin at the second level: the first is the page's. Details are
/// folded.
#[must_use]
pub fn to_html(document: &Document) -> String {
    document.sections.iter().map(section).collect()
}

fn section(section: &Section) -> String {
    let heading = section.heading.as_deref();
    let is_first = |(level, _): &&(Level, Block)| *level != Level::Detail;
    let (first, details): (Vec<_>, Vec<_>) = section.blocks.iter().partition(is_first);
    let [first, details] = [first, details].map(drawn);
    if first.is_empty() && details.is_empty() {
        return String::new();
    }
    let (above, folded) = match first.is_empty() {
        true => (None, heading.unwrap_or("Details")),
        false => (heading, "Details"),
    };
    let above = above.map_or_else(String::new, |text| {
        format!("<h2>{}</h2>\n", xml_escaped(text))
    });
    let details = match details.is_empty() {
        true => details,
        false => fold(folded, &details),
    };
    format!("<section>\n{above}{first}{details}</section>\n")
}

fn drawn(blocks: Vec<&(Level, Block)>) -> String {
    blocks.into_iter().map(|(_, it)| block(it)).collect()
}

/// What is shown when its summary is chosen.
#[must_use]
pub fn fold(summary: &str, inside: &str) -> String {
    let summary = xml_escaped(summary);
    format!("<details>\n<summary>{summary}</summary>\n{inside}</details>\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(it) => paragraph(it),
        Block::Fields(fields) if fields.is_empty() => String::new(),
        Block::Fields(fields) => {
            let rows: String = fields.iter().map(field).collect();
            format!("<dl>\n{rows}</dl>\n")
        }
        Block::Table(grid) => table(grid),
        Block::Bars(it) => bars(it),
        Block::Lines(lines) => {
            let lines: Vec<String> = lines.iter().map(|line| xml_escaped(line)).collect();
            format!("<pre tabindex=\"0\">{}</pre>\n", lines.join("\n"))
        }
        Block::Notes(notes) => {
            let note = |note: &String| format!("<p class=\"note\">{}</p>\n", xml_escaped(note));
            notes.iter().map(note).collect()
        }
    }
}

fn paragraph(paragraph: &Paragraph) -> String {
    let text = xml_escaped(&paragraph.text);
    format!("<p{}>{text}</p>\n", class(paragraph.tone))
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => " class=\"strong\"",
        Tone::Good => " class=\"good\"",
        Tone::Bad => " class=\"bad\"",
    }
}

fn field(field: &Field) -> String {
    let (label, text) = (xml_escaped(field.label.trim()), xml_escaped(&field.text));
    match label.is_empty() {
        true => format!("<dd>{text}</dd>\n"),
        false => format!("<dt{}>{label}</dt><dd>{text}</dd>\n", class(field.tone)),
    }
}

/// A table, which can be scrolled where it is wider than the screen.
#[must_use]
pub fn table(grid: &Grid) -> String {
    let Some((head, rows)) = grid.rows.split_first() else {
        return String::new();
    };
    let head = row(grid, head, Part::Head);
    let rows: String = rows
        .iter()
        .map(|cells| row(grid, cells, Part::Body))
        .collect();
    scrolled(&format!(
        "<table>\n<thead>\n{head}</thead>\n<tbody>\n{rows}</tbody>\n</table>"
    ))
}

fn scrolled(table: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\">{table}</div>\n")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Body,
}

fn row(grid: &Grid, cells: &[Cell], part: Part) -> String {
    let cells = cells.iter().enumerate().map(|(column, it)| {
        let is_last = column + 1 == cells.len();
        let room = grid.columns() - column;
        let span = match is_last && room > 1 {
            true => format!(" colspan=\"{room}\""),
            false => String::new(),
        };
        let side = match grid.align(column).is_right() && span.is_empty() {
            true => " right",
            false => "",
        };
        cell(it, column, part, side, &span)
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

fn cell(cell: &Cell, column: usize, part: Part, side: &str, span: &str) -> String {
    let text = xml_escaped(cell.text.trim());
    let tone = match cell.tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Good => "good",
        Tone::Bad => "bad",
    };
    let (tag, scope) = match (part, column) {
        // A heading without words is none for those who listen.
        _ if text.is_empty() => ("td", ""),
        (Part::Head, _) => ("th", " scope=\"col\""),
        (Part::Body, 0) => ("th", " scope=\"row\""),
        (Part::Body, _) => ("td", ""),
    };
    format!("<{tag}{scope}{span} class=\"{tone}{side}\">{text}</{tag}>")
}

fn bars(bars: &Bars) -> String {
    let [left, right] = bars.heading.each_ref().map(|text| xml_escaped(text));
    let longest = bars
        .bars
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let row = |(label, count): &(String, u64)| {
        let share = 100.0 * *count as f64 / longest as f64;
        let label = xml_escaped(label.trim());
        format!(
            "<tr><th scope=\"row\">{label}</th><td class=\"right\">{count}</td><td aria-hidden=\"true\">\
             <svg class=\"bars\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\">\
             <rect width=\"{share:.2}\" height=\"4\"/></svg></td></tr>\n"
        )
    };
    let rows: String = bars.bars.iter().map(row).collect();
    scrolled(&format!(
        "<table>\n<thead><tr><th scope=\"col\">{left}</th><th scope=\"col\" class=\"right\">{right}</th>\
         <td></td></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn details_are_folded() {
        let section = Section::titled("Answer")
            .with("It helps.")
            .with_detail("By 3 %.");
        let expected = "<section>\n<h2>Answer</h2>\n<p>It helps.</p>\n<details>\n\
                        <summary>Details</summary>\n<p>By 3 %.</p>\n</details>\n</section>\n";
        assert_eq!(to_html(&Document::new([section])), expected);
    }

    #[test]
    fn a_short_row_reaches_to_the_end() {
        let mut grid = Grid::headed(&["", "a", "b"]);
        grid.push(["walks", "not measured"]);
        let html = table(&grid);
        assert!(
            html.contains("<td colspan=\"2\" class=\"plain\">not measured</td>"),
            "{html}"
        );
    }

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in "[<>&\"'a-z/!\\-\\x00-\\x1f]{0,40}") {
            let mut grid = Grid::headed(&["", &text]);
            grid.push([text.as_str(), text.as_str()]);
            let section = Section::titled(text.clone())
                .with(text.as_str())
                .with(grid)
                .with(vec![Field::new(text.clone(), text.clone())])
                .with(Block::Lines(vec![text.clone()]))
                .with_detail(Block::Notes(vec![text.clone()]))
                .with_detail(Bars { heading: [text.clone(), text.clone()], bars: vec![(text, 1)] });
            let html = to_html(&Document::new([section]));
            for tag in html.split('<').skip(1) {
                let name = tag.trim_start_matches('/');
                let name = name.split(['>', ' ', '/']).next().unwrap_or_default();
                let known = ["section", "h2", "p", "div", "table", "thead", "tbody", "tr", "th",
                    "td", "dl", "dt", "dd", "pre", "details", "summary", "svg", "rect"];
                prop_assert!(known.contains(&name), "{name}: {html}");
            }
        }
    }
}
