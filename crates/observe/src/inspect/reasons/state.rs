//! Reasons that depend only on the pages: the memory is huge or unused. Also the two reasons that no data shows.

use crate::address_space::MappingKind;
use hugewise_base::missing::Missing;
use hugewise_base::units::bytes_text;

use super::range::Range;
use super::row::{Facts, Fix, Row, Rule, State, nothing};
use super::{Certainty, Code};

pub(super) const NOT_MAPPED: Row = Row {
    state: State::Unused,
    rule: Rule::Unseen,
    evidence: nothing,
    circumstance: |_| None,
    what: "No mapping covers the addresses. Holes between mappings are not listed; this \
           reason is given only for a range in which nothing is mapped.",
    kernels: "all",
    sign: "/proc/PID/maps has no line for it.",
    fix: Fix::nothing("Nothing to do: nothing is mapped."),
    source: "proc_pid_maps(5)",
};

pub(super) const NO_THP_KERNEL: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(no_thp),
    evidence: no_thp_evidence,
    circumstance: |_| None,
    what: "This kernel has no transparent huge pages: it was built without \
           CONFIG_TRANSPARENT_HUGEPAGE (PREEMPT_RT excludes it), or its processor cannot map \
           them.",
    kernels: "all",
    sign: "/sys/kernel/mm/transparent_hugepage does not exist. No capability is needed.",
    fix: Fix::new("Boot another kernel, or use explicit huge pages (hugetlb)."),
    source: "mm/Kconfig; hugepage_init in mm/huge_memory.c",
};

pub(super) const ALREADY_PMD: Row = Row {
    state: State::Huge,
    rule: Rule::Decides(already_pmd),
    evidence: already_pmd_evidence,
    circumstance: |_| None,
    what: "One entry of the second-lowest page table (a PMD) maps the whole range, so one TLB \
           entry serves it.",
    kernels: "all; visible per range since 6.7",
    sign: "PAGEMAP_SCAN says HUGE and not PFNZERO. Before 6.7: AnonHugePages, ShmemPmdMapped \
           or FilePmdMapped of smaps equal the aligned part of the mapping.",
    fix: Fix::nothing("Nothing to do: it is huge."),
    source: "PAGE_IS_HUGE in Documentation/admin-guide/mm/pagemap.rst",
};

pub(super) const HUGETLB: Row = Row {
    state: State::Explicit,
    rule: Rule::Decides(hugetlb),
    evidence: hugetlb_evidence,
    circumstance: |_| None,
    what: "Explicit huge pages from a pool: MAP_HUGETLB, a hugetlbfs file, or SHM_HUGETLB. \
           They are never split, swapped or resized.",
    kernels: "all",
    sign: "VmFlags has `ht`; KernelPageSize is larger than a base page. They are not in Rss.",
    fix: Fix::nothing("Nothing to do: it is huge."),
    source: "Documentation/admin-guide/mm/hugetlbpage.rst",
};

pub(super) const UNTOUCHED: Row = Row {
    state: State::Unused,
    rule: Rule::DecidesOneOf(untouched, or_untouched),
    evidence: untouched_evidence,
    circumstance: |_| None,
    what: "No page of the range was ever used, or all were given back. It costs no memory; \
           the first use decides how it is mapped.",
    kernels: "all",
    sign: "PAGEMAP_SCAN or the page map shows no present and no swapped page. It is proved \
           where the populated ranges account for all page tables of the process (VmPTE); \
           otherwise it may be EMPTY_PTE_TABLE.",
    fix: Fix::nothing(
        "Nothing to do. Where page faults at first use hurt: \
             madvise(MADV_POPULATE_WRITE) (5.14) beforehand.",
    ),
    source: "madvise(2)",
};

pub(super) const HUGE_ZERO: Row = Row {
    state: State::HugeZero,
    rule: Rule::DecidesOneOf(huge_zero, or_read_first),
    evidence: |_| vec!["the page scan says HUGE and PFNZERO".to_owned()],
    circumstance: |_| None,
    what: "The program has only read the range, so the kernel mapped one huge page of zeros \
           that all programs share. It takes no memory, and no count of smaps includes it. \
           The first write allocates a huge page up to 5.7 and since 6.13; from 5.8 to 6.12 \
           it splits the mapping, and the range stays small for good.",
    kernels: "3.8 and later; costly from 5.8 to 6.12",
    sign: "PAGEMAP_SCAN says HUGE and PFNZERO (6.7). Before: kpageflags has THP and \
           ZERO_PAGE, with CAP_SYS_ADMIN.",
    fix: Fix::new(
        "Write before reading, or call madvise(MADV_POPULATE_WRITE) (5.14); or set \
             use_zero_page=0 (root).",
    ),
    source: "do_huge_pmd_wp_page in mm/huge_memory.c; commit 3917c80280c9 (5.8)",
};

pub(super) const ZERO_4K: Row = Row {
    state: State::SmallZero,
    rule: Rule::DecidesOneOf(zero_4k, or_read_first),
    evidence: |facts| vec![format!("{} zero pages, no written page", facts.totals.zero)],
    circumstance: |_| None,
    what: "The program has only read the range while it could not be huge, so each page read \
           is the shared small page of zeros. Their page table keeps a huge page out when \
           they are written later.",
    kernels: "all",
    sign: "PAGEMAP_SCAN says PFNZERO and not HUGE.",
    fix: Fix::new(
        "Write before reading, or call madvise(MADV_POPULATE_WRITE) (5.14). MADV_COLLAPSE \
             needs at least one written page.",
    ),
    source: "do_anonymous_page in mm/memory.c",
};

pub(super) const HOST_4K: Row = Row {
    state: State::Setting,
    rule: Rule::Unseen,
    evidence: nothing,
    circumstance: |_| None,
    what: "The hypervisor may back this memory with small pages, whatever the guest does. \
           Address translation then costs as much as with small pages.",
    kernels: "virtual machines",
    sign: "A guest cannot see it. Hints are slow first faults, and a share of page walks that \
           does not fall.",
    fix: Fix::new("The owner of the host must back the guest with huge pages."),
    source: "Documentation/virt/kvm/x86/mmu.rst",
};

pub(super) const UNKNOWN: Row = Row {
    state: State::Setting,
    rule: Rule::Unseen,
    evidence: raw,
    circumstance: |_| None,
    what: "The data fits no other reason. The evidence shows it unchanged.",
    kernels: "all",
    sign: "-",
    fix: Fix::nothing("Please report it with the output of --format json."),
    source: "-",
};

/// On Arm, an atomic instruction counts as a read.
fn or_read_first(range: &Range<'_>) -> Vec<Code> {
    let aarch64 = range.settings.arch == "aarch64";
    Vec::from_iter(aarch64.then_some(Code::LseReadFirst))
}

/// Without the scan, a mapping that smaps counts as empty can still hold zero pages, because smaps does not count them.
/// An empty table shows only in the sum of all tables.
fn or_untouched(range: &Range<'_>) -> Vec<Code> {
    let mut codes = Vec::new();
    if !range.space.read_with.page_scan.is_read() {
        codes.extend([Code::HugeZero, Code::Zero4K]);
    }
    if may_hold_a_table(range) {
        codes.push(Code::EmptyPteTable);
    }
    codes
}

fn no_thp(range: &Range<'_>) -> bool {
    matches!(range.settings.thp, Err(Missing::NotSupported { .. }))
        && range.mapping.kind != MappingKind::Hugetlb
        && !already_pmd(range)
}

/// Uses the scan if available. Otherwise uses smaps if it counts all of the mapping as huge, or none of it.
fn already_pmd(range: &Range<'_>) -> bool {
    if range.mapping.kind == MappingKind::Hugetlb {
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

/// True if the range is full and whole, no source shows PMDs, and smaps counts part of the mapping as huge.
pub(super) fn may_be_huge(range: &Range<'_>) -> bool {
    let full = range
        .pages
        .is_some_and(|pages| pages.huge.is_none() && pages.present == range.pages_per_range());
    full && range.is_whole()
        && range.mapping.kind != MappingKind::Hugetlb
        && range.huge_by_totals() != Some(0)
}

fn hugetlb(range: &Range<'_>) -> bool {
    range.mapping.kind == MappingKind::Hugetlb
}

/// Returns true if the mapping can contain an empty page table. False if the populated memory needs all tables of the
/// process. In a mapping without a whole range a table makes no difference.
fn may_hold_a_table(range: &Range<'_>) -> bool {
    let spare = range.whole.tables.map(|tables| tables.spare());
    let large = range.mapping.whole_ranges(range.space.huge_bytes);
    range.is_anonymous() && large.is_some() && spare != Some(0)
}

/// Memory that drivers map by frame numbers (`pf`) is not in the page map, so nothing is known about it.
fn untouched(range: &Range<'_>) -> bool {
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

fn huge_zero(range: &Range<'_>) -> bool {
    range.count(|pages| pages.huge) > 0 && range.zero() > 0
}

/// True if the range has only zero pages. Zero pages among others are part of the history of those.
fn zero_4k(range: &Range<'_>) -> bool {
    let others = range.small() + range.count(|pages| Some(pages.swapped));
    range.zero() > 0 && others == 0 && range.count(|pages| pages.guard) == 0
}

fn no_thp_evidence(facts: &Facts<'_>) -> Vec<String> {
    let missing = facts.range.settings.thp.as_ref().err();
    missing.map(ToString::to_string).into_iter().collect()
}

fn already_pmd_evidence(facts: &Facts<'_>) -> Vec<String> {
    let how = if facts.totals.huge > 0 {
        "the page scan says HUGE"
    } else {
        "smaps counts all of the mapping as huge"
    };
    vec![how.to_owned()]
}

fn hugetlb_evidence(facts: &Facts<'_>) -> Vec<String> {
    let memory = facts.range.mapping.memory.as_ref();
    let size = memory.map(|memory| bytes_text(memory.kernel_page));
    vec![size.map_or_else(
        || "it lies on hugetlbfs".to_owned(),
        |size| format!("VmFlags has ht, pages of {size}"),
    )]
}

fn untouched_evidence(facts: &Facts<'_>) -> Vec<String> {
    if !facts.range.pages_were_read() {
        return vec!["smaps counts no page of the mapping".to_owned()];
    }
    let mut evidence = vec!["no page is present".to_owned()];
    match (facts.certainty, facts.range.whole.tables) {
        (Certainty::OneOf(_), Some(tables)) => evidence.push(format!(
            "page tables: VmPTE {}, populated ranges need {}: the rest may be tables of emptied \
             ranges",
            bytes_text(tables.held),
            bytes_text(tables.needed)
        )),
        (Certainty::OneOf(_), None) => {
            evidence.push("page tables could not be added up".to_owned());
        }
        _ => {}
    }
    evidence
}

fn raw(facts: &Facts<'_>) -> Vec<String> {
    let (range, totals) = (facts.range, facts.totals);
    vec![
        format!(
            "kind {:?}, flags {:?}",
            range.mapping.kind,
            range.mapping.flags().words().collect::<Vec<_>>()
        ),
        format!(
            "{} present, {} of a file, {} zero, {} swapped",
            totals.present, totals.file, totals.zero, totals.swapped
        ),
    ]
}
