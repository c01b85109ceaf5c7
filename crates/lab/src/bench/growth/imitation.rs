//! Heap growth as in known programs.

use super::super::words::Words;
use super::{Growth, GrowthCall, Start, Touch};
use crate::Trouble;
use crate::region::page_bytes;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The growth of an imitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the laboratory grows heaps.
    Stepped(Growth),
    /// Through `malloc` of this process, which is glibc's, in objects of this size, with the tunables in the
    /// environment of the process (`GLIBC_TUNABLES`).
    Malloc {
        /// Bytes of an object.
        object: usize,
        /// Tunables, in the form of the variable.
        tunables: &'static str,
    },
}

impl Way {
    /// The tunables with which its process starts; empty without any.
    pub(crate) fn tunables(self) -> &'static str {
        match self {
            Self::Stepped(_) => "",
            Self::Malloc { tunables, .. } => tunables,
        }
    }
}

/// The growth of the program that the next word names. Steps are rounded up to whole pages, as in the programs.
pub(crate) fn find(words: &mut Words<'_>) -> Result<Way, Trouble> {
    Ok(match words.name(&IMITATIONS)? {
        Way::Stepped(growth) => Way::Stepped(Growth {
            step: growth.step.next_multiple_of(page_bytes()),
            ..growth
        }),
        malloc => malloc,
    })
}

const fn stepped(means: GrowthCall, step: usize) -> Way {
    Way::Stepped(Growth {
        means,
        step,
        start: Start::Aligned,
        touch: Touch::AtOnce,
    })
}

const fn malloc(tunables: &'static str) -> Way {
    Way::Malloc {
        object: 100 * KIB,
        tunables,
    }
}

/// The programs.
pub(crate) const IMITATIONS: [(&str, Way); 7] = [
    // Go before 1.11: `_HeapAllocChunk`, 1 << 20, runtime/malloc.go; contiguous, used at once.
    ("go-1.7", stepped(GrowthCall::Mmap, MIB)),
    // Go since 1.14: `mheap.grow` asks for whole chunks of `pallocChunkPages`, 512 pages of
    // 8 KiB, out of reserved arenas of 64 MiB, runtime/mheap.go.
    ("go", stepped(GrowthCall::Mmap, 4 * MIB)),
    // An arena that grows by the usual size of a huge page.
    ("arena-2m", stepped(GrowthCall::Mmap, 2 * MIB)),
    // `HEAP_MIN_SIZE` and `grow_heap`, malloc/arena.c: a thread's arena is a reservation, made accessible in pages as
    // objects need them; here 132 KiB, the first heap's size.
    ("glibc-arena", stepped(GrowthCall::Mprotect, 132 * KIB)),
    // The main arena, through the program break: an object and `M_TOP_PAD` of 128 KiB at a time.
    ("glibc", malloc("")),
    ("glibc-top-pad-64m", malloc("glibc.malloc.top_pad=67108864")),
    // Since glibc 2.35: advises the heap, and rounds its steps to the huge-page size, if `enabled` is `madvise`.
    ("glibc-hugetlb-1", malloc("glibc.malloc.hugetlb=1")),
];
