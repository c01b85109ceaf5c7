//! The counts used in evidence.

use std::collections::BTreeMap;

use super::range::Range;
use hugewise_base::units::bytes_text;

/// Counts over all ranges of one judgement.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) ranges: u64,
    pub(super) present: u64,
    pub(super) small: u64,
    pub(super) file: u64,
    pub(super) zero: u64,
    pub(super) huge: u64,
    pub(super) swapped: u64,
    pub(super) marks: u64,
    pub(super) guard: u64,
    single: u64,
    pub(super) shared: u64,
    pub(super) ksm: u64,
    /// Frames by the pages of their folio.
    pub(super) folios: BTreeMap<u32, u64>,
    pub(super) frames_read: bool,
    /// The minimum and the maximum of populated pages in one range.
    least: u32,
    most: u32,
}

impl Totals {
    pub(super) fn of(range: &Range<'_>) -> Self {
        let huge = range.space.huge_bytes.max(1);
        let ranges = ((range.end - range.start) / huge).max(1);
        let Some(pages) = range.pages else {
            return Self {
                ranges,
                ..Self::default()
            };
        };
        let times = |count: u32| u64::from(count) * ranges;
        let populated = pages.populated();
        let mut totals = Self {
            ranges,
            present: times(pages.present),
            small: times(pages.small()),
            file: times(pages.file),
            zero: times(pages.zero.unwrap_or(0)),
            huge: times(pages.huge.unwrap_or(0)),
            swapped: times(range.swapped()),
            marks: times(range.marks()),
            guard: times(pages.guard.unwrap_or(0)),
            least: populated,
            most: populated,
            ..Self::default()
        };
        if let Some(frames) = pages.frames.as_deref() {
            totals.frames_read = true;
            totals.single = times(frames.single);
            totals.shared = times(frames.shared);
            totals.ksm = times(frames.ksm);
            let folios = frames.folios.iter();
            totals.folios = folios
                .map(|folio| (folio.folio_pages, times(folio.frames)))
                .collect();
        }
        totals
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.ranges, other.ranges),
            (&mut self.present, other.present),
            (&mut self.small, other.small),
            (&mut self.file, other.file),
            (&mut self.zero, other.zero),
            (&mut self.huge, other.huge),
            (&mut self.swapped, other.swapped),
            (&mut self.marks, other.marks),
            (&mut self.guard, other.guard),
            (&mut self.single, other.single),
            (&mut self.shared, other.shared),
            (&mut self.ksm, other.ksm),
        ] {
            *ours += theirs;
        }
        for (&pages, &frames) in &other.folios {
            *self.folios.entry(pages).or_default() += frames;
        }
        self.frames_read |= other.frames_read;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Pages in memory that belong to the process; zero pages do not.
    pub(super) fn resident_pages(&self) -> u64 {
        self.present.saturating_sub(self.zero)
    }

    pub(super) fn populated_text(&self, per_range: u64) -> String {
        if self.least == self.most {
            format!("{} of {per_range} pages populated in each range", self.most)
        } else {
            let (least, most) = (self.least, self.most);
            format!("{least} to {most} of {per_range} pages populated in each range")
        }
    }

    pub(super) fn folios_text(&self, page_bytes: u64) -> Option<String> {
        if !self.frames_read {
            return None;
        }
        let mut parts: Vec<String> = self
            .folios
            .iter()
            .map(|(&pages, frames)| {
                let size = bytes_text(u64::from(pages) * page_bytes);
                format!("{frames} pages in folios of {size}")
            })
            .collect();
        if self.single > 0 {
            parts.push(format!("{} single pages", self.single));
        }
        (!parts.is_empty()).then(|| format!("frames: {}", parts.join(", ")))
    }
}
