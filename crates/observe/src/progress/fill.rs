//! The mappings that a process is filling, from two readings of its mappings.

use std::collections::BTreeMap;

use crate::address_space::Mapping;

/// A mapping that takes less of the growth is not being filled: a stack, a buffer.
const LEAST_PART: f64 = 0.05;

/// The contents of all mappings of a process tree at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FillContents {
    /// By process, first and last address.
    pieces: BTreeMap<(u32, u64, u64), Piece>,
}

/// The contents of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Resident and hugetlb memory, in bytes.
    pub bytes: u64,
    /// Those in huge pages that a PMD maps, or from the hugetlb pool.
    pub huge_bytes: u64,
    /// Advised to be huge (`hg` of `VmFlags`).
    pub is_advised: bool,
}

impl FillContents {
    /// Adds the mappings of a process. Those without totals are ignored.
    pub fn add(&mut self, pid: u32, mappings: &[Mapping]) {
        for mapping in mappings {
            let Some(memory) = &mapping.memory else {
                continue;
            };
            let huge = memory.anon_huge + memory.shmem_huge + memory.file_huge.unwrap_or(0);
            let piece = Piece {
                bytes: memory.resident + memory.hugetlb,
                huge_bytes: huge + memory.hugetlb,
                is_advised: memory.flags.has("hg"),
            };
            self.insert(pid, (mapping.start, mapping.end), piece);
        }
    }

    fn insert(&mut self, pid: u32, (start, end): (u64, u64), piece: Piece) {
        self.pieces.insert((pid, start, end), piece);
    }
}

/// The growth of mappings between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filled {
    /// The share of the new memory in huge pages; `None` if nothing grew.
    pub huge_share: Option<f64>,
    /// The memory that the mappings being filled still lack, in bytes; `None` if most growth is elsewhere. A mapping
    /// that changes its size has no known end.
    pub left_bytes: Option<u64>,
    /// Their memory, in bytes.
    pub has_bytes: u64,
    /// True if most of the new memory in them is advised to be huge.
    pub is_advised: bool,
}

/// Compares two readings. New mappings count as growth from nothing.
#[must_use]
pub fn filled(before: &FillContents, now: &FillContents) -> Filled {
    let sum = |of: fn(&Piece) -> u64, all: &FillContents| all.pieces.values().map(of).sum::<u64>();
    let grown = |of| sum(of, now) as f64 - sum(of, before) as f64;
    let (bytes, huge) = (grown(|it| it.bytes), grown(|it| it.huge_bytes));
    let growing = now.pieces.iter().filter_map(|(place, piece)| {
        let had = before.pieces.get(place)?.bytes;
        let grown = piece.bytes.saturating_sub(had);
        let is_filled = grown > 0 && grown as f64 >= LEAST_PART * bytes;
        is_filled.then_some((place.2 - place.1, piece, grown))
    });
    let growing: Vec<(u64, &Piece, u64)> = growing.collect();
    let of_known = |keep: fn(&Piece) -> bool| -> u64 {
        let kept = growing.iter().filter(|(_, piece, _)| keep(piece));
        kept.map(|(_, _, grown)| grown).sum()
    };
    let known = of_known(|_| true);
    let left = growing
        .iter()
        .map(|(size, piece, _)| size.saturating_sub(piece.bytes));
    let is_known = bytes > 0.0 && known as f64 >= bytes / 2.0;
    Filled {
        huge_share: (bytes > 0.0).then(|| (huge / bytes).clamp(0.0, 1.0)),
        left_bytes: is_known.then(|| left.sum()),
        has_bytes: growing.iter().map(|(_, piece, _)| piece.bytes).sum(),
        is_advised: of_known(|piece| piece.is_advised) * 2 > known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Mappings by start and size in MiB, with their memory and huge memory in MiB.
    fn contents(pieces: &[(u64, u64, u64, u64)]) -> FillContents {
        let mut all = FillContents::default();
        for (start, size, has, huge) in pieces {
            let piece = Piece {
                bytes: has * MIB,
                huge_bytes: huge * MIB,
                is_advised: *huge > 0,
            };
            all.insert(7, (start * MIB, (start + size) * MIB), piece);
        }
        all
    }

    #[test]
    fn a_mapping_that_fills_up_has_an_end() {
        let before = contents(&[(0, 100, 10, 0), (200, 8, 1, 0)]);
        let now = contents(&[(0, 100, 50, 30), (200, 8, 2, 0)]);
        let filled = filled(&before, &now);
        assert_eq!(filled.left_bytes, Some(50 * MIB));
        assert_eq!(filled.has_bytes, 50 * MIB);
        assert!(filled.is_advised);
        let share = filled.huge_share.expect("growth");
        assert!((share - 30.0 / 41.0).abs() < 1e-9);
    }

    #[test]
    fn several_mappings_are_filled_together() {
        let before = contents(&[(0, 100, 10, 0), (200, 100, 20, 0)]);
        let now = contents(&[(0, 100, 30, 0), (200, 100, 50, 0)]);
        let filled = filled(&before, &now);
        assert_eq!(filled.left_bytes, Some(120 * MIB));
        assert_eq!((filled.is_advised, filled.huge_share), (false, Some(0.0)));
    }

    #[test]
    fn a_heap_that_changes_its_size_has_none() {
        let before = contents(&[(0, 20, 20, 0)]);
        let now = contents(&[(0, 60, 58, 0)]);
        assert_eq!(filled(&before, &now).left_bytes, None);
        let same = contents(&[(0, 60, 58, 0)]);
        let idle = filled(&now, &same);
        assert_eq!((idle.left_bytes, idle.huge_share), (None, None));
    }
}
