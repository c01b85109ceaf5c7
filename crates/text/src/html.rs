//! A document as HTML: fragments for a page, in which all text is escaped.

use super::document::{Bars, Block, Document, Field, Level, Paragraph, Section};
use super::grid::{Cell, Grid};
use super::{Flow, Tone, xml_escaped};

/// Draws sections. Headings begin at the second level: the first is the page's. Details are
/// folded, so what only points to them is left out.
#[must_use]
pub fn to_html(document: &Document) -> String {
    let document = document.plain();
    let parts: Vec<Part> = document.sections.iter().map(Part::of).collect();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.continues(last) => last.details.push_str(&part.details),
            _ => joined.push(part),
        }
    }
    joined.into_iter().map(Part::drawn).collect()
}

/// A section as HTML: its heading, what is shown, and what is folded.
struct Part {
    heading: Option<String>,
    first: String,
    details: String,
    /// Whether its details are notes only, which belong to what stands before them.
    has_only_notes: bool,
}

impl Part {
    fn of(section: &Section) -> Self {
        let is_shown = |(level, block): &&(Level, Block)| match level {
            Level::First => true,
            Level::Brief => matches!(block, Block::Table(_) | Block::Bars(_)),
            Level::Detail => false,
        };
        let is_detail = |(level, _): &&(Level, Block)| *level == Level::Detail;
        let drawn = |(_, it): &(Level, Block)| block(it);
        Self {
            heading: section.heading.clone(),
            first: section.blocks.iter().filter(is_shown).map(drawn).collect(),
            details: section.blocks.iter().filter(is_detail).map(drawn).collect(),
            has_only_notes: section
                .blocks
                .iter()
                .filter(is_detail)
                .all(|(_, it)| matches!(it, Block::Notes(_))),
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.details.is_empty()
    }

    /// Whether one fold is enough for both: details without a name after other details without a
    /// name, or notes after the details that they explain.
    fn continues(&self, before: &Self) -> bool {
        let is_nameless = |part: &Self| part.heading.is_none() && part.first.is_empty();
        let explains = self.has_only_notes && before.first.is_empty();
        is_nameless(self) && (is_nameless(before) || explains)
    }

    fn drawn(self) -> String {
        let (above, folded) = match (self.heading, self.first.is_empty()) {
            (Some(heading), true) => (String::new(), heading),
            (Some(heading), false) => {
                let above = format!("<h2>{}</h2>\n", xml_escaped(&heading));
                (above, "Details".to_owned())
            }
            (None, _) => (String::new(), "Details".to_owned()),
        };
        let details = match self.details.is_empty() {
            true => self.details,
            false => fold(&folded, &self.details),
        };
        format!("<section>\n{above}{}{details}</section>\n", self.first)
    }
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
        Block::Lines(lines) | Block::Painted(lines) => {
            let lines = outdented(lines).map(xml_escaped).collect::<Vec<_>>();
            format!("<pre tabindex=\"0\">{}</pre>\n", lines.join("\n"))
        }
        Block::Notes(notes) => {
            let note = |note: &String| format!("<p class=\"note\">{}</p>\n", inline(note));
            notes.iter().map(note).collect()
        }
    }
}

/// Lines without the spaces that all begin with: a frame sets them apart.
fn outdented(lines: &[String]) -> impl Iterator<Item = &str> {
    let spaces = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let with_text = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = with_text.map(spaces).min().unwrap_or(0);
    lines
        .iter()
        .map(move |line| line.get(indent..).unwrap_or(""))
}

/// Escaped text, in which words between backticks are code.
pub(crate) fn inline(text: &str) -> String {
    let escaped = xml_escaped(text);
    let parts: Vec<&str> = escaped.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped;
    }
    let drawn = parts
        .iter()
        .enumerate()
        .map(|(index, part)| match index % 2 {
            0 => (*part).to_owned(),
            _ => format!("<code>{part}</code>"),
        });
    drawn.collect()
}

fn paragraph(paragraph: &Paragraph) -> String {
    let text = inline(&paragraph.text);
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
    let label = xml_escaped(field.label.trim());
    let text = flowing(&field.text, field.flow);
    match label.is_empty() {
        true => format!("<dd>{text}</dd>\n"),
        false => format!("<dt{}>{label}</dt><dd>{text}</dd>\n", class(field.tone)),
    }
}

/// A text, which is code where it stays in one line.
fn flowing(text: &str, flow: Flow) -> String {
    match flow {
        Flow::Wrapped => inline(text),
        Flow::Whole => format!("<code>{}</code>", xml_escaped(text)),
    }
}

/// A table, which can be scrolled where it is wider than the screen.
#[must_use]
pub fn table(grid: &Grid) -> String {
    let Some((head, rows)) = grid.rows.split_first() else {
        return String::new();
    };
    let head = row(grid, head, Place::Head);
    let rows: String = rows
        .iter()
        .map(|cells| row(grid, cells, Place::Body))
        .collect();
    scrolled(&format!(
        "<table>\n<thead>\n{head}</thead>\n<tbody>\n{rows}</tbody>\n</table>"
    ))
}

fn scrolled(table: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\">{table}</div>\n")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Body,
}

fn row(grid: &Grid, cells: &[Cell], place: Place) -> String {
    let cells = cells.iter().enumerate().map(|(column, it)| {
        let is_last = column + 1 == cells.len();
        let room = grid.columns() - column;
        let span = match is_last && room > 1 {
            true => format!(" colspan=\"{room}\""),
            false => String::new(),
        };
        // The style has the usual sides: the first column to the left, the others to the right.
        let is_right = grid.align(column).is_right() && span.is_empty();
        let side = match (is_right, column) {
            (true, 0) => Some("right"),
            (false, 1..) => Some("left"),
            (true, 1..) | (false, 0) => None,
        };
        cell(it, column, place, side, &span)
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

fn cell(cell: &Cell, column: usize, place: Place, side: Option<&str>, span: &str) -> String {
    let text = flowing(cell.text.trim(), cell.flow);
    let tone = match cell.tone {
        Tone::Plain => None,
        Tone::Strong => Some("strong"),
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
    };
    let classes: Vec<&str> = tone.into_iter().chain(side).collect();
    let class = match classes.is_empty() {
        true => String::new(),
        false => format!(" class=\"{}\"", classes.join(" ")),
    };
    let (tag, scope) = match (place, column) {
        // A heading without words is none for those who listen.
        _ if text.is_empty() => ("td", ""),
        (Place::Head, _) => ("th", " scope=\"col\""),
        (Place::Body, 0) => ("th", " scope=\"row\""),
        (Place::Body, _) => ("td", ""),
    };
    format!("<{tag}{scope}{span}{class}>{text}</{tag}>")
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
            "<tr><th scope=\"row\">{label}</th><td>{count}</td><td class=\"left\" aria-hidden=\"true\">\
             <svg class=\"bars\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\">\
             <rect width=\"{share:.2}\" height=\"4\"/></svg></td></tr>\n"
        )
    };
    let rows: String = bars.bars.iter().map(row).collect();
    scrolled(&format!(
        "<table>\n<thead><tr><th scope=\"col\">{left}</th><th scope=\"col\">{right}</th>\
         <td></td></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_between_backticks_are_code() {
        assert_eq!(inline("THP is `a<b`."), "THP is <code>a&lt;b</code>.");
        assert_eq!(inline("one ` alone"), "one ` alone");
    }

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
    fn what_points_to_details_is_left_out() {
        let mut section = Section::default().with_detail("By 3 %.");
        section.push_brief("-v: by how much");
        let nameless = Section::default().with_detail("In 5 rounds.");
        let html = to_html(&Document::new([section, nameless]));
        let expected = "<section>\n<details>\n<summary>Details</summary>\n<p>By 3 %.</p>\n\
                        <p>In 5 rounds.</p>\n</details>\n</section>\n";
        assert_eq!(html, expected);
    }

    #[test]
    fn notes_stand_with_the_details_that_they_explain() {
        let table = Section::titled("All metrics").with_detail("swapped 0 †");
        let notes = Section::default().with_detail(Block::Notes(vec!["† machine-wide".to_owned()]));
        let html = to_html(&Document::new([table, notes]));
        let expected = "<section>\n<details>\n<summary>All metrics</summary>\n<p>swapped 0 †</p>\n\
                        <p class=\"note\">† machine-wide</p>\n</details>\n</section>\n";
        assert_eq!(html, expected);
    }

    #[test]
    fn lines_lose_the_indent_that_all_have() {
        let lines = ["    sort", "", "      -n"].map(str::to_owned).to_vec();
        let html = to_html(&Document::new([
            Section::default().with(Block::Lines(lines))
        ]));
        assert!(html.contains(">sort\n\n  -n</pre>"), "{html}");
    }

    #[test]
    fn a_short_row_reaches_to_the_end() {
        let mut grid = Grid::headed(&["", "a", "b"]);
        grid.push(["walks", "not measured"]);
        let html = table(&grid);
        assert!(
            html.contains("<td colspan=\"2\" class=\"left\">not measured</td>"),
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
