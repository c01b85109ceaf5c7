//! Whether a huge page was allocated and kept. Events in vmstat are machine-wide counts since boot, so they can only
//! exclude events that never happened.

use hugewise_base::counter::Counter;
use hugewise_base::units::{MIB, bytes_text};

use super::history::{history_evidence, may_be_single};
use super::range::{Fit, Range};
use super::row::{Fix, Row, Rule, State};

pub(super) const ALLOC_FAIL: Row = Row {
    state: State::Eligible,
    rule: Rule::History(alloc_fail),
    evidence: history_evidence,
    circumstance: |range| event(range, Counter::ThpFaultFallback),
    what: "At the first use of the range the kernel could not allocate a huge page, in spite \
           of the effort that `defrag` asks for.",
    kernels: "all",
    sign: "thp_fault_fallback exceeds thp_fault_fallback_charge, and /proc/buddyinfo has few \
           free blocks of the size. Both are machine-wide.",
    fix: Fix::new(
        "hugewise collapse {pid} (it tries hardest). For the machine (root): \
             compact_memory, min_free_kbytes, defrag, defrag_mode (6.15).",
    ),
    source: "vma_thp_gfp_mask in mm/huge_memory.c",
};

pub(super) const ALLOC_NO_EFFORT: Row = Row {
    state: State::Eligible,
    rule: Rule::History(alloc_no_effort),
    evidence: history_evidence,
    circumstance: |range| event(range, Counter::ThpFaultFallback),
    what: "At the first use of the range no huge page was free, and `defrag` forbids reclaim \
           and compaction for memory that is not advised.",
    kernels: "all",
    sign: "As ALLOC_FAIL, with defrag at `madvise` or `never` (or VmFlags without `hg`).",
    fix: Fix::new(
        "hugewise collapse {pid}. For good: advise the memory, or set defrag=defer \
             or always (root).",
    ),
    source: "vma_thp_gfp_mask in mm/huge_memory.c",
};

pub(super) const MEMCG_LIMIT: Row = Row {
    state: State::Eligible,
    rule: Rule::History(memcg),
    evidence: history_evidence,
    circumstance: cgroup_use,
    what: "A huge page was free, but it would have exceeded the limit of the memory cgroup.",
    kernels: "all",
    sign: "thp_fault_fallback_charge has counted, and the cgroup is near its limit.",
    fix: Fix::new(
        "Raise the limit of the memory cgroup, or use less; then: hugewise collapse {pid}",
    ),
    source: "do_huge_pmd_anonymous_page in mm/huge_memory.c",
};

pub(super) const NUMA_BIND: Row = Row {
    state: State::Eligible,
    rule: Rule::History(numa),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "The NUMA policy of the memory allows only nodes that had no free huge page.",
    kernels: "all",
    sign: "/proc/PID/numa_maps and the free blocks per node; never on machines with one node.",
    fix: Fix::new(
        "Change the policy (set_mempolicy, mbind) or compact the node; then: hugewise \
             collapse {pid}",
    ),
    source: "mm/mempolicy.c",
};

pub(super) const SPLIT_BY_RECLAIM: Row = Row {
    state: State::Eligible,
    rule: Rule::History(reclaim),
    evidence: history_evidence,
    circumstance: |range| event(range, Counter::ThpSplitPage),
    what: "Under memory pressure the kernel split huge pages, to swap them out or to free \
           unused parts.",
    kernels: "all",
    sign: "thp_split_page has counted (machine-wide).",
    fix: Fix::new("Add memory; then: hugewise collapse {pid}"),
    source: "split_huge_page_to_list_to_order in mm/huge_memory.c",
};

pub(super) const SPLIT_UNDERUSED: Row = Row {
    state: State::Eligible,
    rule: Rule::History(underused),
    evidence: history_evidence,
    circumstance: |range| event(range, Counter::ThpUnderusedSplitPage),
    what: "Under memory pressure the kernel split a huge page that was mostly zeros.",
    kernels: "6.12 and later, where max_ptes_none is below its default",
    sign: "thp_underused_split_page has counted (machine-wide).",
    fix: Fix::new(
        "Usually wanted. To stop it: shrink_underused=0 (root); to undo it: hugewise \
             collapse {pid}",
    ),
    source: "thp_underused in mm/huge_memory.c",
};

/// Returns true if the range can hold single pages because no huge page was allocated, or because one was split. False
/// if pages of a huge folio remain among them.
pub(super) fn may_have_lost_it(range: &Range<'_>) -> bool {
    may_be_single(range) && range.frames_in_huge_folios() == 0 && range.anonymous() > 0
}

/// The effort of a page fault to get a huge page when none is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Nothing.
    None,
    /// It wakes kswapd and kcompactd, and uses small pages.
    Background,
    /// It compacts and reclaims directly.
    Direct,
}

/// The effort according to `defrag` (vma_thp_gfp_mask, mm/huge_memory.c).
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

/// Returns true if few free blocks are large enough for a huge page: less than 1 % of memory and less than 64 MiB.
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

/// Each range that fell back was counted once. Fewer events than ranges therefore cannot explain all ranges.
///
/// Scarce free huge pages indicate an allocation failure only if the fault takes a free page without compaction. A
/// fault that compacts or reclaims fails for lack of movable or reclaimable memory, which the free-block counts do not
/// show.
fn allocation_failed(range: &Range<'_>, with: &[Effort]) -> Fit {
    let charged = range.event(Counter::ThpFaultFallbackCharge).unwrap_or(0);
    let failed = range
        .event(Counter::ThpFaultFallback)
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

fn alloc_fail(range: &Range<'_>) -> Fit {
    allocation_failed(range, &[Effort::Background, Effort::Direct])
}

fn alloc_no_effort(range: &Range<'_>) -> Fit {
    allocation_failed(range, &[Effort::None])
}

/// The cgroup is full if not even one more huge page fits.
fn memcg(range: &Range<'_>) -> Fit {
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
    let refused = range.may_have_happened(Counter::ThpFaultFallbackCharge);
    let fit = if full { Fit::Strong } else { Fit::Possible };
    fit.when(refused && limited && may_have_lost_it(range))
}

fn numa(range: &Range<'_>) -> Fit {
    let happened = range.may_have_happened(Counter::ThpFaultFallback);
    let several = range.settings.numa_nodes > 1;
    Fit::Possible.when(several && happened && may_have_lost_it(range))
}

fn reclaim(range: &Range<'_>) -> Fit {
    split_event(range, Counter::ThpSplitPage)
}

fn underused(range: &Range<'_>) -> Fit {
    let known = range.event(Counter::ThpUnderusedSplitPage).is_some();
    split_event(range, Counter::ThpUnderusedSplitPage).min(if known {
        Fit::Proved
    } else {
        Fit::No
    })
}

fn split_event(range: &Range<'_>, event: Counter) -> Fit {
    let happened = range.may_have_happened(event);
    Fit::Possible.when(happened && may_have_lost_it(range))
}

/// Returns how often an event has happened.
pub(super) fn event(range: &Range<'_>, counter: Counter) -> Option<String> {
    let count = range.event(counter)?;
    let name = counter.field();
    Some(format!("{name} is {count} since boot, machine-wide"))
}

fn cgroup_use(range: &Range<'_>) -> Option<String> {
    let cgroup = range.settings.cgroup.as_ref()?;
    let (limit, used) = (cgroup.limit_bytes?, cgroup.used_bytes?);
    let (limit, used) = (bytes_text(limit), bytes_text(used));
    Some(format!("its cgroup uses {used} of {limit}"))
}
