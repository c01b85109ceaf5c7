//! The address space as a picture: one cell for each huge-page range.

use crate::inspect::reasons::{Judgement, State};
use hugewise_base::units::bytes_text;
use hugewise_text::document::{Block, Document, Section};
use hugewise_text::{Color, Style};

use super::Inspection;

/// The largest number of equal cells drawn one by one. A longer run is one cell with its count.
const MOST_ALIKE: u64 = 24;

/// The indentation of a line of cells, in columns.
const INDENT: usize = 2;

/// One kind of cell: letter, ANSI colour, meaning.
pub(super) type Cell = (char, &'static str, &'static str);

pub(super) const CELLS: [Cell; 8] = [
    ('H', "42;30", "huge: PMD-mapped"),
    ('T', "44;37", "explicit huge page"),
    ('z', "46;30", "zero pages only"),
    ('.', "2", "not in use"),
    ('s', "43;30", "small, but eligible"),
    ('p', "45;37", "small by a setting or advice"),
    ('f', "47;30", "file or shared memory, small"),
    ('-', "41;37", "small: the mapping does not span the range"),
];

/// Returns the index of a state in [`CELLS`].
pub(super) fn index_of(state: State) -> usize {
    match state {
        State::Huge => 0,
        State::Explicit => 1,
        State::HugeZero | State::SmallZero => 2,
        State::Unused => 3,
        State::Eligible => 4,
        State::Setting => 5,
        State::File => 6,
        State::Shape => 7,
    }
}

/// The cells of one judgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    pub(super) judgement: &'a Judgement,
    pub(super) count: u64,
    /// True if unmapped addresses precede the cells.
    pub(super) is_behind_hole: bool,
}

/// Returns the cells of all judgements, by ascending address. A cell that several mappings share belongs to the first
/// of them.
pub(super) fn cells(inspection: &Inspection) -> impl Iterator<Item = Cells<'_>> {
    let size = inspection.space.huge_bytes.max(1);
    let judgements = inspection.judgements.iter();
    judgements
        .scan(0, move |drawn_to, judgement| {
            let first = (judgement.start - judgement.start % size).max(*drawn_to);
            let behind = judgement.end.checked_next_multiple_of(size);
            let behind = behind.unwrap_or(judgement.end);
            let is_behind_hole = first > *drawn_to;
            *drawn_to = behind.max(*drawn_to);
            Some(Cells {
                judgement,
                count: behind.saturating_sub(first).div_ceil(size),
                is_behind_hole,
            })
        })
        .filter(|cells| cells.count > 0)
}

/// Draws the map: one line for each contiguous block of mappings, by ascending address. A long run of equal cells is
/// one cell and its count. `marked` are addresses to highlight, such as those that have changed.
#[must_use]
pub fn map(
    inspection: &Inspection,
    style: &Style,
    marked: &dyn Fn(&Judgement) -> bool,
) -> Document {
    let mut rows = Rows::new(style);
    for cells in cells(inspection) {
        if cells.is_behind_hole {
            rows.begin(cells.judgement.start);
        }
        rows.add(Stretch {
            cell: CELLS[index_of(cells.judgement.code.state())],
            cells: cells.count,
            is_marked: marked(cells.judgement),
        });
    }
    rows.end_line();
    let legend = Block::Painted(legend(inspection, style, rows.longest));
    let lines = Block::Painted(rows.lines);
    Document::new([Section::default().with(legend).with(lines)])
}

/// Explains the letters, and the counts if there are any.
fn legend(inspection: &Inspection, style: &Style, longest: Option<Stretch>) -> Vec<String> {
    let huge = bytes_text(inspection.space.huge_bytes);
    let title = format!("One cell is a range of {huge}:");
    let letters = CELLS.into_iter().map(|(letter, colour, meaning)| {
        format!("  {}  {meaning}", paint(letter, colour, style.color))
    });
    let count = longest.map(|one| {
        let (letter, ..) = one.cell;
        format!(
            "  {letter}×{}  {} cells of this kind in a row",
            one.cells, one.cells
        )
    });
    std::iter::once(title).chain(letters).chain(count).collect()
}

/// Consecutive cells of one kind.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    cell: Cell,
    cells: u64,
    is_marked: bool,
}

/// Builds lines of cells. The last run stays open until its length is known.
struct Rows<'a> {
    style: &'a Style,
    lines: Vec<String>,
    line: String,
    used: usize,
    open: Option<Stretch>,
    /// The longest run drawn as a count.
    longest: Option<Stretch>,
}

impl<'a> Rows<'a> {
    fn new(style: &'a Style) -> Self {
        Self {
            style,
            lines: Vec::new(),
            line: String::new(),
            used: 0,
            open: None,
            longest: None,
        }
    }

    /// Begins a new row at an address.
    fn begin(&mut self, address: u64) {
        self.end_line();
        self.lines.push(format!("{address:x}"));
    }

    fn add(&mut self, next: Stretch) {
        match &mut self.open {
            Some(open) if open.cell == next.cell && open.is_marked == next.is_marked => {
                open.cells += next.cells;
            }
            _ => {
                self.flush();
                self.open = Some(next);
            }
        }
    }

    fn flush(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let (letter, colour, _) = open.cell;
        let painted = paint(letter, colour, self.style.color);
        if open.cells > MOST_ALIKE {
            let count = format!("×{} ", open.cells);
            self.put(&format!("{painted}{count}"), 1 + count.chars().count());
            let longer = |last: Stretch| last.cells < open.cells;
            if self.longest.is_none_or(longer) {
                self.longest = Some(open);
            }
        } else {
            for _ in 0..open.cells {
                self.put(&painted, 1);
            }
        }
        if open.is_marked {
            self.put("*", 1);
        }
    }

    /// Adds a piece of the given width, on a new line if it does not fit.
    fn put(&mut self, piece: &str, columns: usize) {
        if self.used > 0 && self.used + columns > self.style.width {
            self.lines.push(std::mem::take(&mut self.line));
            self.used = 0;
        }
        if self.used == 0 {
            self.line.push_str(&" ".repeat(INDENT));
            self.used = INDENT;
        }
        self.line.push_str(piece);
        self.used += columns;
    }

    fn end_line(&mut self) {
        self.flush();
        if self.used > 0 {
            self.lines.push(std::mem::take(&mut self.line));
        }
        self.used = 0;
    }
}

fn paint(letter: char, colour: &str, color: Color) -> String {
    match color {
        Color::Never => letter.to_string(),
        Color::Always => format!("\x1b[{colour}m{letter}\x1b[0m"),
    }
}
