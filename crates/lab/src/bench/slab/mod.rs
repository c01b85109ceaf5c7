//! A program that allocates and frees objects of mixed sizes, from its own slabs or from the `malloc` of the process.

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::random::Random;
use super::rollup::rollup;
use super::thread::Usage;
use crate::Trouble;
use crate::region::huge_bytes;

pub(crate) mod cell;
mod clear;
pub(crate) mod heap;

use heap::{Heap, LARGEST};

/// The smallest object.
const SMALLEST: usize = 16;

/// The amount of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Allocations and frees together.
    pub(crate) operations: usize,
    /// Places for objects; in the long run half of them are occupied.
    pub(crate) places: usize,
    /// The seed for sizes and places.
    pub(crate) seed: u64,
}

/// The cost of the work.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// The time of all operations.
    pub(crate) whole: Duration,
    /// The time of the second half, which allocates hardly any new memory.
    pub(crate) second_half: Duration,
    /// The usage over all operations.
    pub(crate) usage: Usage,
    /// Growth of its memory; `None` if the kernel does not report it.
    pub(crate) grown: Option<Held>,
    /// Huge-page boundaries with objects after them at the end.
    pub(crate) boundaries: BTreeSet<usize>,
    /// Objects whose content had changed before they were freed: always 0, unless an allocator hands out memory twice.
    pub(crate) damaged: u64,
}

/// The memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The resident bytes.
    pub(crate) resident: u64,
    /// The resident bytes in transparent huge pages.
    pub(crate) huge: u64,
}

impl Held {
    fn now() -> Option<Self> {
        let own = |field| rollup(std::process::id(), field);
        Some(Self {
            resident: own("Rss")?,
            huge: own("AnonHugePages")?,
        })
    }

    /// The share in transparent huge pages; NaN if nothing is resident.
    pub(crate) fn huge_share(self) -> f64 {
        self.huge as f64 / self.resident as f64
    }

    fn since(self, before: Self) -> Self {
        Self {
            resident: self.resident.saturating_sub(before.resident),
            huge: self.huge.saturating_sub(before.huge),
        }
    }
}

/// A source of objects.
pub(crate) trait Source {
    fn take(&mut self, size: usize) -> Result<NonNull<u8>, Trouble>;

    /// # Safety
    /// The object came from `take` and is not used again.
    unsafe fn give(&mut self, object: NonNull<u8>);
}

impl Source for Heap {
    #[inline]
    fn take(&mut self, size: usize) -> Result<NonNull<u8>, Trouble> {
        Self::take(self, size)
    }

    #[inline]
    unsafe fn give(&mut self, object: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { Self::give(self, object) }
    }
}

/// `malloc` and `free` of the process: of libc, or of a preloaded library.
pub(crate) struct Malloc;

impl Source for Malloc {
    #[inline]
    fn take(&mut self, size: usize) -> Result<NonNull<u8>, Trouble> {
        // SAFETY: malloc has no preconditions.
        let object = unsafe { libc::malloc(size) };
        NonNull::new(object.cast()).ok_or_else(|| Trouble::last("allocating"))
    }

    #[inline]
    unsafe fn give(&mut self, object: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { libc::free(object.as_ptr().cast()) }
    }
}

/// Runs the load: each operation draws one place. An empty place gets an object of 16 to 1,040 bytes, whose first and
/// last byte are written; a full one is freed after its first and last byte were read.
pub(crate) fn work(source: &mut impl Source, load: &Load) -> Result<Done, Trouble> {
    let mut places = vec![None; load.places];
    // The places are the program's own memory and not measured.
    places.fill(Some((NonNull::dangling(), 0)));
    places.fill(None);
    let mut random = Random::new(load.seed);
    let held_before = Held::now();
    let before = Usage::now();
    let begun = Instant::now();
    let mut damaged = operate(source, &mut places, &mut random, load.operations / 2)?;
    let middle = Instant::now();
    let rest = load.operations - load.operations / 2;
    damaged += operate(source, &mut places, &mut random, rest)?;
    let ended = Instant::now();
    let usage = Usage::now().since(before);
    Ok(Done {
        whole: ended - begun,
        second_half: ended - middle,
        usage,
        grown: held_before
            .zip(Held::now())
            .map(|(before, after)| after.since(before)),
        boundaries: boundaries(&places),
        damaged,
    })
}

type Place = Option<(NonNull<u8>, usize)>;

/// An object that extends over the next boundary counts by its start.
fn boundaries(places: &[Place]) -> BTreeSet<usize> {
    let objects = places.iter().flatten();
    let boundary = |&(object, _): &(NonNull<u8>, usize)| {
        let address = object.as_ptr().expose_provenance();
        address - address % huge_bytes()
    };
    objects.map(boundary).collect()
}

#[inline(never)]
fn operate(
    source: &mut impl Source,
    places: &mut [Place],
    random: &mut Random,
    operations: usize,
) -> Result<u64, Trouble> {
    let mut damaged = 0;
    for _ in 0..operations {
        let index = random.below(places.len());
        match places[index].take() {
            Some((object, size)) => {
                // SAFETY: the object is ours, `size` bytes long, and left alone afterwards.
                unsafe {
                    damaged += u64::from(!is_marked(object, size));
                    source.give(object);
                }
            }
            None => {
                let size = SMALLEST + random.below(LARGEST - SMALLEST + 1);
                let object = source.take(size)?;
                // SAFETY: the source gave `size` bytes.
                unsafe { mark(object, size) };
                places[index] = Some((object, size));
            }
        }
    }
    Ok(damaged)
}

/// # Safety
/// The object is `size` bytes long, at least 1.
unsafe fn mark(object: NonNull<u8>, size: usize) {
    let byte = size as u8 | 1;
    // SAFETY: both bytes are in the object.
    unsafe {
        object.write_volatile(byte);
        object.add(size - 1).write_volatile(byte);
    }
}

/// # Safety
/// The object is `size` bytes long, at least 1.
unsafe fn is_marked(object: NonNull<u8>, size: usize) -> bool {
    let byte = size as u8 | 1;
    // SAFETY: both bytes are in the object.
    unsafe { object.read_volatile() == byte && object.add(size - 1).read_volatile() == byte }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::heap::{Prefault, SLAB};
    use super::*;
    use crate::region::{Advice, page_bytes};

    const LOAD: Load = Load {
        operations: 300_000,
        places: 20_000,
        seed: 42,
    };

    fn heap(prefault: Prefault) -> Heap {
        Heap::new(64, Advice::Small, prefault).unwrap()
    }

    /// Every object is inside the slabs, aligned, and overlaps no other live object.
    #[test]
    fn objects_never_overlap() {
        let mut heap = heap(Prefault::Off);
        let mut random = Random::new(7);
        let mut alive: BTreeMap<usize, (NonNull<u8>, usize)> = BTreeMap::new();
        for _ in 0..20_000 {
            if random.below(5) < 2 && !alive.is_empty() {
                let any = *alive.keys().nth(random.below(alive.len().min(50))).unwrap();
                let (object, _) = alive.remove(&any).unwrap();
                // SAFETY: it came from this heap and is forgotten.
                unsafe { heap.give(object) };
                continue;
            }
            let size = 1 + random.below(LARGEST);
            let object = heap.take(size).unwrap();
            let start = object.as_ptr() as usize;
            assert_eq!(start % 16, 0);
            let slabs = heap.slabs();
            assert!(slabs.start <= start && start + size <= slabs.end);
            let below = alive.range(..=start).next_back();
            assert!(below.is_none_or(|(&at, &(_, size))| at + size <= start));
            let above = alive.range(start..).next();
            assert!(above.is_none_or(|(&at, _)| start + size <= at));
            alive.insert(start, (object, size));
        }
        assert!(alive.len() > 2000, "{}", alive.len());
        heap.end().unwrap();
    }

    #[test]
    fn the_same_seed_takes_the_same_memory_and_damages_none() {
        let run = || {
            let mut heap = heap(Prefault::Off);
            let done = work(&mut heap, &LOAD).unwrap();
            assert_eq!(done.damaged, 0);
            let taken = heap.slabs().bytes();
            heap.end().unwrap();
            (taken, done.usage.faults)
        };
        let first = run();
        assert_eq!(first.0, run().0);
        // Half of 20,000 places with 528 bytes on average, and every class rounds up.
        assert!((3 * SLAB..8 * SLAB).contains(&first.0), "{first:?}");
    }

    /// Small pages: without prefaulting only the used pages fault, with it all pages of all slabs. The faults are
    /// inside the operations in both cases, because slabs are allocated there.
    #[test]
    fn prefaulting_brings_in_whole_slabs() {
        for prefault in [Prefault::Populate, Prefault::Touch] {
            let mut heap = heap(prefault);
            let done = work(&mut heap, &LOAD).unwrap();
            let pages = heap.slabs().bytes() / page_bytes();
            heap.end().unwrap();
            let more = done.usage.faults - pages as u64;
            assert!(
                more < 8,
                "{prefault:?}: {more} more faults than {pages} pages"
            );
        }
        assert!(SLAB.is_multiple_of(huge_bytes()) || huge_bytes().is_multiple_of(SLAB));
    }

    #[test]
    fn malloc_does_the_same_work() {
        let done = work(&mut Malloc, &LOAD).unwrap();
        assert_eq!(done.damaged, 0);
        assert!(done.second_half < done.whole);
    }
}
