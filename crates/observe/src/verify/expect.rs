//! The count of each kind of event that each loop has by construction.

use super::loops::{Loop, PageSize, Reach, Side, without_walks};
use crate::stat::kind::{CYCLES, INSTRUCTIONS};

/// The right number of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Zero, except for interruptions.
    None,
    /// Zero cycles of walks, except for interruptions.
    NoTime,
    /// One for each access.
    One,
    /// As many as the instructions of the loop.
    Instructions,
    /// Cycles at a possible clock rate.
    ClockRate,
    /// Cycles of walks that no other work hides: the additional cycles compared with this loop.
    Added(&'static Loop),
    /// Cycles of walks that other work can hide: more than none, and at most so many times the cycles of the loop.
    Within(f64),
}

/// The limits of a right count, per access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The smallest right count.
    pub low: f64,
    /// The largest right count.
    pub high: f64,
}

impl Limits {
    /// Returns true if a value is within the limits.
    #[must_use]
    pub fn contain(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The known figures of a loop from which limits follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopFigures {
    /// Instructions of one access.
    pub instructions: Option<f64>,
    /// Measured cycles of one access.
    pub cycles: Option<f64>,
    /// Measured nanoseconds of one access.
    pub nanoseconds: Option<f64>,
}

/// The most events per access that count as none: interruptions by other programs empty the TLB.
const NONE: f64 = 0.05;
/// One load or store for each access. An access can be counted again after a replay, and a prefetcher can take some.
const ONE: Limits = Limits {
    low: 0.7,
    high: 1.5,
};
/// One jump for each access: a front end on a wrong path adds walks.
const ONE_JUMP: Limits = Limits {
    low: 0.7,
    high: 2.0,
};
/// The relative tolerance for instructions: the loop of the laboratory that reads its orders.
const INSTRUCTION_TOLERANCE: f64 = 0.02;
/// Possible clock rates, in cycles per nanosecond.
const CLOCK: Limits = Limits {
    low: 0.2,
    high: 8.0,
};
/// Cycles with an active walk over the added cycles of a dependent chain. The rest is the search in the levels of the
/// TLB, and table entries that displace data from the caches. Both loops wait for memory, so their difference is noisy.
const ADDED: Limits = Limits {
    low: 0.1,
    high: 2.0,
};
/// Fewer added cycles than this are noise.
const LEAST_ADDED: f64 = 5.0;
/// The most cycles per access that count as none.
const NO_TIME: f64 = 1.0;
/// The fewest cycles of a walk.
const SHORTEST_WALK: f64 = 2.0;
/// Walks that a processor has in progress at the same time, at most.
const PARALLEL_WALKS: f64 = 8.0;
/// The counters of a group are read one after the other.
const READING: f64 = 1.01;

impl Expected {
    /// The limits per access; `None` if a figure that they need is unknown.
    #[must_use]
    pub fn limits(self, of: &Loop, own: LoopFigures, reference: LoopFigures) -> Option<Limits> {
        let within = |limits: Limits, by: f64| Limits {
            low: limits.low * by,
            high: limits.high * by,
        };
        Some(match self {
            Self::None => Limits {
                low: 0.0,
                high: NONE,
            },
            Self::NoTime => Limits {
                low: 0.0,
                high: NO_TIME,
            },
            Self::One if of.side == Side::Code => ONE_JUMP,
            Self::One => ONE,
            Self::Instructions => {
                let instructions = own.instructions?;
                Limits {
                    low: instructions * (1.0 - INSTRUCTION_TOLERANCE),
                    high: instructions * (1.0 + INSTRUCTION_TOLERANCE),
                }
            }
            Self::ClockRate => within(CLOCK, own.nanoseconds?),
            Self::Added(_) => {
                let added = own.cycles? - reference.cycles?;
                return (added >= LEAST_ADDED).then(|| within(ADDED, added));
            }
            Self::Within(times) => Limits {
                low: SHORTEST_WALK,
                high: own.cycles? * times * READING,
            },
        })
    }

    /// Returns true if a dead counter fails.
    #[must_use]
    pub fn is_positive(self) -> bool {
        !matches!(self, Self::None | Self::NoTime)
    }
}

/// The subject of a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Walks to pages of this size; `None` is all sizes.
    Walks(Option<PageSize>),
    /// Walks to a size of page that no loop has.
    OtherWalks,
    /// Cycles with a walk, or that waited for one.
    Time,
    /// Walks in progress, summed over cycles.
    Pending,
    /// Hits of the second level, on base pages.
    Hits,
    /// Hits of the second level on pages of a size for which no loop has some.
    OtherHits,
    /// Misses of the first level.
    FirstLevel,
}

/// The expected count of a kind in a loop; `None` if the loop leaves it open.
#[must_use]
pub fn expected(kind: &str, of: &Loop) -> Option<Expected> {
    match kind {
        INSTRUCTIONS => return Some(Expected::Instructions),
        CYCLES => return Some(Expected::ClockRate),
        _ => {}
    }
    let (sides, subject) = parse(kind)?;
    if !sides.contains(&of.side) {
        return Some(match subject {
            Subject::Time | Subject::Pending => Expected::NoTime,
            _ => Expected::None,
        });
    }
    match subject {
        Subject::Walks(size) => walks(size, of),
        Subject::OtherWalks => walks(None, of).map(|_| Expected::None),
        Subject::Time => time(of, 1.0),
        Subject::Pending => time(of, PARALLEL_WALKS),
        Subject::Hits => match of.reach {
            Reach::Few | Reach::Many => Some(Expected::None),
            Reach::Middle => Some(Expected::One),
            Reach::Lines => None,
        },
        Subject::OtherHits => (of.page == PageSize::Small).then_some(Expected::None),
        Subject::FirstLevel => match of.reach {
            Reach::Few => Some(Expected::None),
            Reach::Middle | Reach::Many => Some(Expected::One),
            Reach::Lines => None,
        },
    }
}

/// Returns true if some loop has a known number of events of this kind.
#[must_use]
pub fn is_testable(kind: &str) -> bool {
    let mut loops = super::loops::LOOPS.iter();
    loops.any(|one| expected(kind, one).is_some_and(Expected::is_positive))
}

fn walks(size: Option<PageSize>, of: &Loop) -> Option<Expected> {
    match of.reach {
        Reach::Few | Reach::Lines => Some(Expected::None),
        // The second level of some processors holds fewer pages of one kind.
        Reach::Middle => None,
        Reach::Many if size.is_none_or(|size| size == of.page) => Some(Expected::One),
        Reach::Many => Some(Expected::None),
    }
}

/// Loads of a chain wait for each other, so nothing hides their walks. Stores and jumps do not.
fn time(of: &Loop, times: f64) -> Option<Expected> {
    match (of.reach, of.side, of.page) {
        (Reach::Few, ..) => Some(Expected::NoTime),
        (Reach::Many, Side::Read, PageSize::Small) => without_walks(of).map(Expected::Added),
        (Reach::Many, _, PageSize::Small) => Some(Expected::Within(times)),
        _ => None,
    }
}

fn parse(kind: &str) -> Option<(&'static [Side], Subject)> {
    const DATA: &[Side] = &[Side::Read, Side::Write];
    match kind {
        "retired_load_misses" => return Some((&[Side::Read], Subject::Walks(None))),
        "retired_store_misses" => return Some((&[Side::Write], Subject::Walks(None))),
        "stall_backend_tlb" => return Some((DATA, Subject::Time)),
        "stall_frontend_tlb" => return Some((&[Side::Code], Subject::Time)),
        _ => {}
    }
    let prefixes: [(&str, &'static [Side]); 4] = [
        ("dtlb_load_", &[Side::Read]),
        ("dtlb_store_", &[Side::Write]),
        ("dtlb_", DATA),
        ("itlb_", &[Side::Code]),
    ];
    let found = prefixes
        .iter()
        .find_map(|(prefix, sides)| Some((kind.strip_prefix(prefix)?, *sides)));
    let (what, sides) = found?;
    let subject = match what {
        "walks" | "walk_starts" | "table_walks" => Subject::Walks(None),
        "walks_4k" | "walks_small" => Subject::Walks(Some(PageSize::Small)),
        "walks_2m" | "walks_large" => Subject::Walks(Some(PageSize::Huge)),
        "walks_1g" | "walks_coalesced" => Subject::OtherWalks,
        "walk_active" => Subject::Time,
        "walk_pending" => Subject::Pending,
        "l2_hits" | "l2_hits_4k" => Subject::Hits,
        "l2_hits_2m" | "l2_hits_1g" | "l2_hits_coalesced" => Subject::OtherHits,
        "l1_misses" => Subject::FirstLevel,
        _ => return None,
    };
    Some((sides, subject))
}

#[cfg(test)]
mod tests {
    use super::super::loops::{LOOPS, find};
    use super::*;
    use crate::stat::kind::KINDS;

    fn at(kind: &str, name: &str) -> Option<Expected> {
        expected(kind, find(name).unwrap())
    }

    #[test]
    fn walks_follow_from_side_size_and_reach() {
        for (kind, name, right) in [
            ("dtlb_load_walks", "read-many", Expected::One),
            ("dtlb_load_walks", "write-many", Expected::None),
            ("dtlb_load_walks", "code-many", Expected::None),
            ("dtlb_walks", "write-many-huge", Expected::One),
            ("dtlb_walks_4k", "write-many-huge", Expected::None),
            ("dtlb_walks_large", "read-many-huge", Expected::One),
            ("dtlb_walks_1g", "read-many-huge", Expected::None),
            ("itlb_walks", "code-many", Expected::One),
            ("itlb_walks", "code-lines", Expected::None),
            ("retired_store_misses", "write-many", Expected::One),
            ("dtlb_l1_misses", "read-middle", Expected::One),
            ("dtlb_load_l2_hits", "read-many", Expected::None),
        ] {
            assert_eq!(at(kind, name), Some(right), "{kind} in {name}");
        }
        let lines = find("read-lines").unwrap();
        let added = Some(Expected::Added(lines));
        assert_eq!(at("dtlb_load_walk_active", "read-many"), added);
        assert_eq!(at("dtlb_walk_steps", "read-many"), None);
    }

    #[test]
    fn what_no_loop_can_show_is_not_testable() {
        let open: Vec<&str> = KINDS
            .iter()
            .map(|kind| kind.name)
            .filter(|kind| !is_testable(kind) && crate::stat::kind::is_usual(kind))
            .collect();
        assert_eq!(
            open,
            [
                "dtlb_walks_coalesced",
                "dtlb_walks_1g",
                "dtlb_load_walks_1g",
                "dtlb_store_walks_1g",
                "itlb_walks_coalesced",
                "itlb_walks_2m",
                "itlb_walks_1g",
                "itlb_walks_large",
                "walker_loads_data_memory",
                "walker_loads_code_memory",
            ]
        );
    }

    #[test]
    fn a_factor_of_four_never_fits_the_limits_of_a_count() {
        for one in LOOPS {
            let own = LoopFigures {
                instructions: Some(9.0),
                ..LoopFigures::default()
            };
            for kind in [Expected::One, Expected::Instructions] {
                let limits = kind.limits(one, own, own).unwrap();
                assert!(limits.high < 4.0 * limits.low);
            }
        }
    }
}
