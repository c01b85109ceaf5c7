use serde::{Deserialize, Serialize};

use crate::address_space::{Mapping, Run, Space};
use hugewise_base::host::ThpSettings;
use hugewise_base::missing::Missing;
use hugewise_base::missing::{Fact, fact};

/// Resident memory that huge pages would add to a process.
///
/// Covers private anonymous memory, which `enabled` controls. Shared memory and files have separate settings.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Bloat {
    /// Aligned ranges that can become huge. They are in accessible anonymous mappings whose program did not ask for
    /// small pages.
    pub eligible_ranges: u64,
    /// The eligible ranges that are already huge.
    pub huge_ranges: u64,
    /// Resident memory in the other ranges, in bytes.
    pub small_bytes: u64,
    /// The growth if every range with at least one page became huge. `MADV_COLLAPSE` does that, and `enabled=always`
    /// would have done it from the start.
    pub populated: MemoryGrowth,
    /// The growth if khugepaged scans under the current settings.
    #[serde(with = "fact")]
    pub khugepaged_now: Fact<MemoryGrowth>,
    /// The growth if khugepaged scans and `enabled` is `always`.
    #[serde(with = "fact")]
    pub khugepaged_always: Fact<MemoryGrowth>,
    /// The growth if every range became huge, even untouched ones, as if the program touched one byte in each.
    pub worst: MemoryGrowth,
}

/// Ranges that would become huge, and the added memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MemoryGrowth {
    /// Ranges.
    pub ranges: u64,
    /// Resident memory that they add, in bytes.
    pub bytes_added: u64,
}

impl MemoryGrowth {
    fn add(&mut self, ranges: u64, bytes_each: u64) {
        self.ranges = self.ranges.saturating_add(ranges);
        let bytes = ranges.saturating_mul(bytes_each);
        self.bytes_added = self.bytes_added.saturating_add(bytes);
    }
}

/// Computes the forecast. Without the settings the two khugepaged figures are missing.
#[must_use]
pub fn bloat(space: &Space, thp: &Fact<ThpSettings>) -> Bloat {
    let limits = Limits::of(thp);
    let mut sums = Sums::default();
    for mapping in can_be_huge(space) {
        sums.mapping(space, mapping, limits.as_ref().ok());
    }
    let of_khugepaged = |growth| limits.as_ref().map(|_| growth).map_err(Clone::clone);
    Bloat {
        eligible_ranges: sums.eligible,
        huge_ranges: sums.huge,
        small_bytes: sums.small_bytes,
        populated: sums.populated,
        khugepaged_now: of_khugepaged(sums.now),
        khugepaged_always: of_khugepaged(sums.always),
        worst: sums.worst,
    }
}

/// The mappings that `enabled` can make huge, in any mode.
pub(super) fn can_be_huge(space: &Space) -> impl Iterator<Item = &Mapping> {
    let switched_off = space.process.thp_enabled == Some(false);
    space.mappings.iter().filter(move |mapping| {
        let flags = mapping.flags();
        !switched_off
            && mapping.kind.is_anonymous()
            && mapping.permissions.any()
            && flags.first_of(&["nh", "io", "pf", "mm", "de"]).is_none()
    })
}

/// The limits of khugepaged (mm/khugepaged.c, hpage_collapse_scan_pmd).
struct Limits {
    mode: Mode,
    /// `max_ptes_none`: pages that may be absent or zero.
    none: u64,
    /// `max_ptes_swap`: pages that may be in swap.
    swap: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Always,
    Madvise,
    Never,
}

impl Limits {
    fn of(thp: &Fact<ThpSettings>) -> Fact<Self> {
        let thp = thp.as_ref().map_err(Clone::clone)?;
        let limit = |name: &str| {
            thp.khugepaged
                .get(name)
                .copied()
                .ok_or_else(|| Missing::not_supported(format!("khugepaged/{name}")))
        };
        Ok(Self {
            mode: match thp.effective_pmd_mode() {
                "always" => Mode::Always,
                "madvise" => Mode::Madvise,
                _ => Mode::Never,
            },
            none: limit("max_ptes_none")?,
            swap: limit("max_ptes_swap")?,
        })
    }

    /// Returns true if khugepaged can collapse memory of a mapping in this mode.
    fn allows(mode: Mode, mapping: &Mapping) -> bool {
        match mode {
            Mode::Always => true,
            Mode::Madvise => mapping.flags().has("hg"),
            Mode::Never => false,
        }
    }
}

#[derive(Default)]
struct Sums {
    eligible: u64,
    huge: u64,
    small_bytes: u64,
    populated: MemoryGrowth,
    now: MemoryGrowth,
    always: MemoryGrowth,
    worst: MemoryGrowth,
}

impl Sums {
    fn mapping(&mut self, space: &Space, mapping: &Mapping, limits: Option<&Limits>) {
        let size = space.huge_bytes;
        let Some((first, last)) = mapping.whole_ranges(size) else {
            return;
        };
        let ranges = (last - first) / size.max(1);
        self.eligible += ranges;
        let mut empty = ranges;
        let whole = |run: &&Run| run.start >= first && run.end <= last;
        for run in mapping.runs.iter().filter(whole) {
            empty = empty.saturating_sub(run.ranges(size));
            self.run(space, mapping, run, limits);
        }
        self.worst.add(empty, size);
    }

    fn run(&mut self, space: &Space, mapping: &Mapping, run: &Run, limits: Option<&Limits>) {
        let (size, pages) = (space.huge_bytes, &run.pages);
        let ranges = run.ranges(size);
        let is_zero = pages.zero.is_some_and(|zero| zero > 0);
        if pages.huge.is_some_and(|huge| huge > 0) && !is_zero {
            self.huge += ranges;
            return;
        }
        let small = u64::from(pages.small());
        let added = size.saturating_sub(small * space.page_bytes);
        self.small_bytes += ranges.saturating_mul(small * space.page_bytes);
        self.worst.add(ranges, added);
        if small == 0 && pages.swapped == 0 {
            return;
        }
        self.populated.add(ranges, added);
        let Some(limits) = limits else {
            return;
        };
        let swapped = u64::from(pages.swapped);
        let none = space.pages_per_range().saturating_sub(small + swapped);
        if none > limits.none || swapped > limits.swap {
            return;
        }
        self.always.add(ranges, added);
        if Limits::allows(limits.mode, mapping) {
            self.now.add(ranges, added);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::address_space::test_space::{mapping, pages, run, space};
    use crate::address_space::{Memory, Pages, VmFlags};

    const MIB: u64 = 1 << 20;
    const AT: u64 = 0x7f00_0000_0000;

    fn thp(enabled: &str, none: u64) -> Fact<ThpSettings> {
        let khugepaged = [("max_ptes_none", none), ("max_ptes_swap", 64)];
        Ok(ThpSettings {
            enabled: enabled.to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: 2 * MIB,
            shmem_enabled: None,
            khugepaged: khugepaged.map(|(name, n)| (name.to_owned(), n)).into(),
            sizes: BTreeMap::new(),
            shmem_sizes: BTreeMap::new(),
        })
    }

    fn growth(ranges: u64, bytes_added: u64) -> MemoryGrowth {
        MemoryGrowth {
            ranges,
            bytes_added,
        }
    }

    /// Ten ranges: one full, two with one page, one with 64 in swap, one huge, one read-only, four untouched.
    fn ten() -> Mapping {
        let at = |ranges: u64| AT + ranges * 2 * MIB;
        let swapped = Pages {
            swapped: 64,
            ..pages(448)
        };
        let huge = Pages {
            huge: Some(512),
            ..pages(512)
        };
        let zero = Pages {
            zero: Some(512),
            huge: Some(512),
            ..pages(512)
        };
        mapping(
            AT,
            at(10),
            vec![
                run(at(0), at(1), pages(512)),
                run(at(1), at(3), pages(1)),
                run(at(3), at(4), swapped),
                run(at(4), at(5), huge),
                run(at(5), at(6), zero),
            ],
        )
    }

    #[test]
    fn each_case_counts_what_it_adds() {
        let space = space(vec![ten()]);
        let bloat = bloat(&space, &thp("always", 511));
        assert_eq!((bloat.eligible_ranges, bloat.huge_ranges), (10, 1));
        assert_eq!(bloat.small_bytes, (512 + 2 + 448) * 4096);
        let sparse = 2 * (511 * 4096);
        assert_eq!(bloat.populated, growth(4, sparse + 64 * 4096));
        assert_eq!(bloat.khugepaged_now, Ok(bloat.populated));
        let untouched = 5 * 2 * MIB;
        assert_eq!(bloat.worst, growth(9, sparse + 64 * 4096 + untouched));
    }

    #[test]
    fn limits_and_modes_bind_khugepaged() {
        let small = space(vec![ten()]);
        let strict = bloat(&small, &thp("madvise", 510));
        assert_eq!(strict.khugepaged_now, Ok(growth(0, 0)));
        assert_eq!(strict.khugepaged_always, Ok(growth(2, 64 * 4096)));
        let mut advised = ten();
        advised.memory = Some(Memory {
            flags: VmFlags::of(["rd", "wr", "hg"]),
            ..Memory::default()
        });
        let advised = bloat(&space(vec![advised]), &thp("madvise", 0));
        assert_eq!(advised.khugepaged_now, Ok(growth(2, 64 * 4096)));
        let unknown = bloat(&small, &Err(Missing::NoHardware));
        assert_eq!(unknown.khugepaged_now, Err(Missing::NoHardware));
        assert_eq!(unknown.populated.ranges, 4);
    }

    #[test]
    fn what_can_never_be_huge_is_left_out() {
        let mut refused = ten();
        refused.memory = Some(Memory {
            flags: VmFlags::of(["rd", "wr", "nh"]),
            ..Memory::default()
        });
        let mut reserved = ten();
        reserved.permissions = crate::address_space::Permissions(*b"---p");
        let mut shared = ten();
        shared.kind = crate::address_space::MappingKind::SharedMemory;
        let small = mapping(AT + 4096, AT + 2 * MIB, Vec::new());
        let none = bloat(
            &space(vec![refused, reserved, shared, small]),
            &thp("always", 511),
        );
        assert_eq!((none.eligible_ranges, none.worst), (0, growth(0, 0)));
        let mut switched_off = space(vec![ten()]);
        switched_off.process.thp_enabled = Some(false);
        assert_eq!(bloat(&switched_off, &thp("always", 511)).eligible_ranges, 0);
    }
}
