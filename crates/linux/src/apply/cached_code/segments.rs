//! Blocks of code in an executable file that its mapping can have in huge pages.

use std::ops::Range;

use object::elf::PF_X;
use object::read::ReadRef;
use object::{File, Object, ObjectKind, ObjectSection, ObjectSegment, SegmentFlags};

use super::Stretches;

/// The part of a file in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its executable: the kernel places it.
    Program,
    /// A library: the loader maps it at an address of the kernel's choice.
    Library,
}

/// A segment of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    address: u64,
    offset: u64,
    bytes: u64,
}

/// The code of an executable file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    segments: Vec<Segment>,
    /// True if its addresses are fixed.
    is_fixed: bool,
    /// The largest alignment of its segments, in bytes.
    alignment: u64,
    /// Its loader.
    pub(super) loader: Option<String>,
}

impl Code {
    /// Reads the headers of a file; `None` if it is not ELF.
    pub(super) fn parse<'a>(data: impl ReadRef<'a>) -> Option<Self> {
        let file = File::parse(data).ok()?;
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
        let code = file.segments().filter(|it| is_code(it.flags()));
        let segments = code.map(|it| {
            let (offset, bytes) = it.file_range();
            Segment {
                address: it.address(),
                offset,
                bytes,
            }
        });
        let loader = file.section_by_name(".interp");
        let loader = loader.and_then(|section| section.data().ok());
        Some(Self {
            segments: segments.collect(),
            is_fixed: file.kind() == ObjectKind::Executable,
            alignment: file.segments().map(|it| it.align()).max().unwrap_or(1),
            loader: loader.map(|path| {
                let path = String::from_utf8_lossy(path);
                path.trim_end_matches('\0').to_owned()
            }),
        })
    }

    /// Returns the whole blocks of code, as ranges of the file. They start at addresses that are multiples of a block.
    ///
    /// # Errors
    /// Why no block can be huge; `None` if the code is shorter than a block.
    pub(super) fn blocks(&self, part: Part, block: u64) -> Result<Stretches, Option<String>> {
        if self.segments.iter().all(|it| it.bytes < block) {
            return Err(None);
        }
        let fix = format!("link it with -Wl,-z,max-page-size={block:#x}");
        if part == Part::Program && !self.is_fixed && self.alignment < block {
            return Err(Some(format!(
                "is placed at multiples of {:#x} bytes, not of a huge page; {fix}",
                self.alignment
            )));
        }
        let is_congruent = |it: &&Segment| it.address.wrapping_sub(it.offset).is_multiple_of(block);
        let congruent: Vec<&Segment> = self.segments.iter().filter(is_congruent).collect();
        if congruent.iter().all(|it| it.bytes < block) {
            return Err(Some(format!(
                "has code whose address and file offset differ by no multiple of a huge page; {fix}"
            )));
        }
        let whole: Stretches = congruent.iter().map(|it| it.whole(block)).collect();
        let whole: Stretches = whole.into_iter().filter(|it| !it.is_empty()).collect();
        match whole.is_empty() {
            true => Err(Some(format!(
                "has code that contains no whole block of a huge page; {fix}"
            ))),
            false => Ok(whole),
        }
    }
}

impl Segment {
    /// Returns the whole blocks, as a range of the file.
    fn whole(&self, block: u64) -> Range<u64> {
        let end = self.offset + self.bytes;
        self.offset.next_multiple_of(block)..end - end % block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 2 << 20;

    fn code(is_fixed: bool, alignment: u64, segments: &[(u64, u64, u64)]) -> Code {
        let segment = |&(address, offset, bytes): &(u64, u64, u64)| Segment {
            address,
            offset,
            bytes,
        };
        Code {
            segments: segments.iter().map(segment).collect(),
            is_fixed,
            alignment,
            loader: None,
        }
    }

    /// Returns the start and the end of the only range.
    fn only(ranges: &[Range<u64>]) -> (u64, u64) {
        assert_eq!(ranges.len(), 1, "{ranges:?}");
        (ranges[0].start, ranges[0].end)
    }

    /// The segments of Node 18, of PostgreSQL 15 and of librustc_driver.
    #[test]
    fn blocks_are_those_of_address_and_offset() {
        let node = code(true, 4096, &[(0xb7_2000, 0x77_2000, 0x1a8_bca0)]);
        let blocks = node.blocks(Part::Program, BLOCK).unwrap();
        assert_eq!(only(&blocks), (0x80_0000, 0x200_0000));
        let postgres = code(false, 4096, &[(0xc_d000, 0xc_d000, 0x52_99a9)]);
        let why = postgres.blocks(Part::Program, BLOCK).unwrap_err().unwrap();
        assert!(why.contains("-z,max-page-size=0x200000"), "{why}");
        let blocks = postgres.blocks(Part::Library, BLOCK).unwrap();
        assert_eq!(only(&blocks), (0x20_0000, 0x40_0000));
        let apart = (0x11a_1c00, 0x11a_0c00, 0x3b1_c9c0);
        let compiler = code(false, BLOCK, &[apart, (0x500_0000, 0x500_0000, 0x2be_2b8c)]);
        let blocks = compiler.blocks(Part::Library, BLOCK).unwrap();
        assert_eq!(only(&blocks), (0x500_0000, 0x7a0_0000));
        let apart = code(false, 4096, &[apart]);
        assert!(apart.blocks(Part::Library, BLOCK).unwrap_err().is_some());
    }

    #[test]
    fn small_code_needs_no_reason() {
        let small = code(true, 4096, &[(0x40_0000, 0, BLOCK - 1)]);
        assert_eq!(small.blocks(Part::Program, BLOCK), Err(None));
        let across = code(true, 4096, &[(0x40_1000, 0x1000, BLOCK)]);
        assert!(across.blocks(Part::Program, BLOCK).unwrap_err().is_some());
    }
}
