//! A document as text for a terminal.

use super::document::{Bars, Block, Document, Field, Level, Paragraph, Section};
use super::grid::whole_at;
use super::wrap::{display_width, padded, wrapped};
use super::{Color, Flow, Style, Tone, Verbosity};

/// The smallest width; narrower terminals are treated as this wide.
const NARROWEST: usize = 40;

/// Draws a document for a terminal.
#[must_use]
pub fn to_text(document: &Document, style: &Style) -> String {
    let style = Style {
        width: style.width.max(NARROWEST),
        ..*style
    };
    let document = document.plain();
    let sections = document.sections.iter();
    let drawn = sections
        .map(|section| section_lines(section, &style))
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n") + "\n");
    drawn.collect::<Vec<_>>().join("\n")
}

/// Returns the level of detail of a style.
#[must_use]
pub fn level(verbosity: Verbosity) -> Level {
    match verbosity {
        Verbosity::Normal => Level::First,
        Verbosity::Verbose => Level::Detail,
    }
}

/// Returns the lines of a section. A heading with nothing below it is omitted.
fn section_lines(section: &Section, style: &Style) -> Vec<String> {
    let blocks = section.shown(style.verbose);
    let below: Vec<String> = blocks.flat_map(|block| block_lines(block, style)).collect();
    let heading = section.heading.iter().filter(|_| !below.is_empty());
    let heading = heading.map(|heading| paint(heading, Tone::Strong, style.color));
    heading.chain(below.iter().cloned()).collect()
}

fn block_lines(block: &Block, style: &Style) -> Vec<String> {
    match block {
        Block::Paragraph(paragraph) => paragraph_lines(paragraph, style),
        Block::Fields(fields) => field_lines(fields, style),
        Block::Table(grid) => grid.lines(style.width, |text, tone| paint(text, tone, style.color)),
        Block::Bars(bars) => bar_lines(bars, style.width),
        Block::Lines(lines) | Block::Painted(lines) => lines.clone(),
        Block::Notes(notes) => notes
            .iter()
            .flat_map(|note| wrapped(note, style.width, 2))
            .collect(),
    }
}

fn paragraph_lines(paragraph: &Paragraph, style: &Style) -> Vec<String> {
    let room = style.width.saturating_sub(paragraph.indent);
    let lead = " ".repeat(paragraph.indent);
    let lines = wrapped(&paragraph.text, room, paragraph.hang).into_iter();
    lines
        .map(|line| format!("{lead}{}", paint(&line, paragraph.tone, style.color)))
        .collect()
}

/// The texts start in one column, two spaces after the longest label.
fn field_lines(fields: &[Field], style: &Style) -> Vec<String> {
    let labels = fields.iter().map(|field| display_width(&field.label));
    let column = labels.max().unwrap_or(0) + 2;
    let room = style.width.saturating_sub(column);
    let lines = fields.iter().flat_map(|field| {
        let label = paint(&padded(&field.label, column), field.tone, style.color);
        if field.flow == Flow::Whole {
            return whole_lines(&label, column, &field.text, style.width);
        }
        let texts = wrapped(&field.text, room, 0).into_iter().enumerate();
        let lines = texts.map(move |(index, text)| {
            let lead = if index == 0 {
                label.clone()
            } else {
                " ".repeat(column)
            };
            format!("{lead}{text}").trim_end().to_owned()
        });
        lines.collect::<Vec<_>>()
    });
    lines.collect()
}

/// Returns a text that must not wrap: after its label if it fits there, otherwise below it.
fn whole_lines(label: &str, column: usize, text: &str, width: usize) -> Vec<String> {
    let at = whole_at(text, column, width);
    let below = format!("{}{text}", " ".repeat(at));
    match label.trim().is_empty() {
        true => vec![below],
        false if at == column => vec![format!("{label}{text}")],
        false => vec![label.trim_end().to_owned(), below],
    }
}

/// A non-zero bar always has a mark, however short.
fn bar_lines(bars: &Bars, width: usize) -> Vec<String> {
    let [left, right] = &bars.heading;
    let all = || bars.bars.iter();
    let label = all().map(|(label, _)| display_width(label));
    let label = label.chain([display_width(left)]).max().unwrap_or(0);
    let counts: Vec<String> = all().map(|(_, count)| count.to_string()).collect();
    let count = counts.iter().map(String::len);
    let count = count.chain([display_width(right)]).max().unwrap_or(0);
    let room = width.saturating_sub(label + count + 4).clamp(8, 50);
    let most = all().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let head = format!("{left:>label$}  {}  {right:>count$}", " ".repeat(room));
    let rows = all().zip(&counts).map(|((name, length), text)| {
        let marks = (u128::from(*length) * room as u128).div_ceil(u128::from(most));
        let bar = "█".repeat(marks as usize);
        let gap = " ".repeat(label.saturating_sub(display_width(name)));
        format!("{gap}{name}  {}  {text:>count$}", padded(&bar, room))
    });
    std::iter::once(head).chain(rows).collect()
}

/// Applies the colour of a tone. The text always carries the meaning too.
#[must_use]
pub fn paint(text: &str, tone: Tone, color: Color) -> String {
    let code = match (color, tone) {
        (Color::Never, _) | (_, Tone::Plain) => return text.to_owned(),
        (_, Tone::Strong) => "1",
        (_, Tone::Good) => "32",
        (_, Tone::Bad) => "31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Cell, Grid};
    use expect_test::expect;

    fn document() -> Document {
        let row = |cells: &[&str]| cells.iter().map(|text| Cell::plain(*text)).collect();
        let grid = Grid {
            rows: vec![
                row(&["", "as-is", "thp=never"]),
                row(&["wall time", "1.20 s", "1.60 s"]),
            ],
            ..Grid::default()
        };
        let mut first = Section::default();
        first.push(Paragraph::new("Huge pages help: keep them.").tone(Tone::Strong));
        first.push(grid);
        first.push_detail(Block::Notes(vec!["¹ no hardware counters".to_owned()]));
        let second = Section::titled("Machine").with_detail(vec![
            Field::new("kernel", "Linux 6.18"),
            Field::new("pages", "4 KiB and 2 MiB"),
        ]);
        let bars = Bars {
            heading: ["µs".to_owned(), "count".to_owned()],
            bars: vec![("8".to_owned(), 1), ("16".to_owned(), 400)],
        };
        Document::new([first, second, Section::titled("Latency").with(bars)])
    }

    #[test]
    fn the_first_screen_leaves_details_out() {
        let style = Style {
            width: 44,
            ..Style::default()
        };
        expect![[r#"
            Huge pages help: keep them.
                        as-is  thp=never
            wall time  1.20 s     1.60 s

            Latency
            µs                                     count
             8  █                                      1
            16  █████████████████████████████████    400
        "#]]
        .assert_eq(&to_text(&document(), &style));
    }

    #[test]
    fn details_are_shown_where_they_are_asked_for() {
        let style = Style {
            verbose: Verbosity::Verbose,
            ..Style::default()
        };
        let text = to_text(&document(), &style);
        assert!(text.contains("¹ no hardware counters\n\nMachine\nkernel  Linux 6.18\n"));
    }

    #[test]
    fn nothing_in_a_document_is_obeyed() {
        let hostile = "a\u{1b}[2J\n\u{9b}\u{202e}b";
        let bars = Bars {
            heading: [hostile.to_owned(), hostile.to_owned()],
            bars: vec![(hostile.to_owned(), 1)],
        };
        let grid = Grid {
            rows: vec![vec![Cell::plain(hostile), Cell::whole(hostile)]],
            ..Grid::default()
        };
        let section = Section::titled(hostile)
            .with(Paragraph::new(hostile))
            .with(vec![Field::new(hostile, hostile)])
            .with(grid)
            .with(bars)
            .with(Block::Lines(vec![hostile.to_owned()]))
            .with(Block::Notes(vec![hostile.to_owned()]));
        let document = Document::new([section]);
        let drawn = [
            to_text(&document, &Style::default()),
            crate::to_markdown(&document, Verbosity::Verbose),
        ];
        for text in drawn {
            assert!(
                !text.contains(|c: char| c != '\n' && hugewise_base::plain::is_obeyed(c)),
                "{text:?}"
            );
            assert!(
                !text.lines().any(|line| line.starts_with("\\u{9b}")),
                "{text}"
            );
        }
    }

    #[test]
    fn tones_are_colours_where_there_are_colours() {
        let style = Style {
            color: Color::Always,
            ..Style::default()
        };
        let text = to_text(&document(), &style);
        assert!(text.starts_with("\u{1b}[1mHuge pages help: keep them.\u{1b}[0m\n"));
    }
}
