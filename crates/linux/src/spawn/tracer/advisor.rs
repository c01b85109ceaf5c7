//! Selects the advice for memory: the same for all of it, or by site.

use hugewise_experiment::run::policy::realise::TreeTracer as Advice;
use hugewise_experiment::run::trial::MappedSite;

use super::range::Range;
use super::sites::Sites;
use super::thread::Advised;
use crate::spawn::tracee::Options;

/// The origin of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// mmap(2) at an address chosen by the kernel.
    Mapped,
    /// mmap(2) at an address chosen by the program, such as in memory that it reserved before.
    Placed,
    /// mremap(2) from a range at this address.
    Moved(u64),
    /// Growth of the heap.
    Heap,
    /// A data segment of the program's file.
    Data,
}

impl Origin {
    /// Returns the origin of a mapping with these flags of mmap(2).
    pub(super) fn of_mapping(flags: u64) -> Self {
        match flags & libc::MAP_FIXED as u64 {
            0 => Self::Mapped,
            _ => Self::Placed,
        }
    }
}

/// Selects the advice.
#[derive(Debug)]
pub(super) enum Advisor {
    /// The same advice for all memory.
    Same(libc::c_int),
    /// Advice by site.
    Sites(Box<Sites>),
}

impl Advisor {
    /// `block` is the size of huge pages in bytes. `None` if nothing is traced.
    pub(super) fn new(advice: &Advice, block: u64) -> Option<Self> {
        Some(match advice {
            Advice::None => return None,
            // The same stops and the same call, but without effect.
            Advice::Idle => Self::Same(libc::MADV_NORMAL),
            Advice::Huge => Self::Same(libc::MADV_HUGEPAGE),
            Advice::Sites(choice) => Self::Sites(Box::new(Sites::new(choice.clone(), block))),
        })
    }

    /// Returns the advice for a new range of a thread of a process.
    pub(super) fn of(
        &mut self,
        (thread, process): (i32, i32),
        origin: Origin,
        range: Range,
    ) -> Vec<Advised> {
        let advised = |(range, is_huge): (Range, bool)| Advised {
            range,
            advice: match is_huge {
                true => libc::MADV_HUGEPAGE,
                false => libc::MADV_NOHUGEPAGE,
            },
        };
        match self {
            &mut Self::Same(advice) => vec![Advised { range, advice }],
            Self::Sites(sites) => {
                let parts = sites.has_got((thread, process), origin, range);
                parts.into_iter().map(advised).collect()
            }
        }
    }

    /// Returns the events to trace: including the ends of processes if their memory is read.
    pub(super) fn options(&self) -> Options {
        match self {
            Self::Same(_) => Options::TREE,
            Self::Sites(_) => Options::TREE.and(Options::END),
        }
    }

    /// Records that a process will unmap a range.
    pub(super) fn unmaps(&mut self, process: i32, range: Range) {
        if let Self::Sites(sites) = self {
            sites.loses(process, range);
        }
    }

    /// Records that a child starts with the memory of its parent.
    pub(super) fn fork(&mut self, parent: i32, child: i32) {
        if let Self::Sites(sites) = self {
            sites.fork(parent, child);
        }
    }

    /// Records that a process has lost its memory, or has executed another program.
    pub(super) fn forget(&mut self, process: i32) {
        if let Self::Sites(sites) = self {
            sites.forget(process);
        }
    }

    /// Reads the resulting memory of a process at its end.
    pub(super) fn look(&mut self, process: i32) {
        if let Self::Sites(sites) = self {
            sites.look(process);
        }
    }

    /// Returns the memory mapped at each site.
    pub(super) fn mapped(&self) -> Vec<MappedSite> {
        match self {
            Self::Same(_) => Vec::new(),
            Self::Sites(sites) => sites.mapped(),
        }
    }
}

impl super::TreeTracer {
    /// Returns the events to trace in the tree.
    pub(in crate::spawn) fn options(&self) -> Options {
        self.advice.options()
    }
}
