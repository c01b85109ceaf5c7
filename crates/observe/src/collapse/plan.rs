use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::address_space::{Mapping, MappingKind, Pages, Run, Space};
use crate::inspect::view::Glob;

use super::rules::FileRules;

/// The selection of ranges.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only mappings that match. Files are included only if this pattern matches them.
    pub mapping: Option<Glob>,
    /// Only mappings with at least this used share during the watch, 0 to 1.
    pub hot_share: Option<f64>,
    /// Limit for the huge memory, in bytes.
    pub max_bytes: Option<u64>,
}

/// The ranges to make huge.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Size of a huge page, in bytes.
    pub huge_bytes: u64,
    /// Ranges to make huge, by ascending address.
    pub ranges: Vec<PlannedRange>,
    /// Ranges that are left unchanged, by reason.
    pub left_out: Vec<Exclusion>,
}

impl Plan {
    /// Resident memory added if every range is made huge, in bytes: the unpopulated pages.
    #[must_use]
    pub fn bytes_added(&self) -> u64 {
        self.ranges.iter().map(|range| range.bytes_added).sum()
    }
}

/// One aligned range.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PlannedRange {
    /// Its start address.
    pub start: u64,
    /// Resident memory that it adds, in bytes: its pages that are not in memory.
    pub bytes_added: u64,
}

/// Ranges that are left unchanged.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The reason.
    pub why: Unfit,
    /// The number of aligned ranges.
    pub ranges: u64,
}

/// Why a range is not tried.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// A PMD maps it, or it is hugetlb.
    AlreadyHuge,
    /// The name of the mapping does not match the pattern.
    OtherMapping,
    /// Not used enough during the watch.
    NotHot,
    /// Not populated, so there is nothing to make huge.
    Empty,
    /// Only read so far. The kernel would report success and do nothing.
    OnlyZeroPages,
    /// A thread stack (`MAP_STACK`); the kernel refuses.
    ThreadStack,
    /// The program excluded it (`MADV_NOHUGEPAGE`), or it is a stack without a guard; the kernel refuses.
    NotWanted,
    /// A file, and no pattern matched it.
    File,
    /// A file that the kernel is known to refuse.
    Refused,
    /// Address and offset of a file or of shared memory differ within a huge page.
    Misaligned,
    /// Memory that is never huge: devices, kernel pages.
    NeverHuge,
    /// It contains a guard page; the kernel refuses.
    GuardPage,
    /// `--max-bytes` was already used up.
    Limit,
}

impl Unfit {
    /// The reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AlreadyHuge => "already huge",
            Self::OtherMapping => "other mappings than --mapping names",
            Self::NotHot => "rarely used mappings",
            Self::Empty => "not in use",
            Self::OnlyZeroPages => "only read so far (zero pages)",
            Self::ThreadStack => "thread stacks: the kernel keeps them small (MAP_STACK)",
            Self::NotWanted => "excluded by the program (MADV_NOHUGEPAGE)",
            Self::File => "files; --mapping PATH includes them",
            Self::Refused => {
                "the kernel refuses this file: huge pages of files need CONFIG_READ_ONLY_THP_FOR_FS \
                 and no writer, those of shared memory shmem_enabled other than deny"
            }
            Self::Misaligned => "address and file offset differ within a huge page",
            Self::NeverHuge => "device or kernel memory",
            Self::GuardPage => "the range contains a guard page",
            Self::Limit => "beyond --max-bytes",
        }
    }
}

/// Chooses the ranges of an address space that `MADV_COLLAPSE` can make huge.
///
/// Policies (`enabled`, `khugepaged/max_ptes_*`) do not limit it, so they are ignored. Files have separate `rules`.
/// Partial ranges at the ends of a mapping are not counted, because they can never be huge.
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
        // Inaccessible reservations can span terabytes, and are not expected to be huge.
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

/// Returns true if a run has whole ranges, not a partial one at the end of the mapping.
fn is_whole(run: &Run, huge: u64) -> bool {
    run.start.is_multiple_of(huge) && run.end.is_multiple_of(huge)
}

/// Zero pages are not resident memory, so a range made huge adds memory for them too.
fn added(pages: &Pages, huge: u64, page: u64) -> u64 {
    huge.saturating_sub(u64::from(pages.small()) * page)
}

/// Returns true if smaps counts all whole ranges of a mapping as huge. Without a page scan (before Linux 6.7) nothing
/// more is known about single ranges.
fn all_huge(mapping: &Mapping, whole_bytes: u64) -> bool {
    let memory = mapping.memory.as_ref();
    memory.is_some_and(|memory| memory.anon_huge >= whole_bytes)
}

/// Returns why no range of a mapping is tried.
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

/// Returns true if a smaller share of the mapping's resident memory was used than requested. Without totals nothing
/// counts as hot.
fn is_cold(mapping: &Mapping, hot_share: Option<f64>) -> bool {
    let Some(share) = hot_share else {
        return false;
    };
    mapping.memory.as_ref().is_none_or(|memory| {
        memory.resident == 0 || (memory.referenced as f64) < share * memory.resident as f64
    })
}

/// Returns why a range with these pages is not tried.
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
