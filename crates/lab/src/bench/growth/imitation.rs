//! Heaps as known programs grow them.

use super::{Growth, Means, Start, Touch};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// How an imitation grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the laboratory grows heaps.
    Stepped(Growth),
    /// By `malloc` of this process, which is glibc's, in objects of so many bytes, with the
    /// tunables in the environment of the process (`GLIBC_TUNABLES`).
    Malloc {
        /// Bytes of an object.
        object: usize,
        /// Tunables, in the form of the variable.
        tunables: &'static str,
    },
}

/// A program's way to grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Imitation {
    /// The word that names it.
    pub(crate) name: &'static str,
    pub(crate) way: Way,
}

const fn stepped(means: Means, step: usize) -> Way {
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
pub(crate) const IMITATIONS: [Imitation; 7] = [
    // Go before 1.11: `_HeapAllocChunk`, 1 << 20, runtime/malloc.go; contiguous, used at once.
    Imitation {
        name: "go-1.7",
        way: stepped(Means::Mmap, MIB),
    },
    // Go since 1.14: `mheap.grow` asks for whole chunks of `pallocChunkPages`, 512 pages of
    // 8 KiB, out of reserved arenas of 64 MiB, runtime/mheap.go.
    Imitation {
        name: "go",
        way: stepped(Means::Mmap, 4 * MIB),
    },
    // An arena that grows by what is a huge page on most machines.
    Imitation {
        name: "arena-2M",
        way: stepped(Means::Mmap, 2 * MIB),
    },
    // `HEAP_MIN_SIZE` and `grow_heap`, malloc/arena.c: a thread's arena is a reservation, made
    // accessible by as much as the object needs, in pages; here 132 KiB, the first heap's size.
    Imitation {
        name: "glibc-arena",
        way: stepped(Means::Mprotect, 132 * KIB),
    },
    // The main arena, by the program break: an object and `M_TOP_PAD` of 128 KiB at a time.
    Imitation {
        name: "glibc",
        way: malloc(""),
    },
    Imitation {
        name: "glibc-top-pad-64M",
        way: malloc("glibc.malloc.top_pad=67108864"),
    },
    // Since glibc 2.35: advises the heap, and rounds its steps to the huge-page size, where
    // `enabled` is `madvise`.
    Imitation {
        name: "glibc-hugetlb-1",
        way: malloc("glibc.malloc.hugetlb=1"),
    },
];
