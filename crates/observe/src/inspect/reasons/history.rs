//! The history of the range: the pages that came first, and later changes to them. Each reason is weighed by the traces
//! that it leaves.

use hugewise_base::counter::Counter;

use super::Certainty;
use super::allocation::{event, may_have_lost_it};
use super::mapping::flag;
use super::range::{Fit, Range};
use super::row::{Facts, Fix, Row, Rule, State};

/// Flags of memory that userfaultfd watches.
const WATCHED: [&str; 3] = ["um", "uw", "ui"];

pub(super) const UFFD: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(uffd),
    evidence: |facts| flag(facts.range, &WATCHED),
    circumstance: |_| None,
    what: "userfaultfd watches the mapping: a program handles its page faults and fills in \
           small pages. Holes are not collapsed.",
    kernels: "all",
    sign: "VmFlags has um, uw or ui.",
    fix: Fix::new(
        "Unregister the range from userfaultfd when it is filled; then: hugewise collapse \
             {pid}",
    ),
    source: "userfaultfd_armed in include/linux/userfaultfd_k.h",
};

pub(super) const SWAPPED: Row = Row {
    state: State::Eligible,
    rule: Rule::Decides(swapped),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "Pages of the range are in swap. They come back one by one, as small pages.",
    kernels: "all",
    sign: "PAGEMAP_SCAN says SWAPPED; Swap in smaps.",
    fix: Fix::new(
        "Add memory. Now: hugewise collapse {pid} (it reads the pages back; khugepaged \
             reads at most max_ptes_swap).",
    ),
    source: "do_swap_page in mm/memory.c",
};

pub(super) const PTE_TABLE_EXISTS: Row = Row {
    state: State::Eligible,
    rule: Rule::History(pte_table),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "A small page, and with it a page table, was there before the range could be huge; \
           from then on every fault fills that table. Usual causes: memory that grows and is \
           used step by step, advice after the first use, MAP_POPULATE before madvise, or a \
           setting changed while the program ran.",
    kernels: "all",
    sign: "Present pages that no PMD maps, each its own folio (kpageflags, CAP_SYS_ADMIN), in \
           an eligible range.",
    fix: Fix::new(
        "hugewise collapse {pid}. For good: map, advise, then use, in steps of at \
             least {huge}.",
    ),
    source: "__handle_mm_fault in mm/memory.c: a huge page is tried only where pmd_none()",
};

pub(super) const EMPTY_PTE_TABLE: Row = Row {
    state: State::Eligible,
    rule: Rule::History(empty_table),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "The range was emptied in pieces (MADV_DONTNEED below the huge-page size, \
           MADV_FREE) and kept its page table, so new pages in it are small again.",
    kernels: "all; a DONTNEED of the whole range frees the table since 6.14 on x86, 7.0 \
              elsewhere",
    sign: "While it is empty, the process only has more page tables (VmPTE) than its \
           populated ranges need; afterwards sparse small pages in an eligible range.",
    fix: Fix::new(
        "hugewise collapse {pid}. For good: let the allocator give memory back in \
             whole huge pages.",
    ),
    source: "CONFIG_PT_RECLAIM in mm/Kconfig",
};

pub(super) const PMD_SPLIT: Row = Row {
    state: State::Eligible,
    rule: Rule::History(pmd_split),
    evidence: history_evidence,
    circumstance: splits_without_frames,
    what: "It is still one huge page in memory, but its mapping was split into small entries: \
           by mprotect, munmap, mremap, mlock, MADV_DONTNEED, MADV_FREE or MADV_COLD on a \
           part of it, or by write protection through userfaultfd.",
    kernels: "all",
    sign: "kpageflags shows one huge folio behind all pages, in order, and PAGEMAP_SCAN does \
           not say HUGE (CAP_SYS_ADMIN). Without that capability: thp_split_pmd has counted.",
    fix: Fix::new("hugewise collapse {pid}. For good: no such calls on a part of a huge page."),
    source: "__split_huge_pmd in mm/huge_memory.c",
};

pub(super) const FORK_COW: Row = Row {
    state: State::Eligible,
    rule: Rule::History(fork_cow),
    evidence: history_evidence,
    circumstance: relatives,
    what: "The range was written while parent and child shared it after a fork. Since 5.8 \
           such a write splits the huge page and copies one small page.",
    kernels: "5.8 and later; before, the whole huge page was copied",
    sign: "Pages of a huge folio mixed with single pages, and pages that others map too \
           (CAP_SYS_ADMIN).",
    fix: Fix::new(
        "Now, if the child has ended: hugewise collapse {pid}. For good: MADV_DONTFORK, \
             or vfork or posix_spawn instead of fork.",
    ),
    source: "do_huge_pmd_wp_page in mm/huge_memory.c",
};

pub(super) const GUARD_PAGES: Row = Row {
    state: State::Eligible,
    rule: Rule::History(guard),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "madvise(MADV_GUARD_INSTALL) put guard pages into the range. They are page-table \
           entries, which a PMD cannot hold.",
    kernels: "6.13 and later; seen since 6.15",
    sign: "PAGEMAP_SCAN says GUARD.",
    fix: Fix::new("Put the guard pages at a multiple of {huge}, outside the range."),
    source: "mm/madvise.c",
};

pub(super) const KSM: Row = Row {
    state: State::Eligible,
    rule: Rule::History(ksm),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "KSM merged pages of the range with equal pages elsewhere.",
    kernels: "all",
    sign: "VmFlags has `mg` and smaps counts KSM (6.6), or kpageflags (CAP_SYS_ADMIN).",
    fix: Fix::new("The program must call madvise(MADV_UNMERGEABLE)."),
    source: "Documentation/admin-guide/mm/ksm.rst",
};

pub(super) const MTHP_INSTEAD: Row = Row {
    state: State::Eligible,
    rule: Rule::History(mthp),
    evidence: history_evidence,
    circumstance: |_| None,
    what: "Folios between a page and a huge page fill the range: a size below the PMD was \
           enabled and came first.",
    kernels: "6.8 and later",
    sign: "kpageflags shows smaller folios (CAP_SYS_ADMIN). Without that capability: such a \
           size is enabled.",
    fix: Fix::new(
        "Smaller folios may give most of the gain. For huge pages: hugewise collapse \
             {pid}, or enable the PMD size (root).",
    ),
    source: "alloc_anon_folio in mm/memory.c",
};

pub(super) const LSE_READ_FIRST: Row = Row {
    state: State::Eligible,
    rule: Rule::History(lse),
    evidence: history_evidence,
    circumstance: splits_with_frames,
    what: "On Arm an atomic instruction on an unmapped page raises a read fault first: the \
           kernel maps zeros, and the following write finds a page table. Programs that \
           pre-touch memory with an atomic add of 0 lose huge pages that way.",
    kernels: "arm64; huge pages from 5.8 to 6.12, smaller folios always",
    sign: "As HUGE_ZERO and ZERO_4K, on arm64; once written, small pages and thp_split_pmd. \
           The instruction itself is not recorded.",
    fix: Fix::new(
        "Call madvise(MADV_POPULATE_WRITE) instead, as OpenJDK 22 does; or set \
             use_zero_page=0 (root).",
    ),
    source: "arch/arm64/mm/fault.c; amperecomputing.com, Fixing Page Fault Performance Issue",
};

fn uffd(range: &Range<'_>) -> bool {
    range.mapping.flags().first_of(&WATCHED).is_some()
}

fn swapped(range: &Range<'_>) -> bool {
    range.swapped() > 0
}

/// Returns true if the sources show single pages in the range, or cannot distinguish folios.
pub(super) fn may_be_single(range: &Range<'_>) -> bool {
    range.frames().is_none_or(|frames| frames.single > 0)
}

fn pte_table(range: &Range<'_>) -> Fit {
    let small = range.small() > 0 && may_be_single(range);
    let mixed = range.frames_in_huge_folios() > 0 || range.frames_in_middle_folios() > 0;
    let fit = if mixed { Fit::Possible } else { Fit::Likely };
    fit.when(small && range.is_anonymous())
}

/// A table that was kept fills up again sparsely.
fn empty_table(range: &Range<'_>) -> Fit {
    let sparse = range.small() < range.pages_per_range();
    Fit::Possible.when(range.small() > 0 && sparse && may_be_single(range) && range.is_anonymous())
}

/// Pages of a huge folio that are not mapped by a PMD were mapped by one before. This is uncertain if the kernel does
/// not report PMD mappings.
fn pmd_split(range: &Range<'_>) -> Fit {
    let huge_known = range.pages.is_some_and(|pages| pages.huge.is_some());
    match range.frames() {
        Some(_) if range.frames_in_huge_folios() == 0 => Fit::No,
        Some(_) if !huge_known => Fit::Possible,
        Some(frames) if frames.single == 0 && frames.shared == 0 => Fit::Proved,
        Some(_) => Fit::Likely,
        None => {
            Fit::Possible.when(range.small() > 0 && range.may_have_happened(Counter::ThpSplitPmd))
        }
    }
}

/// Parent and child both show the traces. If part of a huge folio remains among single pages and others map it too, one
/// of the processes has written to it.
fn fork_cow(range: &Range<'_>) -> Fit {
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

fn guard(range: &Range<'_>) -> Fit {
    let named = range.pages.is_some_and(|pages| pages.guard.is_some());
    if named {
        Fit::Proved.when(range.count(|pages| pages.guard) > 0)
    } else {
        Fit::Strong.when(range.marks() > 0)
    }
}

/// Only mergeable memory is merged. The frame flag is not proof: some kernels (6.12) set it for every anonymous page,
/// because the bits that mark a merged page include those of an anonymous page. It is therefore checked against smaps.
fn ksm(range: &Range<'_>) -> Fit {
    if !range.mapping.flags().has("mg") || range.small() == 0 {
        return Fit::No;
    }
    let memory = range.mapping.memory.as_ref();
    let merged = memory.and_then(|memory| memory.ksm);
    let all = memory.is_some_and(|memory| merged.is_some_and(|ksm| ksm >= memory.resident));
    match range.frames().map(|frames| frames.ksm) {
        _ if merged == Some(0) => Fit::No,
        Some(0) => Fit::No,
        // Only kernels that count merged pages in smaps (6.6) have unreliable flags.
        Some(_) if merged.is_none() => Fit::Proved,
        _ if all => Fit::Proved,
        Some(_) | None => Fit::Strong,
    }
}

fn mthp(range: &Range<'_>) -> Fit {
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

/// Zero pages among written pages: the range was read before it was written. If all of it has been written since, only
/// the split of the huge zero page remains, as a machine-wide count.
fn lse(range: &Range<'_>) -> Fit {
    let arm = range.settings.arch == "aarch64";
    let read_first = range.zero() > 0 && range.small() > 0;
    let split = may_have_lost_it(range) && range.may_have_happened(Counter::ThpSplitPmd);
    Fit::Possible.when(arm && (read_first || split))
}

/// Without frames, a split page and an atomic first read are both possible. The count is reported once.
fn splits_without_frames(range: &Range<'_>) -> Option<String> {
    range
        .frames()
        .is_none()
        .then(|| event(range, Counter::ThpSplitPmd))?
}

fn splits_with_frames(range: &Range<'_>) -> Option<String> {
    range
        .frames()
        .is_some()
        .then(|| event(range, Counter::ThpSplitPmd))?
}

fn relatives(range: &Range<'_>) -> Option<String> {
    match &range.space.process {
        process if process.forked => {
            Some("the process was forked and has not executed a program".to_owned())
        }
        process if process.children > 0 => {
            Some(format!("the process has {} children", process.children))
        }
        _ => None,
    }
}

pub(super) fn history_evidence(facts: &Facts<'_>) -> Vec<String> {
    let (range, totals) = (facts.range, facts.totals);
    let mut evidence = vec![totals.populated_text(range.space.pages_per_range())];
    for (count, what) in [
        (totals.swapped, "pages are in swap"),
        (totals.guard, "guard pages"),
        (totals.marks, "entries that are neither present nor in swap"),
        (totals.zero, "zero pages: read before it was written"),
        (totals.ksm, "pages merged by KSM"),
        (totals.shared, "pages that another process also maps"),
    ] {
        if count > 0 {
            evidence.push(format!("{count} {what}"));
        }
    }
    evidence.extend(totals.folios_text(range.space.page_bytes));
    if !totals.frames_read && matches!(facts.certainty, Certainty::OneOf(_)) {
        evidence.push("folios not read; they need CAP_SYS_ADMIN".to_owned());
    }
    if let Certainty::OneOf(codes) = facts.certainty {
        evidence.extend(
            codes
                .iter()
                .filter_map(|code| (code.row().circumstance)(range)),
        );
    }
    evidence
}
