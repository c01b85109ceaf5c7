//! Files, shared memory and the page cache.

use crate::address_space::MappingKind;

use super::Code;
use super::large_folios::LargeFolios;
use super::range::Range;
use super::row::{Facts, Fix, Row, Rule, State};

pub(super) const FILE_MISALIGNED: Row = Row {
    state: State::File,
    rule: Rule::Decides(misaligned),
    evidence: misaligned_evidence,
    circumstance: |_| None,
    what: "A huge page of a file begins at a multiple of its size in the file and in memory. \
           Address and offset of this mapping do not agree.",
    kernels: "all",
    sign: "(start - offset) is no multiple of the huge-page size.",
    fix: Fix::new(
        "Map at an address with the same alignment as the file offset; link programs with \
             -z max-page-size.",
    ),
    source: "thp_vma_suitable_order in include/linux/huge_mm.h",
};

pub(super) const FILE_NO_LARGE_FOLIO: Row = Row {
    state: State::File,
    rule: Rule::DecidesOneOf(no_large_folio, |_| vec![Code::FileSmallFolios]),
    evidence: cache_evidence,
    circumstance: |_| None,
    what: "The file system keeps its page cache in single pages only, so a PMD can map \
           nothing of it.",
    kernels: "until the file system learns it: xfs 5.18, ext4 6.16, btrfs 7.3, and others",
    sign: "No folio of more than one page in any mapping of that file system (kpageflags, \
           CAP_SYS_ADMIN), and a release that is not known to have them. FILE_SMALL_FOLIOS is \
           possible too.",
    fix: Fix::new(
        "Use another file system, CONFIG_READ_ONLY_THP_FOR_FS (5.4 to 7.1), or a copy in \
             anonymous memory.",
    ),
    source: "mapping_set_large_folios in include/linux/pagemap.h",
};

pub(super) const FILE_SMALL_FOLIOS: Row = Row {
    state: State::File,
    rule: Rule::DecidesOneOf(small_folios, or_none_at_all),
    evidence: cache_evidence,
    circumstance: |_| None,
    what: "The page cache read this part of the file in folios smaller than a huge page. \
           Shared memory: it was written before it could be huge.",
    kernels: "all",
    sign: "PAGEMAP_SCAN says FILE and not HUGE; kpageflags shows the folios (CAP_SYS_ADMIN).",
    fix: Fix::new(
        "File: evict it (fsync, posix_fadvise(DONTNEED)) and read it through a mapping \
             with madvise(MADV_HUGEPAGE) (5.18). Shared memory: hugewise collapse {pid}",
    ),
    source: "do_sync_mmap_readahead in mm/filemap.c",
};

pub(super) const FILE_PRIVATE_COW: Row = Row {
    state: State::File,
    rule: Rule::Decides(private_cow),
    evidence: cache_evidence,
    circumstance: |_| None,
    what: "The program wrote to a private mapping of a file. The copy of the page is \
           anonymous, and copies in file mappings are small.",
    kernels: "all",
    sign: "PAGEMAP_SCAN: present pages without FILE in a mapping of a file; Anonymous in \
           smaps.",
    fix: Fix::nothing(
        "Nothing can be done, except to keep written data apart from data that is only \
             read.",
    ),
    source: "do_cow_fault in mm/memory.c",
};

fn misaligned(range: &Range<'_>) -> bool {
    let mapping = range.mapping;
    let huge = range.space.huge_bytes.max(1);
    range.is_file() && mapping.start % huge != mapping.offset % huge
}

/// True if the range has only single pages, and no larger folio of its file system is known. The other mappings of this
/// process on that file system count too.
fn no_large_folio(range: &Range<'_>) -> bool {
    range.mapping.kind == MappingKind::File
        && shows_the_cache(range)
        && LargeFolios::of(range) == LargeFolios::Absent
}

/// Until a large folio of the file system is seen, the file system may not support any.
fn or_none_at_all(range: &Range<'_>) -> Vec<Code> {
    match LargeFolios::of(range) {
        _ if range.mapping.kind != MappingKind::File => Vec::new(),
        LargeFolios::Seen => Vec::new(),
        _ => vec![Code::FileNoLargeFolio],
    }
}

fn small_folios(range: &Range<'_>) -> bool {
    let split = range.frames().is_some_and(|frames| frames.one_huge_folio);
    range.is_file() && shows_the_cache(range) && !split
}

fn private_cow(range: &Range<'_>) -> bool {
    range.is_file() && range.anonymous() > 0 && !range.mapping.permissions.shared()
}

/// Returns true if the present pages are pages of the file, and none is a private copy.
fn shows_the_cache(range: &Range<'_>) -> bool {
    range.count(|pages| Some(pages.file)) > 0
        && (range.anonymous() == 0 || range.mapping.permissions.shared())
}

fn misaligned_evidence(facts: &Facts<'_>) -> Vec<String> {
    let mapping = facts.range.mapping;
    vec![format!(
        "it begins at {:#x}, at offset {:#x} of the file: they differ within a huge page",
        mapping.start, mapping.offset
    )]
}

fn cache_evidence(facts: &Facts<'_>) -> Vec<String> {
    let (range, totals) = (facts.range, facts.totals);
    let system = range.mapping.file_system.as_deref();
    let mut facts: Vec<String> = system
        .map(|system| format!("file system {system}"))
        .into_iter()
        .collect();
    let written = totals.small.saturating_sub(totals.file);
    if written > 0 && !range.mapping.permissions.shared() {
        facts.push(format!("{written} pages are written copies"));
    }
    if let LargeFolios::Expected {
        since: (major, minor),
    } = LargeFolios::of(range)
    {
        facts.push(format!(
            "it has large folios since Linux {major}.{minor}, and this is {}",
            range.settings.kernel
        ));
    }
    facts.push(format!(
        "{} pages of the page cache, none PMD-mapped",
        totals.file
    ));
    facts.extend(totals.folios_text(range.space.page_bytes));
    facts
}
