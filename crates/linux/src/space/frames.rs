//! In which folios pages lie: by their frame numbers in `/proc/PID/pagemap` and the flags of
//! the frames in `/proc/kpageflags` (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use hugewise_model::observation::Missing;
use hugewise_model::space::{FolioCount, Frames, Kind, Mapping, Pages, Run, Source};

use super::blocks::{Sizes, push};
use crate::error::Error;
use crate::root::Root;
use crate::spawn::folios::{FRAME, HEAD, THP, folio_around, words};

/// Bits of an entry of the page map.
const PRESENT: u64 = 1 << 63;
const FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Bits of `/proc/kpageflags`.
const KSM: u64 = 1 << 21;
const ZERO_PAGE: u64 = 1 << 24;

/// Adds to the runs what the frames of their small pages are. Runs whose ranges turn out to
/// differ are parted.
pub(super) fn read_frames(
    root: &Root,
    pagemap: &File,
    mappings: &mut [Mapping],
    sizes: Sizes,
    longest: Duration,
) -> Source {
    let path = root.path("proc/kpageflags");
    let flags = match File::open(&path) {
        Ok(file) => file,
        Err(error) => {
            let missing = Error::io("opening", &path, error).into_missing("CAP_SYS_ADMIN");
            return Source::Missing(missing);
        }
    };
    let mut reader = Reader {
        pagemap,
        flags,
        sizes,
        window: (u64::MAX, Vec::new()),
        deadline: Instant::now() + longest,
        longest,
    };
    match mappings
        .iter_mut()
        .try_for_each(|mapping| reader.mapping(mapping))
    {
        Ok(()) => Source::Read,
        Err(missing) => Source::Missing(missing),
    }
}

struct Reader<'a> {
    pagemap: &'a File,
    flags: File,
    sizes: Sizes,
    /// The flags of the aligned huge-page range of frames that was looked at last, and its
    /// first frame.
    window: (u64, Vec<u64>),
    deadline: Instant,
    longest: Duration,
}

impl Reader<'_> {
    /// Hugetlb and pages of devices are what they are; their frames tell nothing.
    fn mapping(&mut self, mapping: &mut Mapping) -> Result<(), Missing> {
        let told = matches!(mapping.kind, Kind::Hugetlb | Kind::Kernel | Kind::Device);
        if told || mapping.runs.is_empty() {
            return Ok(());
        }
        let before = std::mem::take(&mut mapping.runs);
        let mut outcome = Ok(());
        for run in before {
            if run.pages.small() == 0 || outcome.is_err() {
                push(&mut mapping.runs, run, self.sizes.huge);
                continue;
            }
            outcome = self.run(&run, &mut mapping.runs);
        }
        outcome
    }

    fn run(&mut self, run: &Run, runs: &mut Vec<Run>) -> Result<(), Missing> {
        let mut start = run.start;
        while start < run.end {
            let end = (start - start % self.sizes.huge + self.sizes.huge).min(run.end);
            let frames = self.range(start, end);
            let one = Run {
                start,
                end: if frames.is_ok() { end } else { run.end },
                pages: Pages {
                    frames: frames.as_ref().ok().cloned().map(Box::new),
                    ..run.pages.clone()
                },
            };
            push(runs, one, self.sizes.huge);
            frames?;
            start = end;
        }
        Ok(())
    }

    fn range(&mut self, start: u64, end: u64) -> Result<Frames, Missing> {
        if Instant::now() > self.deadline {
            return Err(Missing::Unreadable {
                error: format!("frames were not all read within {:?}", self.longest),
            });
        }
        let count = (end - start) / self.sizes.page;
        let entries = words(self.pagemap, start / self.sizes.page, count);
        let entries = entries.map_err(|error| unreadable(&error))?;
        let first = entries.iter().find(|&&entry| entry & PRESENT != 0);
        if first.is_some_and(|entry| entry & FRAME == 0) {
            return Err(Missing::NotPermitted {
                grant: "CAP_SYS_ADMIN".to_owned(),
            });
        }
        self.frames(&entries).map_err(|error| unreadable(&error))
    }

    fn frames(&mut self, entries: &[u64]) -> io::Result<Frames> {
        let mut frames = Frames::default();
        let mut rest = entries;
        while let Some((&entry, behind)) = rest.split_first() {
            if entry & PRESENT == 0 {
                rest = behind;
                continue;
            }
            let length = stretch(rest);
            let first = entry & FRAME;
            let flags = words(&self.flags, first, length as u64)?;
            for ((flags, frame), entry) in flags.iter().zip(first..).zip(rest) {
                self.count(&mut frames, *flags, frame, *entry)?;
            }
            rest = &rest[length..];
        }
        frames.one_huge_folio = self.is_one_huge_folio(entries, &frames);
        Ok(frames)
    }

    fn count(&mut self, frames: &mut Frames, flags: u64, frame: u64, entry: u64) -> io::Result<()> {
        if flags & ZERO_PAGE != 0 {
            return Ok(());
        }
        if flags & KSM != 0 {
            frames.ksm += 1;
        } else if entry & (FILE | EXCLUSIVE) == 0 {
            frames.shared += 1;
        }
        let folio = if flags & THP == 0 {
            None
        } else {
            self.folio_pages(frame)?
        };
        let Some(folio_pages) = folio else {
            frames.single += 1;
            return Ok(());
        };
        let folios = &mut frames.folios;
        match folios.binary_search_by_key(&folio_pages, |folio| folio.folio_pages) {
            Ok(place) => folios[place].frames += 1,
            Err(place) => folios.insert(
                place,
                FolioCount {
                    folio_pages,
                    frames: 1,
                },
            ),
        }
        Ok(())
    }

    /// Pages in the folio that a frame belongs to. Folios are aligned to their size and, where
    /// a PMD can map them, not larger than it; so the aligned window holds all of it.
    fn folio_pages(&mut self, frame: u64) -> io::Result<Option<u32>> {
        let per_range = (self.sizes.huge / self.sizes.page).max(1);
        let first = frame - frame % per_range;
        if self.window.0 != first {
            self.window = (first, words(&self.flags, first, per_range)?);
        }
        let place = usize::try_from(frame - first).unwrap_or(usize::MAX);
        let pages = folio_around(&self.window.1, place);
        Ok(pages.and_then(|pages| u32::try_from(pages).ok()))
    }

    fn is_one_huge_folio(&self, entries: &[u64], frames: &Frames) -> bool {
        let per_range = self.sizes.huge / self.sizes.page;
        let all = matches!(&frames.folios[..], [folio]
            if u64::from(folio.folio_pages) == per_range && u64::from(folio.frames) == per_range);
        all && stretch(entries) as u64 == per_range
            && entries[0] & FRAME & (per_range - 1) == 0
            && self.window.1.first().is_some_and(|flags| flags & HEAD != 0)
    }
}

/// How many entries from the first on are present with frames that follow each other.
fn stretch(entries: &[u64]) -> usize {
    let first = entries.first().map_or(0, |entry| entry & FRAME);
    entries
        .iter()
        .zip(first..)
        .take_while(|&(entry, frame)| entry & PRESENT != 0 && entry & FRAME == frame)
        .count()
}

fn unreadable(error: &io::Error) -> Missing {
    Missing::Unreadable {
        error: format!("page frames: {error}"),
    }
}
