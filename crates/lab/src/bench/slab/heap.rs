//! A typical slab allocator: slabs of the huge-page size, divided into runs of 64 KiB, each for objects of one size,
//! with free lists inside the free objects.

use std::ptr::{self, NonNull};

use crate::Trouble;
use crate::plant::span::{READ_WRITE, Span};
use crate::region::Advice;

/// Sizes are rounded up to a multiple of this, the alignment of `malloc`.
const GRAIN: usize = 16;
/// The largest supported size.
pub(crate) const LARGEST: usize = 1040;
/// Runs begin on multiples of this; the head of an object's run is found by masking.
const RUN: usize = 64 << 10;
/// Bytes of a slab. This is fixed even if the huge page is larger, because the program does not check.
pub(crate) const SLAB: usize = 2 << 20;
const CLASSES: usize = LARGEST / GRAIN;

/// How a slab is prefaulted when it is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefault {
    /// Not at all: each page at its first use.
    Off,
    /// `MADV_POPULATE_WRITE` (Linux 5.14).
    Populate,
    /// A store to every page.
    Touch,
}

/// The head of a run, in its first bytes.
struct Run {
    /// Freed objects, linked through their first word.
    free: *mut Object,
    /// Offset of the first byte that no object has used yet.
    fresh: usize,
    /// Bytes of an object.
    size: usize,
    /// The next run of its class with free space.
    next: *mut Self,
    /// True if it is in that list.
    listed: bool,
}

struct Object {
    next: *mut Self,
}

/// The heap. One thread uses it.
pub(crate) struct Heap {
    /// Runs with free space, by class.
    roomy: [*mut Run; CLASSES],
    /// Address space for slabs, all of it reserved at the start.
    space: Span,
    /// Bytes of `space` given to slabs.
    taken: usize,
    /// Bytes of the last slab given to runs.
    cut: usize,
    advice: Advice,
    prefault: Prefault,
}

impl Heap {
    /// A heap with address space for this many huge pages, untouched.
    pub(crate) fn new(
        huge_pages: usize,
        advice: Advice,
        prefault: Prefault,
    ) -> Result<Self, Trouble> {
        Ok(Self {
            roomy: [ptr::null_mut(); CLASSES],
            space: Span::reserve(huge_pages)?,
            taken: 0,
            cut: SLAB,
            advice,
            prefault,
        })
    }

    /// The address range of the slabs.
    pub(crate) fn slabs(&self) -> Span {
        self.space.part(0, self.taken)
    }

    /// Memory of at least `size` bytes, 1 to [`LARGEST`].
    ///
    /// # Errors
    /// The space is used up, or the kernel refuses more memory.
    #[inline]
    pub(crate) fn take(&mut self, size: usize) -> Result<NonNull<u8>, Trouble> {
        let class = (size - 1) / GRAIN;
        let mut run = self.roomy[class];
        if run.is_null() {
            run = self.new_run(class)?;
        }
        // SAFETY: runs in the list are heads that `new_run` wrote, and their memory is never
        // given back while the heap lives.
        let run = unsafe { &mut *run };
        let object = run.object();
        if !run.has_room() {
            self.roomy[class] = run.next;
            run.listed = false;
        }
        Ok(object)
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// It came from [`Heap::take`] of this heap and is not used again.
    #[inline]
    pub(crate) unsafe fn give(&mut self, object: NonNull<u8>) {
        let object = object.as_ptr().cast::<Object>();
        let head = object
            .map_addr(|address| address & !(RUN - 1))
            .cast::<Run>();
        // SAFETY: every object is in a run, whose head is at the multiple below it.
        let run = unsafe { &mut *head };
        // SAFETY: the object is free, aligned and at least as long as a pointer.
        unsafe { (*object).next = run.free };
        run.free = object;
        if !run.listed {
            let class = run.size / GRAIN - 1;
            run.next = self.roomy[class];
            run.listed = true;
            self.roomy[class] = head;
        }
    }

    #[cold]
    fn new_run(&mut self, class: usize) -> Result<*mut Run, Trouble> {
        if self.cut == SLAB {
            self.new_slab()?;
        }
        let place = self.space.part(self.taken - SLAB + self.cut, RUN).pointer();
        self.cut += RUN;
        let run = place.cast::<Run>();
        let size = (class + 1) * GRAIN;
        let head = Run {
            free: ptr::null_mut(),
            fresh: size_of::<Run>().next_multiple_of(GRAIN),
            size,
            next: ptr::null_mut(),
            listed: true,
        };
        // SAFETY: the run is in a slab of ours that is mapped, and nothing else uses it.
        unsafe { run.write(head) };
        self.roomy[class] = run;
        Ok(run)
    }

    fn new_slab(&mut self) -> Result<(), Trouble> {
        if self.taken + SLAB > self.space.bytes() {
            let full = std::io::ErrorKind::OutOfMemory.into();
            return Err(Trouble::Kernel("taking a slab", full));
        }
        let slab = self.space.part(self.taken, SLAB);
        slab.protect(READ_WRITE)?;
        match self.advice {
            Advice::None => {}
            Advice::Huge => slab.advise(libc::MADV_HUGEPAGE)?,
            Advice::Small => slab.advise(libc::MADV_NOHUGEPAGE)?,
        }
        match self.prefault {
            Prefault::Off => {}
            Prefault::Populate => slab.advise(libc::MADV_POPULATE_WRITE)?,
            Prefault::Touch => slab.write(),
        }
        self.taken += SLAB;
        self.cut = 0;
        Ok(())
    }

    /// Unmaps all memory; no object is used again.
    pub(crate) fn end(self) -> Result<(), Trouble> {
        self.space.unmap()
    }
}

impl Run {
    fn has_room(&self) -> bool {
        !self.free.is_null() || self.fresh + self.size <= RUN
    }

    /// The most recently freed object, or else a fresh one; the run has free space.
    fn object(&mut self) -> NonNull<u8> {
        let object = if self.free.is_null() {
            let offset = self.fresh;
            self.fresh += self.size;
            ptr::from_mut(self).cast::<u8>().wrapping_add(offset)
        } else {
            let object = self.free;
            // SAFETY: objects in the list are free and hold a link.
            self.free = unsafe { (*object).next };
            object.cast()
        };
        // SAFETY: it is in the run, which is not at address 0.
        unsafe { NonNull::new_unchecked(object) }
    }
}
