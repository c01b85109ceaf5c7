//! Heaps that grow in steps, and their final huge share.
//!
//! The decisive condition is whether the whole range of an aligned huge page is mapped when its first page is touched
//! (`thp_vma_suitable_order`, include/linux/huge_mm.h). A heap that grows in smaller steps and is used at once never
//! meets it, whatever the settings are.

use std::ptr;
use std::time::{Duration, Instant};

use crate::Trouble;
use crate::plant::span::{READ_WRITE, Span};
use crate::region::{Advice, huge_bytes};

pub(crate) mod cell;
pub(crate) mod imitation;
mod malloc;

use imitation::Way;

/// The system call that grows a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrowthCall {
    /// The program break.
    Brk,
    /// Adjacent mappings, which the kernel merges.
    Mmap,
    /// A reservation made accessible step by step, as for glibc's thread arenas.
    Mprotect,
}

/// The alignment of a heap's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On a boundary of the huge-page size.
    Aligned,
    /// In the middle between two boundaries.
    Between,
}

/// When a step is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Before the next step.
    AtOnce,
    /// When the heap has its full size.
    Later,
}

/// One way for a heap to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) means: GrowthCall,
    /// Bytes of a step.
    pub(crate) step: usize,
    pub(crate) start: Start,
    pub(crate) touch: Touch,
}

/// The grown heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grown {
    /// The heap.
    pub(crate) span: Span,
    /// Growing, advising and touching.
    pub(crate) time: Duration,
}

/// Grows a heap to at least `bytes` and leaves it mapped.
///
/// Use this once per process: the program break is not restored.
pub(crate) fn grow(way: Way, bytes: usize, advice: Advice) -> Result<Grown, Trouble> {
    match way {
        Way::Stepped(growth) => grow_stepped(growth, bytes, advice),
        Way::Malloc { object, .. } => malloc::grow(object, bytes),
    }
}

/// Grows in steps, and advises each one.
fn grow_stepped(growth: Growth, bytes: usize, advice: Advice) -> Result<Grown, Trouble> {
    let steps = bytes.div_ceil(growth.step);
    let room = Room::find(growth, steps * growth.step)?;
    let begun = Instant::now();
    for index in 0..steps {
        let step = room.heap.part(index * growth.step, growth.step);
        room.open(step)?;
        match advice {
            Advice::None => {}
            Advice::Huge => step.advise(libc::MADV_HUGEPAGE)?,
            Advice::Small => step.advise(libc::MADV_NOHUGEPAGE)?,
        }
        if growth.touch == Touch::AtOnce {
            step.write();
        }
    }
    if growth.touch == Touch::Later {
        room.heap.write();
    }
    Ok(Grown {
        span: room.heap,
        time: begun.elapsed(),
    })
}

/// The address range for a heap.
struct Room {
    means: GrowthCall,
    heap: Span,
}

impl Room {
    fn find(growth: Growth, bytes: usize) -> Result<Self, Trouble> {
        let offset = match growth.start {
            Start::Aligned => 0,
            Start::Between => huge_bytes() / 2,
        };
        let boundary = match growth.means {
            GrowthCall::Brk => {
                let boundary = (sbrk(0)?).next_multiple_of(huge_bytes());
                sbrk(boundary + offset - sbrk(0)?)?;
                boundary
            }
            GrowthCall::Mmap | GrowthCall::Mprotect => {
                Span::reserve((bytes + offset).div_ceil(huge_bytes()))?.start
            }
        };
        let start = boundary + offset;
        Ok(Self {
            means: growth.means,
            heap: Span {
                start,
                end: start + bytes,
            },
        })
    }

    fn open(&self, step: Span) -> Result<(), Trouble> {
        match self.means {
            GrowthCall::Brk => {
                let at = sbrk(step.bytes())?;
                if at != step.start {
                    let moved = "something else in the process moved the program break";
                    return Err(Trouble::Premise(moved.to_owned()));
                }
                Ok(())
            }
            GrowthCall::Mmap => {
                step.map(READ_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
            }
            GrowthCall::Mprotect => step.protect(READ_WRITE),
        }
    }
}

/// Raises the program break and returns its old position.
fn sbrk(bytes: usize) -> Result<usize, Trouble> {
    let more = libc::intptr_t::try_from(bytes)
        .map_err(|_| Trouble::Usage(format!("{bytes} bytes are more than fit")))?;
    // SAFETY: the break only moves up; libc's own allocator expects that others move it.
    let before = unsafe { libc::sbrk(more) };
    if before == ptr::without_provenance_mut(usize::MAX) {
        return Err(Trouble::last("moving the program break"));
    }
    Ok(before as usize)
}
