//! The records of paired faults, in one ring per processor; the newest record overwrites the oldest.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

use hugewise_observe::faults::Weight;

use super::mapped::MappedWords;

/// The size of `struct paired_fault` and of `struct written` in words: one cache line each.
const WORDS: usize = 8;

/// The number of records of all processors together: 128 MiB.
const ALL: usize = 1 << 21;
/// The maximum number of records per processor: an eighth of a second of nothing but faults.
const MOST: usize = 1 << 16;

/// Returns the number of records per processor, a power of two.
pub(super) fn records_each(processors: usize) -> usize {
    (ALL / processors.max(1).next_power_of_two()).clamp(1, MOST)
}

/// A fault, as in the programs' `struct paired_fault`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairedFault {
    /// When it began, in nanoseconds of the monotonic clock; 0 if the begin was not seen.
    pub(crate) begun_ns: u64,
    /// When it ended.
    pub(crate) ended_ns: u64,
    pub(crate) address: u64,
    /// Physical address; 0 for a zero page.
    pub(crate) physical: u64,
    /// Size in bytes of the page that maps the address; 0 if the kernel could not determine it.
    pub(crate) page_bytes: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) weight: Weight,
}

/// A flag of a record.
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

/// Splits a word into its two 32-bit halves, in memory order.
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
    /// The number of records read or overwritten so far, by processor.
    read: Vec<u64>,
    overwritten: u64,
}

impl Records {
    /// Maps the records.
    ///
    /// # Errors
    /// The error of the kernel.
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

    /// Passes the new records of a processor to `take`, in order of time.
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

    /// Returns the record with this number, unless a later one has overwritten it.
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

    /// Returns the number of records overwritten before they could be read.
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

    /// Simulates the programs with two files.
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
        // Five more than the capacity.
        for earlier in 2..by.each + 7 {
            by.put(0, earlier, earlier + 1);
        }
        let rest: Vec<u64> = (7..by.each + 7).collect();
        assert_eq!(drained(&mut records, 0), rest);
        assert_eq!(records.overwritten(), 5);
        // One record being written for the next lap, and one complete record.
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
