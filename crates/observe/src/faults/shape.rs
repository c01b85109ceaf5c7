use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::kind::FaultKind;
use super::latency::Bar;

/// A pattern of faults that has a name and a remedy.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// Pages that were touched twice: a read first, and then a write; or given back between.
    DoubleFault {
        /// Second faults.
        faults: u64,
        /// Those of which it is certain that a zero page was there before.
        certain: u64,
        /// Time in the second faults, in nanoseconds.
        time_ns: u64,
        /// Where most of them came from.
        site: Option<String>,
        /// How many came from there.
        at_site: u64,
    },
    /// A huge fault's page that a later fault replaced by small ones: Linux 5.8 to 6.12 breaks
    /// the huge zero page up at the first write.
    BrokenUp {
        /// Huge pages that were broken up.
        huge_pages: u64,
    },
    /// Memory that a huge page could have mapped by its place and length, and that came in
    /// small pages.
    SmallInsteadOfHuge {
        /// Aligned ranges of the size of a huge page in which at least half of the pages came
        /// one by one.
        ranges: u64,
        /// Those in which all did.
        full: u64,
        /// Faults in them.
        faults: u64,
        /// Time in those faults, in nanoseconds.
        time_ns: u64,
        /// What one huge fault took here in the median, where there were any.
        huge_p50_ns: Option<u64>,
    },
    /// Pages touched for the first time since a fork.
    CopiesAfterFork {
        /// Forks.
        forks: u64,
        /// Such faults.
        copies: u64,
        /// Time in them, in nanoseconds.
        time_ns: u64,
        /// The largest number after one fork.
        largest: u64,
        /// From the first to the last of those, in nanoseconds.
        span_ns: u64,
    },
    /// Latencies of one kind in two heaps.
    TwoHumps {
        /// Which kind.
        kind: FaultKind,
        /// How many are in the lower heap.
        low: u64,
        /// Where the lower heap is highest, in nanoseconds.
        low_ns: u64,
        /// How many are in the upper heap.
        high: u64,
        /// Where the upper heap is highest, in nanoseconds.
        high_ns: u64,
    },
}

impl Shape {
    /// Faults that belong to it, and their time in nanoseconds.
    #[must_use]
    pub fn weight(&self) -> (u64, u64) {
        match self {
            Self::DoubleFault {
                faults, time_ns, ..
            }
            | Self::SmallInsteadOfHuge {
                faults, time_ns, ..
            }
            | Self::CopiesAfterFork {
                copies: faults,
                time_ns,
                ..
            } => (*faults, *time_ns),
            Self::BrokenUp { huge_pages } => (*huge_pages, 0),
            Self::TwoHumps { low, high, .. } => (low + high, 0),
        }
    }
}

/// What is counted for the shapes while events come.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) doubles: Doubles,
    pub(super) broken_up: u64,
    fillings: HashMap<(u32, u64), Filling>,
    forks: Vec<Fork>,
    last_fork: HashMap<u32, usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Doubles {
    pub(super) faults: u64,
    pub(super) certain: u64,
    pub(super) time_ns: u64,
    pub(super) by_chain: HashMap<usize, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Filling {
    faults: u64,
    time_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Fork {
    copies: u64,
    time_ns: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Counts {
    /// A small page came where a huge one could map the block.
    pub(super) fn small(&mut self, pid: u32, block: u64, time_ns: u64) {
        let filling = self.fillings.entry((pid, block)).or_default();
        filling.faults += 1;
        filling.time_ns += time_ns;
    }

    pub(super) fn fork(&mut self, parent: u32, child: u32) {
        for pid in [parent, child] {
            self.last_fork.insert(pid, self.forks.len());
        }
        self.forks.push(Fork::default());
    }

    pub(super) fn copy(&mut self, pid: u32, at_ns: u64, time_ns: u64) {
        let last = self.last_fork.get(&pid);
        if let Some(fork) = last.and_then(|&index| self.forks.get_mut(index)) {
            if fork.copies == 0 {
                fork.first_ns = at_ns;
            }
            fork.copies += 1;
            fork.time_ns += time_ns;
            fork.last_ns = at_ns;
        }
    }

    pub(super) fn small_instead_of_huge(
        &self,
        pages_per_block: u64,
        huge_p50_ns: Option<u64>,
    ) -> Option<Shape> {
        let filled = |filling: &&Filling| filling.faults * 2 >= pages_per_block;
        let ranges: Vec<&Filling> = self.fillings.values().filter(filled).collect();
        (!ranges.is_empty()).then(|| Shape::SmallInsteadOfHuge {
            ranges: ranges.len() as u64,
            full: ranges
                .iter()
                .filter(|one| one.faults >= pages_per_block)
                .count() as u64,
            faults: ranges.iter().map(|one| one.faults).sum(),
            time_ns: ranges.iter().map(|one| one.time_ns).sum(),
            huge_p50_ns,
        })
    }

    pub(super) fn copies_after_fork(&self) -> Option<Shape> {
        let largest = self.forks.iter().max_by_key(|fork| fork.copies)?;
        (largest.copies > 0).then(|| Shape::CopiesAfterFork {
            forks: self.forks.len() as u64,
            copies: self.forks.iter().map(|fork| fork.copies).sum(),
            time_ns: self.forks.iter().map(|fork| fork.time_ns).sum(),
            largest: largest.copies,
            span_ns: largest.last_ns - largest.first_ns,
        })
    }
}

/// Fewer faults than this have no shape.
const ENOUGH: u64 = 50;
/// Each hump holds at least one in so many.
const SMALLEST_SHARE: u64 = 20;
/// The valley is at least so many times lower than the lower hump.
const DEPTH: u64 = 4;
/// The upper hump is at least so many times as slow.
const APART: u64 = 8;

/// Two humps in bars by powers of two, if that is what they are.
pub(super) fn two_humps(kind: FaultKind, bars: &[Bar]) -> Option<Shape> {
    let total: u64 = bars.iter().map(|bar| bar.count).sum();
    if total < ENOUGH {
        return None;
    }
    let valleys = 1..bars.len().saturating_sub(1);
    let found = valleys.filter_map(|valley| {
        let (low, high) = (hump(&bars[..valley])?, hump(&bars[valley + 1..])?);
        let heavy = low.0 * SMALLEST_SHARE >= total && high.0 * SMALLEST_SHARE >= total;
        let deep = bars[valley].count * DEPTH <= low.1.count.min(high.1.count);
        let apart = high.1.from_ns >= low.1.from_ns * APART;
        (heavy && deep && apart).then_some((bars[valley].count, low, high))
    });
    let (_, low, high) = found.min_by_key(|(depth, ..)| *depth)?;
    Some(Shape::TwoHumps {
        kind,
        low: low.0,
        low_ns: low.1.from_ns,
        high: high.0,
        high_ns: high.1.from_ns,
    })
}

/// All of it, and its highest bar.
fn hump(bars: &[Bar]) -> Option<(u64, Bar)> {
    let highest = bars.iter().max_by_key(|bar| bar.count)?;
    Some((bars.iter().map(|bar| bar.count).sum(), *highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(counts: &[u64]) -> Vec<Bar> {
        let bar = |(power, &count): (usize, &u64)| Bar {
            from_ns: 1 << power,
            count,
        };
        counts.iter().enumerate().map(bar).collect()
    }

    #[test]
    fn two_heaps_apart_are_two_humps() {
        let two = two_humps(FaultKind::Huge, &bars(&[0, 40, 5, 0, 0, 30]));
        let expected = Shape::TwoHumps {
            kind: FaultKind::Huge,
            low: 45,
            low_ns: 2,
            high: 30,
            high_ns: 32,
        };
        assert_eq!(two, Some(expected));
    }

    #[test]
    fn one_heap_a_tail_and_neighbours_are_not() {
        for one in [
            &[10, 40, 50, 20, 5, 1][..],
            &[0, 400, 50, 3, 0, 1, 2, 1],
            &[40, 2, 40],
            &[9, 0, 0, 9],
        ] {
            assert_eq!(two_humps(FaultKind::Page, &bars(one)), None, "{one:?}");
        }
    }
}
