//! What may have happened to a range that could be huge now: each reason is weighed by what it
//! leaves behind. Events of vmstat are of the whole machine and since boot, so they only
//! exclude what never happened.

use crate::base::units::MIB;
use crate::observe::inspect::reasons::range::{Fit, Range};

pub(super) fn uffd(range: &Range<'_>) -> bool {
    range
        .mapping
        .flags()
        .first_of(&["um", "uw", "ui"])
        .is_some()
}

pub(super) fn swapped(range: &Range<'_>) -> bool {
    range.swapped() > 0
}

/// Whether the sources show the range to hold single pages, or cannot tell folios.
fn may_be_single(range: &Range<'_>) -> bool {
    range.frames().is_none_or(|frames| frames.single > 0)
}

pub(super) fn pte_table(range: &Range<'_>) -> Fit {
    let small = range.small() > 0 && may_be_single(range);
    let mixed = range.frames_in_huge_folios() > 0 || range.frames_in_middle_folios() > 0;
    let fit = if mixed { Fit::Possible } else { Fit::Likely };
    fit.when(small && range.is_anonymous())
}

/// A table that stayed fills up again here and there.
pub(super) fn empty_table(range: &Range<'_>) -> Fit {
    let sparse = range.small() < range.pages_per_range();
    Fit::Possible.when(range.small() > 0 && sparse && may_be_single(range) && range.is_anonymous())
}

/// Pages of a huge folio that no PMD maps were mapped by one before, unless the kernel cannot
/// tell which pages a PMD maps.
pub(super) fn pmd_split(range: &Range<'_>) -> Fit {
    let huge_known = range.pages.is_some_and(|pages| pages.huge.is_some());
    match range.frames() {
        Some(_) if range.frames_in_huge_folios() == 0 => Fit::No,
        Some(_) if !huge_known => Fit::Possible,
        Some(frames) if frames.single == 0 && frames.shared == 0 => Fit::Proved,
        Some(_) => Fit::Likely,
        None => Fit::Possible.when(range.small() > 0 && range.may_have_happened("thp_split_pmd")),
    }
}

/// Parent and child both show the traces. Where a huge folio is left among single pages and
/// others map it too, one of them has written.
pub(super) fn fork_cow(range: &Range<'_>) -> Fit {
    let process = &range.space.process;
    let related = process.forked || process.children > 0;
    let anonymous = range.anonymous() > 0;
    match range.frames() {
        Some(frames) if frames.single > 0 && range.frames_in_huge_folios() > 0 => {
            let shared = related || frames.shared > 0;
            if shared { Fit::Strong } else { Fit::Possible }
        }
        Some(frames) => {
            let shared = frames.shared > 0 || process.forked;
            Fit::Possible.when(shared && anonymous)
        }
        None => Fit::Possible.when(related && anonymous),
    }
}

pub(super) fn guard(range: &Range<'_>) -> Fit {
    let named = range.pages.is_some_and(|pages| pages.guard.is_some());
    if named {
        Fit::Proved.when(range.count(|pages| pages.guard) > 0)
    } else {
        Fit::Strong.when(range.marks() > 0)
    }
}

/// Only mergeable memory is merged. The flag of a frame alone proves nothing: some kernels (6.12)
/// show it for every anonymous page, because the mark of a merged page contains that of an
/// anonymous one; what smaps says of the mapping is held against it.
pub(super) fn ksm(range: &Range<'_>) -> Fit {
    if !range.mapping.flags().has("mg") || range.small() == 0 {
        return Fit::No;
    }
    let memory = range.mapping.memory.as_ref();
    let merged = memory.and_then(|memory| memory.ksm);
    let all = memory.is_some_and(|memory| merged.is_some_and(|ksm| ksm >= memory.resident));
    match range.frames().map(|frames| frames.ksm) {
        _ if merged == Some(0) => Fit::No,
        Some(0) => Fit::No,
        // Kernels that count merged pages in smaps (6.6) are the ones whose flags may err.
        Some(_) if merged.is_none() => Fit::Proved,
        _ if all => Fit::Proved,
        Some(_) | None => Fit::Strong,
    }
}

pub(super) fn mthp(range: &Range<'_>) -> Fit {
    match range.frames() {
        Some(frames) => {
            let only = frames.single == 0 && range.frames_in_huge_folios() == 0;
            let fit = if only { Fit::Proved } else { Fit::Strong };
            fit.when(range.frames_in_middle_folios() > 0)
        }
        None => {
            let enabled = range
                .thp()
                .is_some_and(|thp| thp.enabled_mthp_sizes().next().is_some());
            Fit::Possible.when(enabled && range.small() > 0)
        }
    }
}

/// Whether single pages may stand where no huge page was made, or where one was torn apart:
/// not where pages of a huge folio are left among them.
fn may_have_lost_it(range: &Range<'_>) -> bool {
    may_be_single(range) && range.frames_in_huge_folios() == 0 && range.anonymous() > 0
}

/// What a fault does to get a huge page where none lies ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Nothing.
    None,
    /// It has others make one, and does without.
    Background,
    /// It compacts and reclaims itself.
    Direct,
}

/// By `defrag` (vma_thp_gfp_mask, mm/huge_memory.c).
fn effort(range: &Range<'_>) -> Effort {
    let advised = range.is_advised();
    match range.thp().map(|thp| thp.defrag.as_str()) {
        Some("never") => Effort::None,
        Some("madvise") if !advised => Effort::None,
        Some("defer") => Effort::Background,
        Some("defer+madvise") if !advised => Effort::Background,
        _ => Effort::Direct,
    }
}

/// Whether few blocks are free that a huge page could be made of: a hundredth of the machine,
/// and less than 64 MiB on any.
fn huge_pages_are_scarce(range: &Range<'_>) -> bool {
    let order = range.space.pages_per_range().trailing_zeros() as usize;
    let blocks = range.settings.free_blocks.get(order..).unwrap_or_default();
    let free: u64 = blocks
        .iter()
        .zip(0_u32..)
        .map(|(blocks, above)| blocks << above.min(32))
        .sum();
    let bytes = free.saturating_mul(range.space.huge_bytes);
    !range.settings.free_blocks.is_empty()
        && bytes < (range.settings.memory_bytes / 100).min(64 * MIB)
}

/// Each range that fell back has counted once, so fewer events than ranges cannot be all of it.
///
/// That few huge pages lie ready speaks for a refusal only where the fault takes what lies
/// ready: one that makes room itself fails for want of memory that can be moved or reclaimed,
/// which the free blocks do not tell.
fn allocation_failed(range: &Range<'_>, with: &[Effort]) -> Fit {
    let charged = range.event("thp_fault_fallback_charge").unwrap_or(0);
    let failed = range
        .event("thp_fault_fallback")
        .map(|failed| failed.saturating_sub(charged));
    let happened = failed != Some(0);
    let ranges = (range.end - range.start) / range.space.huge_bytes.max(1);
    let explains_all = failed.is_none_or(|failed| failed >= ranges);
    let effort = effort(range);
    let takes_what_is_ready = effort != Effort::Direct;
    let fit = if explains_all && takes_what_is_ready && huge_pages_are_scarce(range) {
        Fit::Strong
    } else {
        Fit::Possible
    };
    fit.when(happened && with.contains(&effort) && may_have_lost_it(range))
}

pub(super) fn alloc_fail(range: &Range<'_>) -> Fit {
    allocation_failed(range, &[Effort::Background, Effort::Direct])
}

pub(super) fn alloc_no_effort(range: &Range<'_>) -> Fit {
    allocation_failed(range, &[Effort::None])
}

/// The cgroup is full where not even one more huge page fits in.
pub(super) fn memcg(range: &Range<'_>) -> Fit {
    let full = range.settings.cgroup.as_ref().is_some_and(|cgroup| {
        let room = cgroup
            .limit_bytes
            .zip(cgroup.used_bytes)
            .map(|(limit, used)| limit.saturating_sub(used));
        room.is_some_and(|room| room < 2 * range.space.huge_bytes)
    });
    let limited = range
        .settings
        .cgroup
        .as_ref()
        .is_none_or(|cgroup| cgroup.limit_bytes.is_some());
    let refused = range.may_have_happened("thp_fault_fallback_charge");
    let fit = if full { Fit::Strong } else { Fit::Possible };
    fit.when(refused && limited && may_have_lost_it(range))
}

pub(super) fn numa(range: &Range<'_>) -> Fit {
    let happened = range.may_have_happened("thp_fault_fallback");
    let several = range.settings.numa_nodes > 1;
    Fit::Possible.when(several && happened && may_have_lost_it(range))
}

pub(super) fn reclaim(range: &Range<'_>) -> Fit {
    split_event(range, "thp_split_page")
}

pub(super) fn underused(range: &Range<'_>) -> Fit {
    let known = range.event("thp_underused_split_page").is_some();
    split_event(range, "thp_underused_split_page").min(if known { Fit::Proved } else { Fit::No })
}

fn split_event(range: &Range<'_>, event: &str) -> Fit {
    let happened = range.may_have_happened(event);
    Fit::Possible.when(happened && may_have_lost_it(range))
}

/// Zero pages among written ones: the range was read before it was written. Where all of it was
/// written since, only the split of the huge zero page is left, as a count of the machine.
pub(super) fn lse(range: &Range<'_>) -> Fit {
    let arm = range.settings.arch == "aarch64";
    let read_first = range.zero() > 0 && range.small() > 0;
    let split = may_have_lost_it(range) && range.may_have_happened("thp_split_pmd");
    Fit::Possible.when(arm && (read_first || split))
}
