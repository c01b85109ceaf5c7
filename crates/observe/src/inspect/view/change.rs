//! Changes between two inspections of a process.

use std::collections::BTreeMap;

use crate::inspect::reasons::{Code, Judgement};

use super::Inspection;

/// Ranges whose reason changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The reason before; `None` if nothing was mapped.
    pub from: Option<Code>,
    /// The reason now; `None` if nothing is mapped any more.
    pub to: Option<Code>,
    /// Address space, in bytes.
    pub bytes: u64,
    /// The lowest address.
    pub first: u64,
}

/// Returns the changes between two inspections, the largest first.
#[must_use]
pub fn changes(before: &Inspection, now: &Inspection) -> Vec<Change> {
    let mut sums: BTreeMap<(Option<Code>, Option<Code>), (u64, u64)> = BTreeMap::new();
    let (old, new) = (&before.judgements[..], &now.judgements[..]);
    for (start, end) in pieces(old, new) {
        let (from, to) = (at(old, start), at(new, start));
        if from != to {
            let sum = sums.entry((from, to)).or_insert((0, start));
            sum.0 += end - start;
        }
    }
    let mut changes: Vec<Change> = sums
        .into_iter()
        .map(|((from, to), (bytes, first))| Change {
            from,
            to,
            bytes,
            first,
        })
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.bytes));
    changes
}

/// Splits the address space at every boundary of both judgement lists.
fn pieces(old: &[Judgement], new: &[Judgement]) -> Vec<(u64, u64)> {
    let both = old.iter().chain(new);
    let mut borders: Vec<u64> = both.flat_map(|one| [one.start, one.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    borders.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn at(judgements: &[Judgement], address: u64) -> Option<Code> {
    let place = judgements.partition_point(|one| one.end <= address);
    let one = judgements.get(place)?;
    (one.start <= address).then_some(one.code)
}
