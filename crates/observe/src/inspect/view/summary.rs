use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::address_space::{Estimate, Mapping, Memory, Space};
use crate::inspect::reasons::{Code, Judgement};

use super::{could_be_huge, is_small};

/// The memory of a process by kind, in bytes. `None` means that no source shows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ProcessSummary {
    /// Mapped address space.
    pub mapped: u64,
    /// The number of mappings.
    pub mappings: u64,
    /// Resident memory (`Rss`), which excludes hugetlb and zero pages.
    pub resident: Option<u64>,
    /// Anonymous memory.
    pub anonymous: Option<u64>,
    /// Memory in swap.
    pub swap: Option<u64>,
    /// Anonymous memory mapped by PMDs.
    pub huge_anonymous: Option<u64>,
    /// Shared memory mapped by PMDs.
    pub huge_shmem: Option<u64>,
    /// File pages mapped by PMDs (Linux 5.4).
    pub huge_file: Option<u64>,
    /// Explicit huge pages (hugetlb).
    pub hugetlb: Option<u64>,
    /// Addresses that map the shared huge zero page, which takes no memory of the process.
    pub huge_zero: Option<u64>,
    /// Addresses that map the small zero page.
    pub small_zero: Option<u64>,
    /// Small memory by folio size, if the frames were read.
    pub folios: Option<Vec<FolioBytes>>,
    /// Zero-filled memory in huge pages, estimated from a sample of their pages.
    #[serde(default)]
    pub empty_huge: Option<Estimate>,
    /// Upper bound of the anonymous memory that huge pages hold beyond resident memory. The process maps only the other
    /// parts of these pages.
    #[serde(default)]
    pub held_unmapped: Option<u64>,
    /// Small resident memory in ranges that are eligible for huge pages by all settings.
    pub could_be_huge: Option<u64>,
    /// The number of mappings with advice for huge pages (`hg`), and against them (`nh`).
    pub advised: (u64, u64),
    /// Memory by reason, in the order of the reasons.
    pub reasons: Vec<ReasonBytes>,
}

/// Memory in folios of one size that are not mapped by a PMD.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FolioBytes {
    /// The folio size, in bytes; the smallest is a base page.
    pub folio: u64,
    /// Memory in these folios, in bytes.
    pub bytes: u64,
}

/// The ranges with one reason.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReasonBytes {
    /// The reason.
    pub code: Code,
    /// The number of huge-page ranges, including partial ones.
    pub ranges: u64,
    /// Address space, in bytes.
    pub bytes: u64,
    /// Resident memory in these ranges, in bytes; `None` if no source shows it.
    pub resident: Option<u64>,
}

impl ProcessSummary {
    /// Returns the memory in huge pages of any kind, in bytes.
    #[must_use]
    pub fn huge(&self) -> Option<u64> {
        let others = self.huge_file.unwrap_or(0) + self.hugetlb.unwrap_or(0);
        Some(self.huge_anonymous? + self.huge_shmem? + others)
    }

    /// Returns the reason that covers the most small memory.
    #[must_use]
    pub fn main_reason(&self) -> Option<Code> {
        let small = self.reasons.iter().filter(|reason| is_small(reason.code));
        small
            .max_by_key(|reason| {
                let bytes = reason.resident.unwrap_or(reason.bytes);
                (bytes, Reverse(reason.code))
            })
            .map(|reason| reason.code)
    }

    /// Sums up an address space and its judgements.
    pub(super) fn of(space: &Space, judgements: &[Judgement]) -> Self {
        let mappings = &space.mappings;
        let all = space.read_with.smaps.is_read().then(|| total(mappings));
        let total = |of: fn(&Memory) -> u64| all.as_ref().map(of);
        let with_flag = |word: &str| {
            let all = mappings.iter();
            all.filter(|mapping| mapping.flags().has(word)).count() as u64
        };
        let reasons = by_reason(judgements);
        let small = reasons.iter().filter(|one| could_be_huge(one.code));
        let contents = space.contents.as_ref().ok().copied().flatten();
        Self {
            mapped: mappings.iter().map(Mapping::bytes).sum(),
            mappings: mappings.len() as u64,
            resident: total(|memory| memory.resident),
            anonymous: total(|memory| memory.anonymous),
            swap: total(|memory| memory.swap),
            huge_anonymous: total(|memory| memory.anon_huge),
            huge_shmem: total(|memory| memory.shmem_huge),
            huge_file: all.as_ref().and_then(|memory| memory.file_huge),
            hugetlb: total(|memory| memory.hugetlb),
            huge_zero: zero_bytes(space, true),
            small_zero: zero_bytes(space, false),
            folios: space.read_with.frames.is_read().then(|| folios(space)),
            empty_huge: contents.and_then(|contents| contents.empty(space.page_bytes)),
            held_unmapped: space
                .read_with
                .frames
                .is_read()
                .then(|| held_unmapped(space)),
            could_be_huge: small
                .map(|one| one.resident)
                .sum::<Option<u64>>()
                .filter(|_| space.pages_were_read()),
            advised: (with_flag("hg"), with_flag("nh")),
            reasons,
        }
    }
}

/// Computes all sums in one pass, because every pass over many mappings is expensive. A field that one mapping lacks
/// has no sum.
fn total(mappings: &[Mapping]) -> Memory {
    let none = Memory {
        file_huge: Some(0),
        ..Memory::default()
    };
    let all = mappings.iter().filter_map(|one| one.memory.as_ref());
    all.fold(none, |sum, memory| Memory {
        resident: sum.resident + memory.resident,
        anonymous: sum.anonymous + memory.anonymous,
        swap: sum.swap + memory.swap,
        anon_huge: sum.anon_huge + memory.anon_huge,
        shmem_huge: sum.shmem_huge + memory.shmem_huge,
        file_huge: sum
            .file_huge
            .zip(memory.file_huge)
            .map(|(ours, theirs)| ours + theirs),
        hugetlb: sum.hugetlb + memory.hugetlb,
        ..sum
    })
}

/// Addresses that map the huge or the small zero page, in bytes.
fn zero_bytes(space: &Space, huge: bool) -> Option<u64> {
    if !space.read_with.page_scan.is_read() {
        return None;
    }
    let runs = space.mappings.iter().flat_map(|mapping| &mapping.runs);
    let pages: u64 = runs
        .filter(|run| (run.pages.huge.unwrap_or(0) > 0) == huge)
        .map(|run| u64::from(run.pages.zero.unwrap_or(0)) * run.ranges(space.huge_bytes))
        .sum();
    Some(pages * space.page_bytes)
}

/// Memory in huge folios that are only partly mapped. All pieces of one aligned range are counted together, whichever
/// mappings contain them. Memory shared by a fork can be mapped by other processes.
fn held_unmapped(space: &Space) -> u64 {
    let huge = space.huge_bytes.max(1);
    let per_range = space.pages_per_range();
    let mut cut: BTreeMap<u64, u64> = BTreeMap::new();
    let mut held = 0;
    let anonymous = space.mappings.iter().filter(|it| it.kind.is_anonymous());
    for run in anonymous.flat_map(|mapping| &mapping.runs) {
        let Some(frames) = run.pages.frames.as_deref().filter(|it| it.shared == 0) else {
            continue;
        };
        let folios = frames.folios.iter();
        let of_huge = folios.filter(|folio| u64::from(folio.folio_pages) >= per_range);
        let mapped: u64 = of_huge.map(|folio| u64::from(folio.frames)).sum();
        if run.start.is_multiple_of(huge) && run.end.is_multiple_of(huge) {
            held += unmapped(mapped, per_range) * run.ranges(huge);
        } else {
            *cut.entry(run.start / huge).or_default() += mapped;
        }
    }
    held += cut
        .into_values()
        .map(|mapped| unmapped(mapped, per_range))
        .sum::<u64>();
    held * space.page_bytes
}

/// Returns the pages that complete the partly mapped huge folios.
fn unmapped(mapped: u64, per_range: u64) -> u64 {
    mapped.next_multiple_of(per_range) - mapped
}

fn folios(space: &Space) -> Vec<FolioBytes> {
    let mut pages: BTreeMap<u64, u64> = BTreeMap::new();
    for run in space.mappings.iter().flat_map(|mapping| &mapping.runs) {
        let Some(frames) = run.pages.frames.as_deref() else {
            continue;
        };
        let ranges = run.ranges(space.huge_bytes);
        let single = (1, frames.single);
        let larger = frames
            .folios
            .iter()
            .map(|folio| (folio.folio_pages, folio.frames));
        for (folio, count) in larger.chain([single]) {
            if count > 0 {
                *pages.entry(u64::from(folio)).or_default() += u64::from(count) * ranges;
            }
        }
    }
    pages
        .into_iter()
        .map(|(folio, count)| FolioBytes {
            folio: folio * space.page_bytes,
            bytes: count * space.page_bytes,
        })
        .collect()
}

fn by_reason(judgements: &[Judgement]) -> Vec<ReasonBytes> {
    let mut reasons: BTreeMap<Code, ReasonBytes> = BTreeMap::new();
    for judgement in judgements {
        let sum = reasons.entry(judgement.code).or_insert(ReasonBytes {
            code: judgement.code,
            ranges: 0,
            bytes: 0,
            resident: Some(0),
        });
        sum.ranges += judgement.ranges;
        sum.bytes += judgement.end - judgement.start;
        sum.resident = sum
            .resident
            .zip(judgement.resident_bytes)
            .map(|(ours, theirs)| ours + theirs);
    }
    reasons.into_values().collect()
}
