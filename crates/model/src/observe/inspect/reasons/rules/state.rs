//! What the pages are: these reasons rest on the sensor alone.

use crate::base::missing::Missing;
use crate::observe::address_space::Kind;
use crate::observe::inspect::reasons::range::Range;
use crate::observe::inspect::reasons::{Certainty, Code};

/// How sure a reason is that decides by itself.
pub(super) fn sure(code: Code, range: &Range<'_>) -> Certainty {
    let aarch64 = range.settings.arch == "aarch64";
    match code {
        Code::Untouched => untouched_for_sure(range),
        // The kernel sets the same flag for stacks, with a guard or without (since Linux 6.8).
        Code::MadvNohugepage if range.mapping.kind == Kind::Anonymous => {
            Certainty::OneOf(vec![code, Code::MapStack])
        }
        Code::HugeZero | Code::Zero4K if aarch64 => {
            Certainty::OneOf(vec![code, Code::LseReadFirst])
        }
        _ => Certainty::Proved,
    }
}

/// Without the scan, a mapping that smaps counts as empty may still hold zero pages, which smaps
/// does not count; and an empty table shows in no source but the sum of all tables.
fn untouched_for_sure(range: &Range<'_>) -> Certainty {
    let mut codes = vec![Code::Untouched];
    if !range.space.read_with.page_scan.is_read() {
        codes.extend([Code::HugeZero, Code::Zero4K]);
    }
    if may_hold_a_table(range) {
        codes.push(Code::EmptyPteTable);
    }
    if codes.len() == 1 {
        Certainty::Proved
    } else {
        Certainty::OneOf(codes)
    }
}

pub(super) fn no_thp(range: &Range<'_>) -> bool {
    matches!(range.settings.thp, Err(Missing::NotSupported { .. }))
        && range.mapping.kind != Kind::Hugetlb
        && !already_pmd(range)
}

/// By the scan; without it where smaps says that all of the mapping is, or nothing.
pub(super) fn already_pmd(range: &Range<'_>) -> bool {
    if range.mapping.kind == Kind::Hugetlb {
        return false;
    }
    match range.pages.map(|pages| pages.huge) {
        Some(Some(huge)) => huge > 0 && range.zero() == 0,
        _ => all_by_totals(range),
    }
}

fn all_by_totals(range: &Range<'_>) -> bool {
    let whole = range.mapping.whole_ranges(range.space.huge_bytes);
    let scanned = range.space.read_with.page_scan.is_read();
    !scanned
        && range.is_whole()
        && whole.is_some_and(|(first, last)| range.huge_by_totals() == Some(last - first))
}

/// Full and whole, without a source for PMDs, in a mapping of which smaps counts a part as huge.
pub(super) fn may_be_huge(range: &Range<'_>) -> bool {
    let full = range
        .pages
        .is_some_and(|pages| pages.huge.is_none() && pages.present == range.pages_per_range());
    full && range.is_whole()
        && range.mapping.kind != Kind::Hugetlb
        && range.huge_by_totals() != Some(0)
}

pub(super) fn hugetlb(range: &Range<'_>) -> bool {
    range.mapping.kind == Kind::Hugetlb
}

/// Whether an empty page table may be left in a mapping: not where all tables of the process
/// are needed by what is populated. In a mapping without a whole range it would make no
/// difference.
fn may_hold_a_table(range: &Range<'_>) -> bool {
    let spare = range.whole.tables.map(|tables| tables.spare());
    let large = range.mapping.whole_ranges(range.space.huge_bytes);
    range.is_anonymous() && large.is_some() && spare != Some(0)
}

/// Memory that drivers map by frame numbers (`pf`) is in no page map: nothing is known of it.
pub(super) fn untouched(range: &Range<'_>) -> bool {
    if range.mapping.flags().has("pf") {
        return false;
    }
    if range.pages_were_read() {
        let populated = range.count(|pages| Some(pages.populated()));
        return populated == 0 && range.count(|pages| pages.guard) == 0;
    }
    let memory = range.mapping.memory.as_ref();
    memory.is_some_and(|memory| memory.resident + memory.swap == 0)
}

pub(super) fn huge_zero(range: &Range<'_>) -> bool {
    range.count(|pages| pages.huge) > 0 && range.zero() > 0
}

/// Only zero pages: where others lie beside them, they are the history of those.
pub(super) fn zero_4k(range: &Range<'_>) -> bool {
    let others = range.small() + range.count(|pages| Some(pages.swapped));
    range.zero() > 0 && others == 0 && range.count(|pages| pages.guard) == 0
}
