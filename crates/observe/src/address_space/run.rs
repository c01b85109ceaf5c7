use serde::{Deserialize, Serialize};

/// Neighbouring huge-page ranges of one mapping that hold the same.
///
/// A huge-page range is aligned to the huge-page size. At the ends of a mapping it may be cut
/// off: then the run covers the part inside, alone. So the length of a run is a multiple of
/// the huge-page size, or the run is one cut-off range.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What *each* of the ranges holds.
    pub pages: Pages,
}

impl Run {
    /// Ranges in it: 1 where it is one that the mapping cuts off.
    #[must_use]
    pub fn ranges(&self, huge_bytes: u64) -> u64 {
        (self.end.saturating_sub(self.start) / huge_bytes.max(1)).max(1)
    }
}

/// How many base pages of one range are mapped, and how. `None` is what the sources could not
/// tell (see [`Sources`](super::Sources)).
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields, default)]
pub struct Pages {
    /// In memory, zero pages and pages of huge pages included.
    pub present: u32,
    /// Of these: in a file's page cache or in shared memory.
    pub file: u32,
    /// Of the present: mapped by a PMD, or hugetlb. The huge zero page is included.
    pub huge: Option<u32>,
    /// Of the present: a zero page, 4 KiB or huge (with `huge`).
    pub zero: Option<u32>,
    /// In swap, or on the way between frames.
    pub swapped: u32,
    /// Guard pages (`MADV_GUARD_INSTALL`, Linux 6.13; seen since 6.15).
    pub guard: Option<u32>,
    /// Stretches of neighbouring pages that are present or swapped: 1 where all lie together.
    pub islands: u32,
    /// Whether the first of these stretches begins where the range begins.
    pub from_start: bool,
    /// What the frames say, where they could be read; for present pages that no PMD maps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Box<Frames>>,
}

impl Pages {
    /// Present pages that no PMD maps and that are no zero pages: real small memory. Where the
    /// scan is missing, all that are present.
    #[must_use]
    pub fn small(&self) -> u32 {
        let huge = self.huge.unwrap_or(0);
        let zero = if huge > 0 { 0 } else { self.zero.unwrap_or(0) };
        self.present.saturating_sub(huge).saturating_sub(zero)
    }

    /// Pages that hold or held something: present or swapped.
    #[must_use]
    pub fn populated(&self) -> u32 {
        self.present.saturating_add(self.swapped)
    }
}

/// What the frames of one range are: small present pages only.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields, default)]
pub struct Frames {
    /// Frames that are pages by themselves.
    pub single: u32,
    /// Frames in larger folios, by size of the folio, rising.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folios: Vec<FolioCount>,
    /// Frames that KSM merged.
    pub ksm: u32,
    /// Anonymous frames that are mapped more than once: shared over a fork.
    pub shared: u32,
    /// Whether all pages of the range lie in one huge folio, in order: a huge page whose PMD
    /// was split into small entries.
    pub one_huge_folio: bool,
}

/// Frames in folios of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct FolioCount {
    /// Base pages in such a folio.
    pub folio_pages: u32,
    /// Frames of the range that lie in one.
    pub frames: u32,
}
