//! The records of paired faults, a ring for each processor, in which the newest takes the place of
//! the oldest.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

use hugewise_observe::faults::Weight;

use super::mapped::MappedWords;

/// Words of `struct paired_fault` and of `struct written`: a cache line each.
const WORDS: usize = 8;

/// Records of all processors together; 128 MiB of them.
const ALL: usize = 1 << 21;
/// Records of one processor, at most: an eighth of a second in which it does nothing but fault.
const MOST: usize = 1 << 16;

/// How many records each of so many processors has, a power of two.
pub(super) fn records_each(processors: usize) -> usize {
    (ALL / processors.max(1).next_power_of_two()).clamp(1, MOST)
}

/// A fault, as `struct paired_fault` of the programs tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairedFault {
    /// When it began, in nanoseconds of the monotonic clock; 0 where that was not seen.
    pub(crate) begun_ns: u64,
    /// When it was served.
    pub(crate) ended_ns: u64,
    pub(crate) address: u64,
    /// 0 for a zero page.
    pub(crate) physical: u64,
    /// Size of the page that maps the address; 0 where the kernel could not tell.
    pub(crate) page_bytes: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) weight: Weight,
}

/// A bit of the flags of a record.
const MAJOR: u64 = 1;

impl From<[u64; WORDS]> for PairedFault {
    fn from(words: [u64; WORDS]) -> Self {
        let [
            _,
            begun_ns,
            ended_ns,
            address,
            physical,
            page_bytes,
            task,
            flags,
        ] = words;
        let [pid, tid] = halves(task);
        Self {
            begun_ns,
            ended_ns,
            address,
            physical,
            page_bytes,
            pid,
            tid,
            weight: if flags & MAJOR == 0 {
                Weight::Minor
            } else {
                Weight::Major
            },
        }
    }
}

/// Two numbers of 32 bits as they lie in memory.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes)
}

/// The records of all processors.
#[derive(Debug)]
pub(super) struct Records {
    records: MappedWords,
    written: MappedWords,
    each: usize,
    /// How many have been read, or were overwritten before, by processor.
    read: Vec<u64>,
    overwritten: u64,
}

impl Records {
    /// Maps them.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn map(
        records: BorrowedFd<'_>,
        written: BorrowedFd<'_>,
        processors: usize,
    ) -> io::Result<Self> {
        let each = records_each(processors);
        Ok(Self {
            records: MappedWords::map(records, processors * each * WORDS)?,
            written: MappedWords::map(written, processors * WORDS)?,
            each,
            read: vec![0; processors],
            overwritten: 0,
        })
    }

    /// Gives what is new of a processor to `take`, in order of time.
    pub(super) fn drain(&mut self, processor: u32, mut take: impl FnMut(PairedFault)) {
        let processor = processor as usize;
        let written = self.written.load(processor * WORDS, Ordering::Acquire);
        let Some(&first) = self.read.get(processor) else {
            return;
        };
        let oldest = first.max(written.saturating_sub(self.each as u64));
        let mut given = 0;
        for earlier in oldest..written {
            if let Some(fault) = self.record(processor, earlier) {
                given += 1;
                take(fault);
            }
        }
        self.overwritten += written - first - given;
        self.read[processor] = written;
    }

    /// The record that so many came before, unless a later one has its place by now.
    fn record(&self, processor: usize, earlier: u64) -> Option<PairedFault> {
        // The remainder is smaller than `each`.
        let place = usize::try_from(earlier % self.each as u64).unwrap_or(0);
        let at = (processor * self.each + place) * WORDS;
        let is_there = || self.records.load(at, Ordering::Acquire) == earlier + 1;
        if !is_there() {
            return None;
        }
        let words = std::array::from_fn(|word| self.records.load(at + word, Ordering::Relaxed));
        fence(Ordering::Acquire);
        is_there().then(|| words.into())
    }

    /// Records that were overwritten before they could be read.
    pub(super) fn overwritten(&self) -> u64 {
        self.overwritten
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// What the programs do, in two files.
    struct Written {
        records: File,
        written: File,
        each: u64,
    }

    impl Written {
        fn by(processors: usize) -> (Self, Records) {
            let file = || tempfile::tempfile().unwrap();
            let (records, written, each) = (file(), file(), records_each(processors));
            records
                .set_len((processors * each * WORDS * size_of::<u64>()) as u64)
                .unwrap();
            written.set_len(4096).unwrap();
            let mapped = Records::map(records.as_fd(), written.as_fd(), processors).unwrap();
            let each = each as u64;
            let by = Self {
                records,
                written,
                each,
            };
            (by, mapped)
        }

        fn put(&self, processor: u64, earlier: u64, number: u64) {
            let task = [7_u32, 8].map(u32::to_ne_bytes).concat();
            let words = [number, 1, 2, 3, 4, earlier].map(u64::to_ne_bytes).concat();
            let bytes = [words, task, MAJOR.to_ne_bytes().to_vec()].concat();
            let place = processor * self.each + earlier % self.each;
            let record = place * WORDS as u64 * 8;
            self.records.write_all_at(&bytes, record).unwrap();
            let count = (earlier + 1).to_ne_bytes();
            self.written
                .write_all_at(&count, processor * WORDS as u64 * 8)
                .unwrap();
        }
    }

    fn drained(records: &mut Records, processor: u32) -> Vec<u64> {
        let mut pages = Vec::new();
        records.drain(processor, |fault| pages.push(fault.page_bytes));
        pages
    }

    #[test]
    fn a_record_is_read_as_it_is_laid_out() {
        let (by, mut records) = Written::by(2);
        by.put(1, 0, 1);
        let mut all = Vec::new();
        records.drain(0, |fault| all.push(fault));
        assert_eq!(all, []);
        records.drain(1, |fault| all.push(fault));
        let expected = PairedFault {
            begun_ns: 1,
            ended_ns: 2,
            address: 3,
            physical: 4,
            page_bytes: 0,
            pid: 7,
            tid: 8,
            weight: Weight::Major,
        };
        assert_eq!(all, [expected]);
        records.drain(2, |fault| panic!("{fault:?}"));
    }

    #[test]
    fn each_record_comes_once_and_what_was_overwritten_is_counted() {
        let (by, mut records) = Written::by(1);
        by.put(0, 0, 1);
        by.put(0, 1, 2);
        assert_eq!(drained(&mut records, 0), [0, 1]);
        assert_eq!(drained(&mut records, 0), [0; 0]);
        // Five more than there is room for.
        for earlier in 2..by.each + 7 {
            by.put(0, earlier, earlier + 1);
        }
        let rest: Vec<u64> = (7..by.each + 7).collect();
        assert_eq!(drained(&mut records, 0), rest);
        assert_eq!(records.overwritten(), 5);
        // One that is being written for the next time round, and one that is there.
        by.put(0, by.each + 7, 0);
        by.put(0, by.each + 8, by.each + 9);
        assert_eq!(drained(&mut records, 0), [by.each + 8]);
        assert_eq!(records.overwritten(), 6);
    }

    #[test]
    fn there_is_room_for_every_number_of_processors() {
        assert_eq!(records_each(1), MOST);
        assert_eq!(records_each(32), MOST);
        assert_eq!(records_each(33), MOST / 2);
        assert_eq!(records_each(usize::MAX / 4), 1);
    }
}
