//! Text for people and for programs: draws the output of every verb.

/// Shortens long names and keeps them distinct.
pub mod apart;
pub mod csv;
pub mod document;
pub mod ends;
pub mod figure;
pub mod grid;
pub mod html;
pub mod markdown;
pub mod number;
pub mod otlp;
pub mod page;
pub mod plain_text;
pub mod suggest;
pub mod svg;
pub mod wrap;

pub use markdown::to_markdown;
pub use plain_text::to_text;

/// How text is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
    /// Sets if tones are coloured.
    pub color: Color,
    /// The amount of detail.
    pub verbose: Verbosity,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            width: 80,
            color: Color::Never,
            verbose: Verbosity::Normal,
        }
    }
}

/// Switches coloured tones on or off. The text always carries the meaning too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Plain text.
    Never,
    /// ANSI escapes.
    Always,
}

/// The amount of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// One screen.
    Normal,
    /// All metrics and intervals, and checks that found nothing.
    Verbose,
}

/// The meaning of a piece of text: good, bad or plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// The answer.
    Strong,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
}

/// Sets if a text can wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Wrapped at the width of the terminal.
    #[default]
    Wrapped,
    /// On one line, however long: a command or an address, for pasting.
    Whole,
}

/// Escapes text for XML.
#[must_use]
pub fn xml_escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML does not allow control characters.
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
