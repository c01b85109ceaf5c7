//! What a verb says: built once, drawn as text, Markdown and HTML by one module each.
//!
//! A document is sections of blocks. Each block is for the first screen or a detail; a drawing
//! for people shows details where it is asked to, so that every verb has the same two levels.
//! What only points to the details is left out where they are shown.

use super::grid::Grid;
use super::{Flow, Tone, Verbosity};
use hugewise_base::plain::{is_obeyed, plain};

/// What a verb says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// In order; a blank line lies between two that are shown.
    pub sections: Vec<Section>,
}

/// Blocks that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// What they are about, in a few words.
    pub heading: Option<String>,
    /// In order.
    pub blocks: Vec<(Level, Block)>,
}

/// Who is shown a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everybody: it is part of the first screen.
    #[default]
    First,
    /// Those who ask for details (`--verbose`).
    Detail,
    /// Those who do not: it points to the details, or a detail replaces it.
    Brief,
}

/// One thing that is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Running text.
    Paragraph(Paragraph),
    /// Labels with a text each, the texts in one column.
    Fields(Vec<Field>),
    /// Aligned columns.
    Table(Grid),
    /// Bars of one scale, such as a histogram.
    Bars(Bars),
    /// Lines that are never wrapped: a command to paste, a map, a curve.
    Lines(Vec<String>),
    /// The same in colours of its own, with no text but ours.
    Painted(Vec<String>),
    /// Footnotes and legends, one each.
    Notes(Vec<String>),
}

/// Running text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paragraph {
    /// What it says, in one line; drawing wraps it.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Spaces before its first line.
    pub indent: usize,
    /// More spaces before each further line.
    pub hang: usize,
}

/// A label and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// A word or two.
    pub label: String,
    /// What is said of it.
    pub text: String,
    /// How the label is meant.
    pub tone: Tone,
    /// Whether the text may go on in a new line.
    pub flow: Flow,
}

/// Bars of one scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bars {
    /// What the labels and the counts are.
    pub heading: [String; 2],
    /// Label and length; the longest bar fills the room.
    pub bars: Vec<(String, u64)>,
}

impl Document {
    /// A document of these sections.
    #[must_use]
    pub fn new(sections: impl IntoIterator<Item = Section>) -> Self {
        Self {
            sections: sections.into_iter().collect(),
        }
    }

    /// The same with its details on the first screen, for a reader who can scroll.
    #[must_use]
    pub fn with_details(mut self) -> Self {
        for section in &mut self.sections {
            section.blocks.retain(|(level, _)| *level != Level::Brief);
            for (level, _) in &mut section.blocks {
                *level = Level::First;
            }
        }
        self
    }

    /// The same with nothing in it that a terminal obeys, or that ends a line: what draws a document draws this.
    #[must_use]
    pub(super) fn plain(&self) -> Self {
        let mut all = self.clone();
        for section in &mut all.sections {
            section.heading.iter_mut().for_each(make_plain);
            let blocks = section.blocks.iter_mut().map(|(_, block)| block);
            blocks.for_each(Block::make_plain);
        }
        all
    }

    /// Adds a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }
}

fn make_plain(text: &mut String) {
    if text.contains(is_obeyed) {
        *text = plain(text);
    }
}

impl Block {
    fn make_plain(&mut self) {
        match self {
            Self::Paragraph(paragraph) => make_plain(&mut paragraph.text),
            Self::Fields(fields) => fields.iter_mut().for_each(|field| {
                make_plain(&mut field.label);
                make_plain(&mut field.text);
            }),
            Self::Table(grid) => {
                let cells = grid.rows.iter_mut().flatten();
                cells.for_each(|cell| make_plain(&mut cell.text));
            }
            Self::Bars(bars) => {
                let labels = bars.bars.iter_mut().map(|(label, _)| label);
                bars.heading.iter_mut().chain(labels).for_each(make_plain);
            }
            Self::Lines(lines) | Self::Notes(lines) => lines.iter_mut().for_each(make_plain),
            Self::Painted(_) => {}
        }
    }
}

impl Section {
    /// A section with a heading.
    #[must_use]
    pub fn titled(heading: impl Into<String>) -> Self {
        Self {
            heading: Some(heading.into()),
            blocks: Vec::new(),
        }
    }

    /// Adds a block to the first screen.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push((Level::First, block.into()));
    }

    /// Adds a detail.
    pub fn push_detail(&mut self, block: impl Into<Block>) {
        self.blocks.push((Level::Detail, block.into()));
    }

    /// Adds a block that details replace.
    pub fn push_brief(&mut self, block: impl Into<Block>) {
        self.blocks.push((Level::Brief, block.into()));
    }

    /// The same with one more block on the first screen.
    #[must_use]
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        self.push(block);
        self
    }

    /// The same with one more detail.
    #[must_use]
    pub fn with_detail(mut self, block: impl Into<Block>) -> Self {
        self.push_detail(block);
        self
    }

    /// The blocks that are shown with details, or without.
    pub fn shown(&self, verbosity: Verbosity) -> impl Iterator<Item = &Block> {
        let left_out = match verbosity {
            Verbosity::Normal => Level::Detail,
            Verbosity::Verbose => Level::Brief,
        };
        let shown = self.blocks.iter().filter(move |(own, _)| *own != left_out);
        shown.map(|(_, block)| block)
    }
}

impl Paragraph {
    /// Plain text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The same in a tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// The same after so many spaces.
    #[must_use]
    pub fn indent(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// The same with so many more spaces before its further lines.
    #[must_use]
    pub fn hang(self, hang: usize) -> Self {
        Self { hang, ..self }
    }
}

impl Field {
    /// A label and its text.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// A label and a command or an address, which stays in one line.
    #[must_use]
    pub fn whole(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            flow: Flow::Whole,
            ..Self::new(label, text)
        }
    }

    /// The same with its label in a tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl From<Paragraph> for Block {
    fn from(paragraph: Paragraph) -> Self {
        Self::Paragraph(paragraph)
    }
}

impl From<Vec<Field>> for Block {
    fn from(fields: Vec<Field>) -> Self {
        Self::Fields(fields)
    }
}

impl From<Grid> for Block {
    fn from(grid: Grid) -> Self {
        Self::Table(grid)
    }
}

impl From<Bars> for Block {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::Paragraph(Paragraph::new(text))
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::Paragraph(Paragraph::new(text))
    }
}
