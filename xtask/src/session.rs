//! `docs/session.svg`: a terminal session as a picture, made from `docs/session.txt`. `xtask docs` writes it.
//!
//! The text is that of a real session, with the escapes for bold and green text that the program prints. Lines that begin with `$` are commands.

use std::fmt::Write as _;

/// The text of the session.
pub const TEXT: &str = "docs/session.txt";
/// The picture.
pub const PICTURE: &str = "docs/session.svg";

/// Width of a character, height of a line, and the margin, in pixels.
const CHARACTER: f64 = 8.4;
const LINE: usize = 19;
const MARGIN: usize = 18;
/// Height of the bar with the three buttons.
const BAR: usize = 30;

const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#24292f;white-space:pre}\
.frame{fill:#f6f8fa;stroke:#d0d7de}.bar{fill:#d0d7de}.command{fill:#0550ae;font-weight:bold}.bold{font-weight:bold}.good{fill:#116329}\
.bad{fill:#a40e26}.doubt{fill:#7d4e00}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.frame{fill:#0d1117;stroke:#30363d}.bar{fill:#30363d}.command{fill:#79c0ff}\
.good{fill:#7ee787}.bad{fill:#ff7b72}.doubt{fill:#e3b341}}";

/// Draws the session. `description` is the text for readers who do not see the picture.
pub fn picture(session: &str, description: &str) -> String {
    let lines: Vec<Vec<Span>> = session.lines().map(spans).collect();
    let length = |line: &Vec<Span>| line.iter().map(|it| it.text.chars().count()).sum();
    let columns: usize = lines.iter().map(length).max().unwrap_or(0);
    // Columns are few, so the width is exact.
    let width = (columns as f64 * CHARACTER).ceil() as usize + 2 * MARGIN;
    let height = BAR + lines.len() * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{label}\">\n<title>{label}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"frame\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        width - 1,
        height - 1,
        label = escaped(description),
    );
    for button in 0..3 {
        let _ = writeln!(
            svg,
            "<circle class=\"bar\" cx=\"{}\" cy=\"16\" r=\"5\"/>",
            MARGIN + 6 + button * 18
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let y = BAR + (index + 1) * LINE - 5;
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{}</text>",
            line.iter().map(Span::drawn).collect::<String>()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Text of one colour.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    class: &'static str,
    text: String,
}

impl Span {
    fn drawn(&self) -> String {
        let text = escaped(&self.text);
        match self.class {
            "" => text,
            class => format!("<tspan class=\"{class}\">{text}</tspan>"),
        }
    }
}

/// Splits a line at its escapes.
fn spans(line: &str) -> Vec<Span> {
    if line.starts_with('$') {
        return vec![Span {
            class: "command",
            text: line.to_owned(),
        }];
    }
    let mut parts = line.split("\u{1b}[");
    let mut spans = vec![Span {
        class: "",
        text: parts.next().unwrap_or_default().to_owned(),
    }];
    for part in parts {
        let (code, text) = part.split_once('m').unwrap_or(("0", part));
        spans.push(Span {
            class: class(code),
            text: text.to_owned(),
        });
    }
    spans.retain(|it| !it.text.is_empty());
    spans
}

/// The class of an escape's number.
fn class(code: &str) -> &'static str {
    match code {
        "1" => "bold",
        "31" => "bad",
        "32" => "good",
        "33" => "doubt",
        _ => "",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_classes() {
        let found = spans("a \u{1b}[32mbetter\u{1b}[0m b");
        let classes: Vec<_> = found
            .iter()
            .map(|it| (it.class, it.text.as_str()))
            .collect();
        assert_eq!(classes, [("", "a "), ("good", "better"), ("", " b")]);
    }

    #[test]
    fn a_picture_has_each_line_and_its_description() {
        let svg = picture("$ run\n1 < 2\n", "A \"run\"");
        assert_eq!(svg.matches("<text").count(), 2);
        assert!(svg.contains("1 &lt; 2"), "{svg}");
        assert!(svg.contains("<title>A &quot;run&quot;</title>"), "{svg}");
    }
}
