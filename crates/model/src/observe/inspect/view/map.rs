//! The address space as a picture: one cell for each huge-page range.

use std::fmt::{self, Write};

use crate::observe::inspect::reasons::{Code, Judgement};
use crate::text::{Color, Style};

use super::{Inspection, could_be_huge};
use crate::base::units::bytes_text;

/// Cells of one kind that stand one by one; what is longer is one cell with its count.
const MOST_ALIKE: u64 = 24;

/// What a cell can be: letter, ANSI colour, meaning.
const CELLS: [(char, &str, &str); 8] = [
    ('H', "42;30", "huge, mapped by a PMD"),
    ('T', "44;37", "explicit huge page"),
    ('z', "46;30", "zero pages only"),
    ('.', "2", "nothing used"),
    ('s', "43;30", "small, and could be huge"),
    ('p', "45;37", "small by a setting or advice"),
    ('f', "47;30", "file or shared memory, small"),
    ('-', "41;37", "the mapping does not cover the range"),
];

fn cell(code: Code) -> usize {
    match code {
        Code::AlreadyPmd => 0,
        Code::Hugetlb => 1,
        Code::HugeZero | Code::Zero4K => 2,
        Code::Untouched | Code::NotMapped => 3,
        code if could_be_huge(code) => 4,
        Code::VmaSmall | Code::VmaSplit | Code::VmaType => 7,
        Code::ShmemPolicy
        | Code::FileMisaligned
        | Code::FileNoLargeFolio
        | Code::FileSmallFolios
        | Code::FilePrivateCow => 6,
        _ => 5,
    }
}

/// Draws the map: a line for each stretch of mappings without a hole, by rising address. Long
/// stretches of equal cells are one cell and their count. `marked` are addresses to point at,
/// such as those that have changed.
///
/// # Errors
/// Only those of `out`.
pub fn render_map(
    inspection: &Inspection,
    style: &Style,
    marked: &dyn Fn(&Judgement) -> bool,
    out: &mut impl Write,
) -> fmt::Result {
    let huge = bytes_text(inspection.space.huge_bytes);
    writeln!(out, "One cell is {huge}:")?;
    for (letter, colour, meaning) in CELLS {
        writeln!(out, "  {}  {meaning}", paint(letter, colour, style.color))?;
    }
    let size = inspection.space.huge_bytes.max(1);
    let mut row = Row::new(style);
    // Mappings that share a range share its cell: the first of them draws it.
    let mut drawn_to = 0;
    for judgement in &inspection.judgements {
        let first = (judgement.start - judgement.start % size).max(drawn_to);
        let behind = judgement.end.checked_next_multiple_of(size);
        let behind = behind.unwrap_or(judgement.end);
        if first >= behind {
            continue;
        }
        if first > drawn_to {
            row.end(out)?;
            writeln!(out, "{:x}", judgement.start)?;
        }
        drawn_to = behind;
        row.add(
            cell(judgement.code),
            (behind - first).div_ceil(size),
            marked(judgement),
            out,
        )?;
    }
    row.end(out)
}

/// Cells that wait until it is known how many alike follow.
struct Row<'a> {
    style: &'a Style,
    used: usize,
    kind: usize,
    count: u64,
    marked: bool,
}

/// Before the cells of a line.
const INDENT: usize = 2;

impl<'a> Row<'a> {
    fn new(style: &'a Style) -> Self {
        Self {
            style,
            used: 0,
            kind: 0,
            count: 0,
            marked: false,
        }
    }

    fn add(&mut self, kind: usize, cells: u64, marked: bool, out: &mut impl Write) -> fmt::Result {
        if self.count > 0 && (kind != self.kind || marked != self.marked) {
            self.flush(out)?;
        }
        self.kind = kind;
        self.marked = marked;
        self.count += cells;
        Ok(())
    }

    fn flush(&mut self, out: &mut impl Write) -> fmt::Result {
        let (letter, colour, _) = CELLS[self.kind];
        if self.count > MOST_ALIKE {
            let count = format!("x{} ", self.count);
            self.room(2 + count.len(), out)?;
            write!(out, "{}{count}", paint(letter, colour, self.style.color))?;
        } else {
            for _ in 0..self.count {
                self.room(1, out)?;
                write!(out, "{}", paint(letter, colour, self.style.color))?;
            }
        }
        if self.marked && self.count > 0 {
            self.room(1, out)?;
            write!(out, "*")?;
        }
        self.count = 0;
        Ok(())
    }

    /// Begins a new line where the next piece would not fit.
    fn room(&mut self, needed: usize, out: &mut impl Write) -> fmt::Result {
        if self.used > 0 && self.used + needed > self.style.width {
            writeln!(out)?;
            self.used = 0;
        }
        if self.used == 0 {
            write!(out, "{:INDENT$}", "")?;
            self.used = INDENT;
        }
        self.used += needed;
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write) -> fmt::Result {
        self.flush(out)?;
        if self.used > 0 {
            writeln!(out)?;
        }
        self.used = 0;
        Ok(())
    }
}

fn paint(letter: char, colour: &str, color: Color) -> String {
    match color {
        Color::Never => letter.to_string(),
        Color::Always => format!("\x1b[{colour}m{letter}\x1b[0m"),
    }
}
