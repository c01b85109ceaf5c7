use serde::{Deserialize, Serialize};

/// Consecutive huge-page ranges of one mapping with equal content.
///
/// A huge-page range is aligned to the huge-page size. The ends of a mapping can cover a range only partly. Such a
/// partial range is always a separate run, which covers the part inside the mapping. The length of every other run is a
/// multiple of the huge-page size.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// The content of *each* range.
    pub pages: Pages,
}

impl Run {
    /// The number of ranges; 1 for a partial range.
    #[must_use]
    pub fn ranges(&self, huge_bytes: u64) -> u64 {
        (self.end.saturating_sub(self.start) / huge_bytes.max(1)).max(1)
    }
}

/// The number of mapped base pages in one range, by kind. `None` if the sources do not show it (see
/// [`Sources`](super::Sources)).
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields, default)]
pub struct Pages {
    /// Pages in memory, including zero pages and pages of huge pages.
    pub present: u32,
    /// Present pages in the page cache of a file or in shared memory.
    pub file: u32,
    /// Present pages mapped by a PMD, or hugetlb. Includes the huge zero page.
    pub huge: Option<u32>,
    /// Present zero pages, 4 KiB or huge (with `huge`).
    pub zero: Option<u32>,
    /// Pages in swap, or migrating between frames.
    pub swapped: u32,
    /// Guard pages (`MADV_GUARD_INSTALL`, Linux 6.13; seen since 6.15).
    pub guard: Option<u32>,
    /// Blocks of consecutive present or swapped pages; 1 if all are contiguous.
    pub islands: u32,
    /// True if the first of these blocks begins at the start of the range.
    pub from_start: bool,
    /// Frame data of present pages that no PMD maps, if it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Box<Frames>>,
}

impl Pages {
    /// Small present pages in real memory: not mapped by a PMD, and not zero pages. Without the scan, all present
    /// pages.
    #[must_use]
    pub fn small(&self) -> u32 {
        let huge = self.huge.unwrap_or(0);
        let zero = if huge > 0 { 0 } else { self.zero.unwrap_or(0) };
        self.present.saturating_sub(huge).saturating_sub(zero)
    }

    /// Pages with content: present or swapped.
    #[must_use]
    pub fn populated(&self) -> u32 {
        self.present.saturating_add(self.swapped)
    }
}

/// The frames of the small present pages of one range.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields, default)]
pub struct Frames {
    /// Frames that are single-page folios.
    pub single: u32,
    /// Frames in larger folios, by ascending folio size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folios: Vec<FolioCount>,
    /// Frames that KSM merged.
    pub ksm: u32,
    /// Anonymous frames with more than one mapping, shared by a fork.
    pub shared: u32,
    /// True if all pages of the range are in one huge folio, in order: a huge page whose PMD was split into small
    /// entries.
    pub one_huge_folio: bool,
}

/// Frames in folios of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct FolioCount {
    /// Base pages in such a folio.
    pub folio_pages: u32,
    /// Frames of the range in such folios.
    pub frames: u32,
}
