//! One huge-page range with all the data that rules need.

use std::collections::BTreeSet;

use crate::address_space::{Frames, Mapping, MappingKind, Pages, Space};
use hugewise_base::counter::Counter;
use hugewise_base::host::ThpSettings;

use super::Settings;
use super::tables::Tables;

/// Data about the whole address space that rules need, computed once.
#[derive(Debug)]
pub(super) struct Whole {
    /// True if advice or huge pages show that khugepaged scans the process.
    pub(super) registered: bool,
    /// Devices for which some mapping shows a folio of more than one page.
    pub(super) large_folios: BTreeSet<(u32, u32)>,
    /// Contiguous blocks of mappings with the same kind of memory, by ascending address.
    covered: Vec<(u64, u64)>,
    /// Page tables, if they could be summed.
    pub(super) tables: Option<Tables>,
}

impl Whole {
    pub(super) fn of(space: &Space, settings: &Settings) -> Self {
        Self {
            registered: space.mappings.iter().any(is_registered),
            large_folios: space
                .mappings
                .iter()
                .filter(|mapping| mapping.kind == MappingKind::File && shows_large_folios(mapping))
                .map(|mapping| mapping.device)
                .collect(),
            covered: covered(space),
            tables: Tables::of(space, settings.address_bits),
        }
    }

    /// Returns true if contiguous mappings of one kind of memory cover the whole span.
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        let place = self.covered.partition_point(|&(_, behind)| behind <= start);
        let stretch = self.covered.get(place);
        stretch.is_some_and(|&(first, behind)| first <= start && end <= behind)
    }
}

fn covered(space: &Space) -> Vec<(u64, u64)> {
    let touching = space
        .mappings
        .chunk_by(|one, next| one.end == next.start && could_be_one(one, next));
    touching
        .filter_map(|all| Some((all.first()?.start, all.last()?.end)))
        .collect()
}

/// Returns true if two mappings differ only in access, advice and the like. Private and shared memory, or two files,
/// never share a mapping. A guard must stay separate, and so must the segments of a program file, because code is not
/// writable.
pub(super) fn could_be_one(one: &Mapping, other: &Mapping) -> bool {
    let memory = |mapping: &Mapping| (mapping.permissions.shared(), mapping.device, mapping.inode);
    let guard = !one.permissions.any() || !other.permissions.any();
    let segments = one.kind == MappingKind::File && one.permissions != other.permissions;
    memory(one) == memory(other) && !guard && !segments
}

/// Returns true if the mapping shows that the process is registered with khugepaged. Advice and huge-page faults
/// register it. Both leave traces: the flag, and huge pages, although the pages can be gone.
fn is_registered(mapping: &Mapping) -> bool {
    let memory = mapping.memory.as_ref();
    mapping.flags().has("hg") || memory.is_some_and(|memory| memory.anon_huge > 0)
}

fn shows_large_folios(mapping: &Mapping) -> bool {
    let memory = mapping.memory.as_ref();
    let by_totals = memory.and_then(|memory| memory.file_huge);
    let mut frames = mapping
        .runs
        .iter()
        .filter_map(|run| run.pages.frames.as_deref());
    by_totals.unwrap_or(0) > 0 || frames.any(|frames| !frames.folios.is_empty())
}

/// A block of equal ranges of one mapping, as rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<'a> {
    pub(super) space: &'a Space,
    pub(super) settings: &'a Settings,
    pub(super) whole: &'a Whole,
    /// Index of the mapping.
    pub(super) index: usize,
    pub(super) mapping: &'a Mapping,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The content of each range; `None` if nothing was read.
    pub(super) pages: Option<&'a Pages>,
}

/// How well a reason fits the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Impossible.
    No,
    /// Not excluded.
    Possible,
    /// The data looks as this reason would make it.
    Likely,
    /// Likely, and the circumstances that cause it are present now.
    Strong,
    /// Nothing else produces this data.
    Proved,
}

impl Fit {
    /// Returns this fit if the condition is true, [`No`](Self::No) otherwise.
    pub(super) fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::No }
    }
}

impl<'a> Range<'a> {
    /// Returns true if the mapping covers the ranges completely.
    pub(super) fn is_whole(&self) -> bool {
        let huge = self.space.huge_bytes.max(1);
        self.start.is_multiple_of(huge) && self.end.is_multiple_of(huge)
    }

    /// Returns true if a source shows the present pages.
    pub(super) fn pages_were_read(&self) -> bool {
        self.space.pages_were_read()
    }

    /// Returns a count of the pages; 0 if nothing was read.
    pub(super) fn count(&self, of: impl Fn(&Pages) -> Option<u32>) -> u32 {
        self.pages.and_then(of).unwrap_or(0)
    }

    /// Small pages in each range, without zero pages.
    pub(super) fn small(&self) -> u32 {
        self.pages.map_or(0, Pages::small)
    }

    /// Zero pages in each range.
    pub(super) fn zero(&self) -> u32 {
        self.count(|pages| pages.zero)
    }

    /// Pages in swap in each range. Other entries that are not present look the same to the scan, but smaps does not
    /// count them: guards, if the kernel does not report them, and userfaultfd markers.
    pub(super) fn swapped(&self) -> u32 {
        let none = self
            .mapping
            .memory
            .as_ref()
            .is_some_and(|memory| memory.swap == 0);
        let entries = self.count(|pages| Some(pages.swapped));
        if none { 0 } else { entries }
    }

    /// Entries that are neither present nor, by smaps, in swap.
    pub(super) fn marks(&self) -> u32 {
        self.count(|pages| Some(pages.swapped)) - self.swapped()
    }

    /// Small anonymous pages.
    pub(super) fn anonymous(&self) -> u32 {
        let file = self.count(|pages| Some(pages.file));
        self.small().saturating_sub(file)
    }

    /// The number of pages in one range.
    pub(super) fn pages_per_range(&self) -> u32 {
        u32::try_from(self.space.pages_per_range()).unwrap_or(u32::MAX)
    }

    /// The frame data, if the frames were read.
    pub(super) fn frames(&self) -> Option<&'a Frames> {
        self.pages?.frames.as_deref()
    }

    /// Frames in folios at least as large as a huge page.
    pub(super) fn frames_in_huge_folios(&self) -> u32 {
        let huge = self.pages_per_range();
        self.frames_where(|folio_pages| folio_pages >= huge)
    }

    /// Frames in folios larger than a page and smaller than a huge page.
    pub(super) fn frames_in_middle_folios(&self) -> u32 {
        let huge = self.pages_per_range();
        self.frames_where(|folio_pages| folio_pages > 1 && folio_pages < huge)
    }

    fn frames_where(&self, fits: impl Fn(u32) -> bool) -> u32 {
        let folios = self.frames().map_or(&[][..], |frames| &frames.folios);
        folios
            .iter()
            .filter(|folio| fits(folio.folio_pages))
            .map(|folio| folio.frames)
            .sum()
    }

    /// The settings of transparent huge pages.
    pub(super) fn thp(&self) -> Option<&'a ThpSettings> {
        self.settings.thp.as_ref().ok()
    }

    /// Returns true if `madvise(MADV_HUGEPAGE)` is active.
    pub(super) fn is_advised(&self) -> bool {
        self.mapping.flags().has("hg")
    }

    /// The count of a machine event since boot; `None` if the kernel does not count it.
    pub(super) fn event(&self, counter: Counter) -> Option<u64> {
        counter.total(&self.settings.vmstat)
    }

    /// Returns true if an event has happened since boot, or is not counted.
    pub(super) fn may_have_happened(&self, counter: Counter) -> bool {
        self.event(counter) != Some(0)
    }

    /// Memory of the mapping that a PMD maps, in bytes, by the totals of smaps.
    pub(super) fn huge_by_totals(&self) -> Option<u64> {
        let memory = self.mapping.memory.as_ref()?;
        Some(memory.anon_huge + memory.shmem_huge + memory.file_huge.unwrap_or(0))
    }

    /// Returns true if `enabled` controls the mapping.
    pub(super) fn is_anonymous(&self) -> bool {
        self.mapping.kind.is_anonymous()
    }

    /// Returns true if the mapping is a file or shared memory.
    pub(super) fn is_file(&self) -> bool {
        self.mapping.kind == MappingKind::File || self.mapping.kind.is_shmem()
    }

    /// The adjacent mappings, below and above.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = &'a Mapping> + use<'a> {
        let mapping = self.mapping;
        let below = self.index.checked_sub(1);
        let places = [below, self.index.checked_add(1)];
        let mappings = &self.space.mappings;
        places
            .into_iter()
            .flatten()
            .filter_map(move |place| mappings.get(place))
            .filter(move |other| other.end == mapping.start || other.start == mapping.end)
    }
}
