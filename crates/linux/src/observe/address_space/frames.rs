//! Finds the folios that contain pages, from the frame numbers in `/proc/PID/pagemap` and the flags of the frames in
//! `/proc/kpageflags` (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{
    FolioCount, Frames, Mapping, MappingKind, Pages, Run, Sampled, Source,
};

use super::Thoroughness;
use super::blocks::{Sizes, push};
use crate::machine::error::Error;
use crate::machine::root::Root;
use crate::spawn::folios::{
    FRAME, HEAD, PRESENT_ENTRY, THP, Words, ZERO_PAGE, folio_around, stretch,
};

mod sample;

/// Bits of an entry of the page map.
const FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Bits of `/proc/kpageflags`.
const KSM: u64 = 1 << 21;
/// Entries of the page map read at once, and how many in between may be of no interest: small
/// mappings side by side are one read.
const ENTRIES: u64 = 8192;
const GAP: u64 = 64;

/// Adds the frames of their small pages to the runs. Runs whose ranges turn out to differ are split.
pub(super) fn read_frames(
    root: &Root,
    pagemap: &File,
    mappings: &mut [Mapping],
    sizes: Sizes,
    (longest, thoroughness): (Duration, Thoroughness),
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
        thoroughness,
        sampled: Sampled::default(),
        entries: Entries::of(pagemap, mappings, sizes),
        folios: Folios {
            flags,
            sizes,
            stretch: Words::default(),
            window: (u64::MAX, Words::default()),
        },
        sizes,
        deadline: Instant::now() + longest,
        longest,
    };
    match mappings
        .iter_mut()
        .try_for_each(|mapping| reader.mapping(mapping))
    {
        Ok(()) if reader.sampled.ranges > 0 => Source::Sampled(reader.sampled),
        Ok(()) => Source::Read,
        Err(missing) => Source::Missing(missing),
    }
}

/// The page map, with read-ahead.
struct Entries<'a> {
    pagemap: &'a File,
    page: u64,
    /// The spans still to be read, in descending order of address.
    ahead: Vec<(u64, u64)>,
    /// The page number of the first entry read.
    first: u64,
    read: Words,
}

impl<'a> Entries<'a> {
    fn of(pagemap: &'a File, mappings: &[Mapping], sizes: Sizes) -> Self {
        let mut ahead: Vec<(u64, u64)> = Vec::new();
        let wanted = mappings.iter().filter(|mapping| is_wanted(mapping));
        let runs = wanted.flat_map(|mapping| &mapping.runs);
        for run in runs.filter(|run| run.pages.small() > 0) {
            match ahead.last_mut() {
                Some((_, end)) if run.start.saturating_sub(*end) <= GAP * sizes.page => {
                    *end = run.end;
                }
                _ => ahead.push((run.start, run.end)),
            }
        }
        ahead.reverse();
        Self {
            pagemap,
            page: sizes.page.max(1),
            ahead,
            first: 0,
            read: Words::default(),
        }
    }

    /// Returns the entries of a span; fewer if the page map ends first. Spans must come in ascending order of address.
    fn of_span(&mut self, start: u64, end: u64) -> io::Result<&[u64]> {
        let first = start / self.page;
        let count = (end - start) / self.page;
        let behind = self.first + self.read.all.len() as u64;
        if first < self.first || behind < first + count {
            let ahead = self.reach(start, end).saturating_sub(start) / self.page;
            self.first = first;
            self.read
                .read(self.pagemap, first, ahead.min(ENTRIES).max(count))?;
        }
        let from = usize::try_from(first - self.first).unwrap_or(usize::MAX);
        let rest = self.read.all.get(from..).unwrap_or_default();
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(&rest[..rest.len().min(most)])
    }

    /// Returns the end of the stretch that contains a span.
    fn reach(&mut self, start: u64, end: u64) -> u64 {
        while self
            .ahead
            .pop_if(|&mut (_, behind)| behind <= start)
            .is_some()
        {}
        self.ahead
            .last()
            .map_or(end, |&(_, behind)| behind.max(end))
    }
}

/// Returns false for hugetlb and device mappings, whose frames give no further information.
fn is_wanted(mapping: &Mapping) -> bool {
    !matches!(
        mapping.kind,
        MappingKind::Hugetlb | MappingKind::Kernel | MappingKind::Device
    )
}

struct Reader<'a> {
    pagemap: &'a File,
    thoroughness: Thoroughness,
    sampled: Sampled,
    entries: Entries<'a>,
    folios: Folios,
    sizes: Sizes,
    deadline: Instant,
    longest: Duration,
}

/// The flags of frames.
struct Folios {
    flags: File,
    sizes: Sizes,
    /// The flags of the consecutive frames read last.
    stretch: Words,
    /// The flags of the aligned huge-page range of frames read last, and its first frame.
    window: (u64, Words),
}

impl Reader<'_> {
    fn mapping(&mut self, mapping: &mut Mapping) -> Result<(), Missing> {
        if !is_wanted(mapping) || mapping.runs.iter().all(|run| run.pages.small() == 0) {
            return Ok(());
        }
        let before = std::mem::take(&mut mapping.runs);
        let mut outcome = Ok(());
        for run in before {
            if run.pages.small() == 0 || outcome.is_err() {
                push(&mut mapping.runs, run, self.sizes.huge);
                continue;
            }
            outcome = match self.sample(&run) {
                Ok(Some(frames)) => {
                    push(
                        &mut mapping.runs,
                        with_frames(&run, frames),
                        self.sizes.huge,
                    );
                    Ok(())
                }
                Ok(None) => self.run(&run, &mut mapping.runs),
                Err(missing) => Err(missing),
            };
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
        let entries = self.entries.of_span(start, end);
        let entries = entries.map_err(|error| unreadable(&error))?.to_vec();
        self.frames(&entries)
    }

    fn frames(&mut self, entries: &[u64]) -> Result<Frames, Missing> {
        if Instant::now() > self.deadline {
            return Err(Missing::unreadable(format!(
                "reading the page frames took longer than {:?}",
                self.longest
            )));
        }
        let first = entries.iter().find(|&&entry| entry & PRESENT_ENTRY != 0);
        if first.is_some_and(|entry| entry & FRAME == 0) {
            return Err(Missing::not_permitted("CAP_SYS_ADMIN"));
        }
        self.folios
            .frames(entries)
            .map_err(|error| unreadable(&error))
    }
}

fn with_frames(run: &Run, frames: Frames) -> Run {
    Run {
        pages: Pages {
            frames: Some(Box::new(frames)),
            ..run.pages.clone()
        },
        ..run.clone()
    }
}

impl Folios {
    fn frames(&mut self, entries: &[u64]) -> io::Result<Frames> {
        let mut frames = Frames::default();
        let mut rest = entries;
        let mut stretch_flags = std::mem::take(&mut self.stretch);
        while let Some((&entry, behind)) = rest.split_first() {
            if entry & PRESENT_ENTRY == 0 {
                rest = behind;
                continue;
            }
            let length = stretch(rest);
            let first = entry & FRAME;
            stretch_flags.read(&self.flags, first, length as u64)?;
            for ((flags, frame), entry) in stretch_flags.all.iter().zip(first..).zip(rest) {
                self.count(&mut frames, *flags, frame, *entry)?;
            }
            rest = &rest[length..];
        }
        self.stretch = stretch_flags;
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

    /// Returns the number of pages in the folio that contains a frame. Folios are aligned to their size and, if a PMD
    /// can map them, no larger than a PMD range, so the aligned window contains the whole folio.
    fn folio_pages(&mut self, frame: u64) -> io::Result<Option<u32>> {
        let per_range = (self.sizes.huge / self.sizes.page).max(1);
        let first = frame - frame % per_range;
        if self.window.0 != first {
            self.window.0 = u64::MAX;
            self.window.1.read(&self.flags, first, per_range)?;
            self.window.0 = first;
        }
        let place = usize::try_from(frame - first).unwrap_or(usize::MAX);
        let pages = folio_around(&self.window.1.all, place);
        Ok(pages.and_then(|pages| u32::try_from(pages).ok()))
    }

    fn is_one_huge_folio(&self, entries: &[u64], frames: &Frames) -> bool {
        let per_range = self.sizes.huge / self.sizes.page;
        let all = matches!(&frames.folios[..], [folio]
            if u64::from(folio.folio_pages) == per_range && u64::from(folio.frames) == per_range);
        all && stretch(entries) as u64 == per_range
            && entries[0] & FRAME & (per_range - 1) == 0
            && self
                .window
                .1
                .all
                .first()
                .is_some_and(|flags| flags & HEAD != 0)
    }
}

fn unreadable(error: &io::Error) -> Missing {
    Missing::unreadable(format!("page frames: {error}"))
}
