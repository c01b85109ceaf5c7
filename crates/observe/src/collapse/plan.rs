use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::address_space::{Mapping, MappingKind, Pages, Run, Space};
use crate::inspect::view::Glob;

use super::rules::FileRules;

/// Which ranges are wanted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only mappings that are so. Files are taken only where this names them.
    pub mapping: Option<Glob>,
    /// Only mappings of which at least this share was used while it was watched, 0 to 1.
    pub hot_share: Option<f64>,
    /// At most so much huge memory.
    pub max_bytes: Option<u64>,
}

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Size of a huge page, in bytes.
    pub huge_bytes: u64,
    /// Ranges to make huge, by rising address.
    pub ranges: Vec<PlannedRange>,
    /// What is left as it is, by reason.
    pub left_out: Vec<Exclusion>,
}

impl Plan {
    /// Resident memory that it adds if every range is made huge: what is not populated yet.
    #[must_use]
    pub fn bytes_added(&self) -> u64 {
        self.ranges.iter().map(|range| range.bytes_added).sum()
    }
}

/// One aligned range.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PlannedRange {
    /// Its address.
    pub start: u64,
    /// Resident memory that it gains, in bytes: the pages that are not in memory now.
    pub bytes_added: u64,
}

/// Ranges that are left as they are.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Why.
    pub why: Unfit,
    /// How many aligned ranges.
    pub ranges: u64,
}

/// Why a range is not tried.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// A PMD maps it, or it is hugetlb.
    AlreadyHuge,
    /// The mapping's name is not the one that was asked for.
    OtherMapping,
    /// It was not used enough while it was watched.
    NotHot,
    /// Nothing is populated: there is nothing to make huge.
    Empty,
    /// It was only read so far: the kernel would claim success and do nothing.
    OnlyZeroPages,
    /// A thread's stack (`MAP_STACK`); the kernel refuses.
    ThreadStack,
    /// The program excluded it (`MADV_NOHUGEPAGE`), or it is a stack without a guard; the kernel
    /// refuses.
    NotWanted,
    /// A file, and no pattern named it.
    File,
    /// A file that the kernel is known to refuse.
    Refused,
    /// Address and offset of a file or of shared memory do not line up.
    Misaligned,
    /// Memory that is never huge: devices, kernel pages.
    NeverHuge,
    /// A guard page lies in it; the kernel refuses.
    GuardPage,
    /// `--max-bytes` was used up before.
    Limit,
}

impl Unfit {
    /// The reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AlreadyHuge => "already huge",
            Self::OtherMapping => "other mappings than --mapping names",
            Self::NotHot => "mappings that were hardly used",
            Self::Empty => "not in use",
            Self::OnlyZeroPages => "only read so far (zero pages)",
            Self::ThreadStack => "thread stacks: the kernel keeps them small (MAP_STACK)",
            Self::NotWanted => "excluded by the program (MADV_NOHUGEPAGE)",
            Self::File => "files; --mapping PATH includes them",
            Self::Refused => {
                "the kernel refuses this file: huge pages of files need CONFIG_READ_ONLY_THP_FOR_FS \
                 and no writer, those of shared memory shmem_enabled other than deny"
            }
            Self::Misaligned => "address and file offset are not aligned alike",
            Self::NeverHuge => "device or kernel memory",
            Self::GuardPage => "a guard page lies in the range",
            Self::Limit => "beyond --max-bytes",
        }
    }
}

/// Chooses the ranges of an address space that `MADV_COLLAPSE` can make huge.
///
/// Policies (`enabled`, `khugepaged/max_ptes_*`) do not bind it, so they are not asked for.
/// Memory of files has `rules` of its own. A range that a mapping cuts off is not counted anywhere: it can never be huge.
#[must_use]
pub fn plan(space: &Space, choice: &Choice, rules: &FileRules) -> Plan {
    let mut planner = Planner {
        huge: space.huge_bytes.max(1),
        page: space.page_bytes,
        left: choice.max_bytes.unwrap_or(u64::MAX),
        ranges: Vec::new(),
        left_out: BTreeMap::new(),
    };
    for (index, mapping) in space.mappings.iter().enumerate() {
        let is_stack = space.is_stack_shaped(index);
        let unfit = unfit_mapping(mapping, choice, planner.huge);
        let unfit = unfit.or_else(|| rules.refuse(mapping).then_some(Unfit::Refused));
        let unfit = match unfit {
            Some(Unfit::NotWanted) if is_stack => Some(Unfit::ThreadStack),
            other => other,
        };
        planner.mapping(mapping, unfit);
    }
    Plan {
        huge_bytes: planner.huge,
        ranges: planner.ranges,
        left_out: planner
            .left_out
            .into_iter()
            .map(|(why, ranges)| Exclusion { why, ranges })
            .collect(),
    }
}

struct Planner {
    huge: u64,
    page: u64,
    left: u64,
    ranges: Vec<PlannedRange>,
    left_out: BTreeMap<Unfit, u64>,
}

impl Planner {
    fn mapping(&mut self, mapping: &Mapping, unfit: Option<Unfit>) {
        let Some((first, last)) = mapping.whole_ranges(self.huge) else {
            return;
        };
        let mut empty = (last - first) / self.huge;
        let unfit = all_huge(mapping, last - first)
            .then_some(Unfit::AlreadyHuge)
            .or(unfit);
        let huge = self.huge;
        for run in mapping.runs.iter().filter(|run| is_whole(run, huge)) {
            let ranges = run.ranges(self.huge);
            empty = empty.saturating_sub(ranges);
            match unfit_pages(&run.pages).or(unfit) {
                Some(why) => self.leave(why, ranges),
                None => self.take(run),
            }
        }
        // Reservations that cannot be accessed may be terabytes; nobody expects them to be huge.
        if empty > 0 && mapping.permissions.any() {
            self.leave(unfit.unwrap_or(Unfit::Empty), empty);
        }
    }

    fn leave(&mut self, why: Unfit, ranges: u64) {
        *self.left_out.entry(why).or_default() += ranges;
    }

    fn take(&mut self, run: &Run) {
        let added = added(&run.pages, self.huge, self.page);
        for index in 0..run.ranges(self.huge) {
            if self.left < self.huge {
                self.leave(Unfit::Limit, 1);
                continue;
            }
            self.left -= self.huge;
            self.ranges.push(PlannedRange {
                start: run.start + index * self.huge,
                bytes_added: added,
            });
        }
    }
}

/// Whether a run is made of whole ranges, and not the one that the mapping cuts off.
fn is_whole(run: &Run, huge: u64) -> bool {
    run.start.is_multiple_of(huge) && run.end.is_multiple_of(huge)
}

/// Zero pages are no resident memory, so a range made huge gains their place as well.
fn added(pages: &Pages, huge: u64, page: u64) -> u64 {
    huge.saturating_sub(u64::from(pages.small()) * page)
}

/// Whether smaps says that a mapping is huge in all its whole ranges: all that is known of
/// single ranges where there is no page scan (before Linux 6.7).
fn all_huge(mapping: &Mapping, whole_bytes: u64) -> bool {
    let memory = mapping.memory.as_ref();
    memory.is_some_and(|memory| memory.anon_huge >= whole_bytes)
}

/// Why nothing of a mapping is tried.
fn unfit_mapping(mapping: &Mapping, choice: &Choice, huge: u64) -> Option<Unfit> {
    let flags = mapping.flags();
    let named = choice.mapping.as_ref().map(|glob| glob.matches(mapping));
    let offset = i128::from(mapping.start) - i128::from(mapping.offset);
    let lines_up = offset.rem_euclid(i128::from(huge)) == 0;
    match mapping.kind {
        MappingKind::Device | MappingKind::Kernel => Some(Unfit::NeverHuge),
        MappingKind::Hugetlb => Some(Unfit::AlreadyHuge),
        _ if flags.first_of(&["io", "pf", "mm", "de"]).is_some() => Some(Unfit::NeverHuge),
        _ if named == Some(false) => Some(Unfit::OtherMapping),
        MappingKind::File if named.is_none() => Some(Unfit::File),
        _ if flags.has("nh") => Some(Unfit::NotWanted),
        kind if !kind.is_anonymous() && !lines_up => Some(Unfit::Misaligned),
        _ if is_cold(mapping, choice.hot_share) => Some(Unfit::NotHot),
        _ => None,
    }
}

/// Whether less than the wanted share of a mapping's resident memory was used. Without totals
/// nothing is known to be hot.
fn is_cold(mapping: &Mapping, hot_share: Option<f64>) -> bool {
    let Some(share) = hot_share else {
        return false;
    };
    mapping.memory.as_ref().is_none_or(|memory| {
        memory.resident == 0 || (memory.referenced as f64) < share * memory.resident as f64
    })
}

/// Why a range with these pages is not tried.
fn unfit_pages(pages: &Pages) -> Option<Unfit> {
    let is_huge = pages.huge.is_some_and(|huge| huge > 0);
    let is_zero = pages.zero.is_some_and(|zero| zero > 0);
    match pages {
        _ if is_huge && is_zero => Some(Unfit::OnlyZeroPages),
        _ if is_huge => Some(Unfit::AlreadyHuge),
        _ if pages.guard.is_some_and(|guard| guard > 0) => Some(Unfit::GuardPage),
        _ if pages.small() > 0 || pages.swapped > 0 => None,
        _ if is_zero => Some(Unfit::OnlyZeroPages),
        _ => Some(Unfit::Empty),
    }
}

#[cfg(test)]
mod tests;
