//! What memory is advised: all of it the same, or each site for itself.

use hugewise_experiment::run::policy::realise::TreeTracer as Advice;
use hugewise_experiment::run::trial::MappedSite;

use super::range::Range;
use super::sites::Sites;
use super::thread::Advised;
use crate::spawn::tracee::Options;

/// How a range came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// By mmap(2), where the kernel found room.
    Mapped,
    /// By mmap(2) at an address of the program's own, such as in memory that it reserved before.
    Placed,
    /// By mremap(2), from a range with this address.
    Moved(u64),
    /// The heap has grown.
    Heap,
    /// The program has it from its file on.
    Data,
}

impl Origin {
    /// Of a mapping with these flags of mmap(2).
    pub(super) fn of_mapping(flags: u64) -> Self {
        match flags & libc::MAP_FIXED as u64 {
            0 => Self::Mapped,
            _ => Self::Placed,
        }
    }
}

/// Who says what is advised.
#[derive(Debug)]
pub(super) enum Advisor {
    /// The same for all memory.
    Same(libc::c_int),
    /// By its site.
    Sites(Box<Sites>),
}

impl Advisor {
    /// Huge pages have `block` bytes. `None` where nothing is traced.
    pub(super) fn new(advice: &Advice, block: u64) -> Option<Self> {
        Some(match advice {
            Advice::None => return None,
            // The same stops and the same call, which changes nothing.
            Advice::Idle => Self::Same(libc::MADV_NORMAL),
            Advice::Huge => Self::Same(libc::MADV_HUGEPAGE),
            Advice::Sites(choice) => Self::Sites(Box::new(Sites::new(choice.clone(), block))),
        })
    }

    /// The advice for a range that a thread of a process has got.
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

    /// What is to be told of a tree: the ends of its processes where their memory is looked at.
    pub(super) fn options(&self) -> Options {
        match self {
            Self::Same(_) => Options::TREE,
            Self::Sites(_) => Options::TREE.and(Options::END),
        }
    }

    /// A process is about to unmap a range.
    pub(super) fn unmaps(&mut self, process: i32, range: Range) {
        if let Self::Sites(sites) = self {
            sites.loses(process, range);
        }
    }

    /// A child begins with the memory of its parent.
    pub(super) fn fork(&mut self, parent: i32, child: i32) {
        if let Self::Sites(sites) = self {
            sites.fork(parent, child);
        }
    }

    /// A process has no memory any more, or that of another program.
    pub(super) fn forget(&mut self, process: i32) {
        if let Self::Sites(sites) = self {
            sites.forget(process);
        }
    }

    /// Reads what the memory of a process has become, which is at its end.
    pub(super) fn look(&mut self, process: i32) {
        if let Self::Sites(sites) = self {
            sites.look(process);
        }
    }

    /// What was mapped at each site.
    pub(super) fn mapped(&self) -> Vec<MappedSite> {
        match self {
            Self::Same(_) => Vec::new(),
            Self::Sites(sites) => sites.mapped(),
        }
    }
}

impl super::TreeTracer {
    /// What is to be told of its tree.
    pub(in crate::spawn) fn options(&self) -> Options {
        self.advice.options()
    }
}
