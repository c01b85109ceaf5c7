use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::kind::FaultKind;
use super::latency::Bar;

/// A known pattern of faults, with a remedy.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// Pages that faulted twice: read before they were written, or given back in between.
    DoubleFault {
        /// Second faults.
        faults: u64,
        /// Second faults that certainly replaced a zero page.
        certain: u64,
        /// Time in the second faults, in nanoseconds.
        time_ns: u64,
        /// The site with the most second faults.
        site: Option<String>,
        /// Second faults at this site.
        at_site: u64,
    },
    /// A huge fault whose page a later fault replaced by small ones. Linux 5.8 to 6.12 splits the huge zero page at the
    /// first write.
    BrokenUp {
        /// The number of split huge pages.
        huge_pages: u64,
    },
    /// Memory that was eligible for a huge page by address and length, and came in small pages.
    SmallInsteadOfHuge {
        /// Aligned ranges of the size of a huge page in which at least half of the pages faulted one by one.
        ranges: u64,
        /// Ranges in which all pages did.
        full: u64,
        /// Faults in them.
        faults: u64,
        /// Time in those faults, in nanoseconds.
        time_ns: u64,
        /// The median latency of a huge fault in this run, if there were any.
        huge_p50_ns: Option<u64>,
    },
    /// Pages first touched after a fork.
    CopiesAfterFork {
        /// The number of forks.
        forks: u64,
        /// The number of such faults.
        copies: u64,
        /// Time in them, in nanoseconds.
        time_ns: u64,
        /// The largest number of copies after one fork.
        largest: u64,
        /// The time from the first to the last of these, in nanoseconds.
        span_ns: u64,
    },
    /// A bimodal latency distribution of one kind of fault.
    TwoHumps {
        /// The kind of fault.
        kind: FaultKind,
        /// The number of faults in the lower mode.
        low: u64,
        /// The peak of the lower mode, in nanoseconds.
        low_ns: u64,
        /// The number of faults in the upper mode.
        high: u64,
        /// The peak of the upper mode, in nanoseconds.
        high_ns: u64,
    },
}

impl Shape {
    /// Returns the number of faults of this shape, and their time in nanoseconds.
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

/// Counts for the shapes, updated with each event.
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
    /// Adds a small page in a block that a huge page could map.
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

/// Fewer faults are not classified.
const ENOUGH: u64 = 50;
/// Each mode contains at least one fault in this many.
const SMALLEST_SHARE: u64 = 20;
/// The valley is at least this many times lower than the lower mode.
const DEPTH: u64 = 4;
/// The upper mode is at least this many times slower.
const APART: u64 = 8;

/// Returns the bimodal shape of bars by powers of two, if they have one.
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

/// The sum of the bars, and the highest bar.
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
