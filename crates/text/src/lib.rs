//! Text for people and for programs: what every verb is drawn with.

/// Long names in little room, still different.
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
    /// Whether tones are coloured.
    pub color: Color,
    /// How much is said.
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

/// Whether tones are coloured. Colour never carries a meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Plain text.
    Never,
    /// ANSI escapes.
    Always,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// One screen.
    Normal,
    /// All metrics that were read, all intervals, and what was looked for and not found.
    Verbose,
}

/// How a piece of text is meant.
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

/// Whether a piece of text may go on in a new line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// It is wrapped at the width of the terminal.
    #[default]
    Wrapped,
    /// It stays in one line, however long: a command or an address, which is pasted.
    Whole,
}

/// Returns text as XML has it.
#[must_use]
pub fn xml_escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML has no place for control characters.
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
