//! The output of a verb: built once, and drawn as text, Markdown and HTML by one module each.
//!
//! A document is sections of blocks. Each block belongs to the first screen or to the details. The text and Markdown
//! views show details only on request, so every verb has the same two levels. Blocks that only point to the details are
//! left out when those are shown.

use super::grid::Grid;
use super::{Flow, Tone, Verbosity};
use hugewise_base::plain::{is_obeyed, plain};

/// The output of a verb.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// In order, with a blank line between two that produce output.
    pub sections: Vec<Section>,
}

/// Blocks that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The subject of the blocks, in a few words.
    pub heading: Option<String>,
    /// In order.
    pub blocks: Vec<(Level, Block)>,
}

/// The readers who see a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everybody: part of the first screen.
    #[default]
    First,
    /// Readers who ask for details (`--verbose`).
    Detail,
    /// Readers who do not ask for details: the block points to the details, or a detail replaces it.
    Brief,
}

/// One piece of output.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Running text.
    Paragraph(Paragraph),
    /// Labels, each with a text; the texts share one column.
    Fields(Vec<Field>),
    /// Aligned columns.
    Table(Grid),
    /// Bars on one scale, such as a histogram.
    Bars(Bars),
    /// Lines that never wrap: a command to paste, a map, a curve.
    Lines(Vec<String>),
    /// Lines that bring their own colours, and contain only text that hugewise wrote.
    Painted(Vec<String>),
    /// Footnotes and legends, one each.
    Notes(Vec<String>),
}

/// Running text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paragraph {
    /// The text, as one line; drawing wraps it.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Spaces before the first line.
    pub indent: usize,
    /// Additional spaces before each further line.
    pub hang: usize,
}

/// A label and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// A word or two.
    pub label: String,
    /// The text next to the label.
    pub text: String,
    /// The tone of the label.
    pub tone: Tone,
    /// Sets if the text can wrap.
    pub flow: Flow,
}

/// Bars of one scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bars {
    /// The headings of the labels and of the counts.
    pub heading: [String; 2],
    /// Label and length; the longest bar fills the available width.
    pub bars: Vec<(String, u64)>,
}

impl Document {
    /// Creates a document of these sections.
    #[must_use]
    pub fn new(sections: impl IntoIterator<Item = Section>) -> Self {
        Self {
            sections: sections.into_iter().collect(),
        }
    }

    /// Moves the details to the first screen, for a reader who can scroll.
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

    /// Makes all text safe for a terminal: without control characters or line ends. Every view draws this copy.
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
    /// Creates a section with a heading.
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

    /// Returns the section with one more block on the first screen.
    #[must_use]
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        self.push(block);
        self
    }

    /// Returns the section with one more detail.
    #[must_use]
    pub fn with_detail(mut self, block: impl Into<Block>) -> Self {
        self.push_detail(block);
        self
    }

    /// The blocks to show, with or without details.
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

    /// Sets the tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Sets the indent, in spaces.
    #[must_use]
    pub fn indent(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Sets the additional indent of further lines, in spaces.
    #[must_use]
    pub fn hang(self, hang: usize) -> Self {
        Self { hang, ..self }
    }
}

impl Field {
    /// Creates a label with its text.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a label with a command or an address, which never wraps.
    #[must_use]
    pub fn whole(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            flow: Flow::Whole,
            ..Self::new(label, text)
        }
    }

    /// Sets the tone of the label.
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
