//! A screen in a frame of the terminal.

use hugewise_monitor::watch::{Body, List, SMALLEST, Screen, State};
use hugewise_text::document::Document;
use hugewise_text::plain_text::paint;
use hugewise_text::wrap::display_width;
use hugewise_text::{Color, Style as TextStyle, Verbosity, to_text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use styled_line::line;

mod styled_line;

#[cfg(test)]
mod tests;

/// Draws the state, and stores in it how many rows fit.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, color: Color) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return draw_too_small(frame, area);
    }
    let style = TextStyle {
        width: usize::from(area.width),
        color,
        verbose: Verbosity::Normal,
    };
    let screen = state.screen(style.width);
    let head = lines(&screen.head, &style);
    let top = 2 + rows(head.len());
    let (heading, body, selected) = body(&screen.body, &style);
    let fixed = top + rows(heading.len());
    let room = usize::from(area.height.saturating_sub(fixed + 1));
    state.fit(room, body.len());
    let shown = body.into_iter().enumerate().skip(state.top()).take(room);
    let shown = shown.map(|(place, line)| match selected {
        Some(selected) if selected == place => whole(line, area.width).patch_style(reversed()),
        _ => line,
    });
    let shown: Vec<_> = heading.into_iter().chain(shown).collect();
    draw_title(frame, &screen, area);
    put(frame, head, area, 2);
    put(frame, shown, area, top);
    draw_status(frame, &screen, area);
}

fn rows(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX)
}

fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Draws lines from a row, as many as fit above the last one.
fn put(frame: &mut Frame<'_>, lines: Vec<Line<'_>>, area: Rect, from: u16) {
    let last = area.height.saturating_sub(1);
    let from = from.min(last);
    let area = Rect::new(area.x, area.y + from, area.width, last - from);
    frame.render_widget(Paragraph::new(lines), area);
}

fn lines(document: &Document, style: &TextStyle) -> Vec<Line<'static>> {
    to_text(document, style).lines().map(line).collect()
}

/// The lines above the rows, the rows, and the index of the selected one.
fn body(body: &Body, style: &TextStyle) -> (Vec<Line<'static>>, Vec<Line<'static>>, Option<usize>) {
    match body {
        Body::Text(document) => (Vec::new(), lines(document, style), None),
        Body::List(List { grid, selected }) => {
            let paint = |text: &str, tone| paint(text, tone, style.color);
            let mut rows = grid.lines(style.width, paint).into_iter();
            let heading = rows.next().iter().map(|text| line(text)).collect();
            let rows = rows.map(|text| line(&text)).collect();
            (heading, rows, Some(*selected))
        }
    }
}

/// Pads the line with blanks to the end of the row.
fn whole(line: Line<'static>, columns: u16) -> Line<'static> {
    let gap = usize::from(columns).saturating_sub(line.width());
    let mut line = line;
    line.push_span(Span::raw(" ".repeat(gap)));
    line
}

/// The title, and the tabs below it.
fn draw_title(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let title = whole(Line::from(format!(" {}", screen.title)), area.width);
    let tabs = screen.tabs.iter().map(|(name, is_shown)| match is_shown {
        true => Span::styled(format!("[{name}]"), bold),
        false => Span::raw(format!(" {name} ")),
    });
    let tabs = Line::from(tabs.collect::<Vec<_>>());
    put(frame, vec![title.patch_style(reversed()), tabs], area, 0);
}

/// The last row: the keys to the left, the cost of sampling to the right.
fn draw_status(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let [left, right] = &screen.status;
    let used = display_width(left) + display_width(right) + 2;
    let gap = usize::from(area.width).saturating_sub(used);
    let text = format!(" {left}{}{right} ", " ".repeat(gap));
    let area = Rect::new(area.x, area.bottom() - 1, area.width, 1);
    frame.render_widget(Line::from(text).patch_style(reversed()), area);
}

fn draw_too_small(frame: &mut Frame<'_>, area: Rect) {
    let (columns, rows) = SMALLEST;
    let lines = [
        format!("{} × {} is too small:", area.width, area.height),
        format!("watch needs {columns} × {rows}."),
        "q quits".to_owned(),
    ];
    let lines = lines.map(Line::from);
    frame.render_widget(Paragraph::new(lines.to_vec()), area);
}
