//! Converts text with the colours of documents to lines of the terminal's screen.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Converts one line. Supports the escape sequences that `text::plain_text::paint` and the map write.
pub(super) fn line(text: &str) -> Line<'static> {
    let mut style = Style::new();
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default();
    let mut spans = vec![Span::raw(first.to_owned())];
    for piece in pieces {
        let (codes, rest) = piece.split_once('m').unwrap_or(("", piece));
        style = codes.split(';').fold(style, with);
        spans.push(Span::styled(rest.to_owned(), style));
    }
    spans.retain(|span| !span.content.is_empty());
    Line::from(spans)
}

fn with(style: Style, code: &str) -> Style {
    const COLORS: [Color; 8] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    let color = |from: usize, number: usize| COLORS.get(number - from).copied();
    match code.parse::<usize>() {
        Ok(0) => Style::new(),
        Ok(1) => style.add_modifier(Modifier::BOLD),
        Ok(2) => style.add_modifier(Modifier::DIM),
        Ok(number @ 30..=37) => color(30, number).map_or(style, |color| style.fg(color)),
        Ok(number @ 40..=47) => color(40, number).map_or(style, |color| style.bg(color)),
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted_text_has_its_colours_and_no_escapes() {
        let line = line("faults \x1b[31m12/s\x1b[0m · \x1b[42;30mH\x1b[0m");
        let spans = [
            Span::raw("faults "),
            Span::styled("12/s", Style::new().fg(Color::Red)),
            Span::raw(" · "),
            Span::styled("H", Style::new().bg(Color::Green).fg(Color::Black)),
        ];
        assert_eq!(line, Line::from(spans.to_vec()));
    }
}
