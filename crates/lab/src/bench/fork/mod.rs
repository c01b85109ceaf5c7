//! A program that forks and then writes: the time of the fork, the time of each first write to a page afterwards, and
//! the additional memory of the two processes.
//!
//! A database that writes its snapshot from a child does the same. The child here holds its inherited memory and is
//! idle, so that the parent does all copying.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::random::Random;
use super::rollup::rollup;
use super::thread::Usage;
use crate::Trouble;
use crate::plant::look::counter;
use crate::plant::span::Span;
use crate::planted::pipe;
use crate::region::huge_bytes;

pub(crate) mod cell;

/// Whether there is a child while the parent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// No child: the cost of the same writes without a fork.
    Alone,
    /// A child forked just before.
    Forked,
}

/// The cost of one fork and its writes, or of the same writes without a fork.
#[derive(Clone, Debug)]
pub(crate) struct ForkCost {
    /// The fork call in the parent; `None` without a fork.
    pub(crate) fork: Option<Duration>,
    /// The time of each write with a clock reading, shortest first.
    pub(crate) writes: Vec<Duration>,
    /// Faults of the writes.
    pub(crate) faults: u64,
    /// Huge mappings split during the writes on the whole machine.
    pub(crate) splits: Option<u64>,
    /// Growth of the anonymous memory that both processes hold together (Pss_Anon), from before the fork to after the
    /// writes; `None` if the kernel does not report it (before 5.3).
    pub(crate) added_bytes: Option<u64>,
}

/// Forks if requested, and writes to this many pages of the span, drawn with repetition. All of the span has been
/// written before.
pub(crate) fn write_after(
    moment: Moment,
    span: Span,
    writes: usize,
    seed: u64,
) -> Result<ForkCost, Trouble> {
    let offsets = offsets(span, writes, seed);
    let mut taken = Taken::room_for(writes)?;
    let before = held(&[std::process::id()]);
    let splits = counter("thp_split_pmd");
    let (child, fork) = match moment {
        Moment::Alone => (None, None),
        Moment::Forked => {
            let (child, time) = Child::fork()?;
            (Some(child), Some(time))
        }
    };
    // Touches the stack page that the fork made shared.
    write(span, &offsets[..0], taken.durations());
    let usage = Usage::now();
    write(span, &offsets, taken.durations());
    let faults = Usage::now().since(usage).faults;
    let split = splits.zip(counter("thp_split_pmd"));
    let mut processes = vec![std::process::id()];
    processes.extend(child.as_ref().map(|child| child.id.unsigned_abs()));
    let after = held(&processes);
    drop(child);
    let mut writes = taken.durations().to_vec();
    writes.sort_unstable();
    Ok(ForkCost {
        fork,
        writes,
        faults,
        splits: split.map(|(before, after)| after.saturating_sub(before)),
        added_bytes: before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before)),
    })
}

/// The buffer for the durations: memory that the child does not inherit, so that writing to it copies nothing.
struct Taken {
    span: Span,
    writes: usize,
}

impl Taken {
    fn room_for(writes: usize) -> Result<Self, Trouble> {
        let bytes = writes * size_of::<Duration>();
        let span = Span::fresh(bytes.div_ceil(huge_bytes()).max(1))?;
        let mut taken = Self { span, writes };
        span.advise(libc::MADV_DONTFORK)?;
        taken.durations().fill(Duration::from_nanos(1));
        Ok(taken)
    }

    fn durations(&mut self) -> &mut [Duration] {
        let start = self.span.pointer().cast::<Duration>();
        // SAFETY: the memory is this object's own, writable, long enough and aligned to a page;
        // whole seconds and nanoseconds of 0, as it begins, are a duration.
        unsafe { std::slice::from_raw_parts_mut(start, self.writes) }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Otherwise it is freed at the end of the process.
        let _ = self.span.unmap();
    }
}

/// The places of the writes: a random word on each randomly drawn page.
fn offsets(span: Span, writes: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let words = span.bytes() / size_of::<u64>();
    let any = |_| random.below(words) * size_of::<u64>();
    (0..writes).map(any).collect()
}

/// Does the writes one by one, with a clock reading between any two, which ends one write and starts the next.
#[inline(never)]
fn write(span: Span, offsets: &[usize], taken: &mut [Duration]) {
    let mut last = Instant::now();
    for (&offset, taken) in offsets.iter().zip(taken) {
        let word = span.pointer().wrapping_byte_add(offset).cast::<u64>();
        // SAFETY: the word is in the span, which is writable and this thread's own.
        unsafe { word.write_volatile(1) };
        let now = Instant::now();
        *taken = now - last;
        last = now;
    }
}

/// The value at rank `ceil(share × number)` of the sorted durations (nearest rank): the rule of the program's own
/// histograms (`base::histogram::rank`).
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// A child that holds its memory until it is dropped.
struct Child {
    id: libc::pid_t,
    /// The child ends when this closes, also if the parent is killed.
    _held: OwnedFd,
}

impl Child {
    fn fork() -> Result<(Self, Duration), Trouble> {
        let (read, write) = pipe()?;
        let begun = Instant::now();
        // SAFETY: the child only closes, reads and ends, which is allowed whatever other threads were doing.
        let id = unsafe { libc::fork() };
        let time = begun.elapsed();
        match id {
            -1 => Err(Trouble::last("forking")),
            0 => {
                drop(write);
                wait_for_end(read)
            }
            id => Ok((Self { id, _held: write }, time)),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child is ours and not yet waited for.
        unsafe {
            libc::kill(self.id, libc::SIGKILL);
            libc::waitpid(self.id, std::ptr::null_mut(), 0);
        }
    }
}

/// Allocates and writes nothing, so that the child shares all its pages.
fn wait_for_end(read: OwnedFd) -> ! {
    let mut end = fs::File::from(read);
    let _ = end.read(&mut [0]);
    // SAFETY: ends the process without running what the parent will run itself.
    unsafe { libc::_exit(0) }
}

/// Anonymous memory that the processes hold together: each page counts for each by its share in it. File pages are left
/// out, because their shares change with every other process that maps them.
fn held(processes: &[u32]) -> Option<u64> {
    processes.iter().map(|&id| rollup(id, "Pss_Anon")).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::page_bytes;

    /// The number of different pages among the places.
    fn distinct_pages(offsets: &[usize]) -> usize {
        let pages: std::collections::BTreeSet<usize> =
            offsets.iter().map(|offset| offset / page_bytes()).collect();
        pages.len()
    }

    #[test]
    fn quantiles_are_ranks() {
        let sorted: Vec<Duration> = (1..=100).map(Duration::from_nanos).collect();
        let at = |share| quantile(&sorted, share).map(|found| found.as_nanos());
        assert_eq!(at(0.5), Some(50));
        assert_eq!(at(0.99), Some(99));
        assert_eq!((at(0.0), at(1.0)), (Some(1), Some(100)));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_same_seed_writes_the_same_places() {
        let span = Span {
            start: 0,
            end: 1 << 20,
        };
        let places = offsets(span, 1000, 3);
        assert_eq!(places, offsets(span, 1000, 3));
        assert_ne!(places, offsets(span, 1000, 4));
        assert!(places.iter().all(|&offset| offset + 8 <= 1 << 20));
        let pages = distinct_pages(&places);
        assert!(pages > (1 << 20) / page_bytes() * 9 / 10, "{pages}");
    }

    /// Each page is copied once, at its first write, even if a huge page held it: a huge page is not copied, its
    /// mapping is split (`do_huge_pmd_wp_page`, mm/huge_memory.c). If something else changes the entry at the same
    /// time, such as DAMON, which clears its accessed bit, the kernel discards the copy and the write faults again
    /// (`wp_page_copy`, mm/memory.c): here at most twice in one of a hundred calls.
    #[test]
    fn a_write_after_a_fork_copies_a_page_once() {
        const SEED: u64 = 7;
        const WRITES: usize = 3000;
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_HUGEPAGE] {
            let span = Span::fresh(8).unwrap();
            span.advise(advice).unwrap();
            span.write();
            let pages = distinct_pages(&offsets(span, WRITES, SEED)) as u64;
            let alone = write_after(Moment::Alone, span, WRITES, SEED).unwrap();
            assert_eq!((alone.faults, alone.fork), (0, None));
            let forked = write_after(Moment::Forked, span, WRITES, SEED).unwrap();
            let faults = pages..=pages + 20;
            assert!(
                faults.contains(&forked.faults),
                "{}: {faults:?}",
                forked.faults
            );
            assert_eq!(forked.writes.len(), WRITES);
            assert!(forked.fork.is_some());
            span.unmap().unwrap();
        }
    }
}
