//! What memory is advised: all of it the same, or each site for itself.

use hugewise_model::run::policy::realise::Tracer as Advice;
use hugewise_model::run::trial::MappedSite;

use super::range::Range;
use super::sites::Sites;

/// How a range came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// By mmap(2).
    Mapped,
    /// By mremap(2), from a range with this address.
    Moved(u64),
    /// The heap has grown.
    Heap,
    /// The program has it from its file on.
    Data,
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
    /// `None` where nothing is traced.
    pub(super) fn new(advice: &Advice) -> Option<Self> {
        Some(match advice {
            Advice::None => return None,
            // The same stops and the same call, which changes nothing.
            Advice::Idle => Self::Same(libc::MADV_NORMAL),
            Advice::Huge => Self::Same(libc::MADV_HUGEPAGE),
            Advice::Sites(choice) => Self::Sites(Box::new(Sites::new(choice.clone()))),
        })
    }

    /// The advice for a range that a thread of a process has got.
    pub(super) fn of(
        &mut self,
        (thread, process): (i32, i32),
        origin: Origin,
        range: Range,
    ) -> libc::c_int {
        match self {
            Self::Same(advice) => *advice,
            Self::Sites(sites) => match sites.has_got((thread, process), origin, range) {
                true => libc::MADV_HUGEPAGE,
                false => libc::MADV_NOHUGEPAGE,
            },
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
            Self::Sites(sites) => sites.mapped().to_vec(),
        }
    }
}
