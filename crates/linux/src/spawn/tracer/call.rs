//! The system calls at which a tree stops.

use hugewise_experiment::run::trial::Clash;

/// The call that caused a stop, as the data of `SECCOMP_RET_TRACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Call {
    /// mmap(2) of private anonymous memory of at least one huge page.
    Map = 1,
    /// mremap(2) to at least one huge page.
    Remap,
    /// brk(2) that sets the end of the heap.
    Break,
    /// munmap(2) of at least one huge page.
    Unmap,
    /// A call of another ABI: 32-bit or x32.
    Foreign,
    /// The program installs its own seccomp filter.
    Filter,
    /// The program traces another process.
    Trace,
}

impl Call {
    const ALL: [Self; 7] = [
        Self::Map,
        Self::Remap,
        Self::Break,
        Self::Unmap,
        Self::Foreign,
        Self::Filter,
        Self::Trace,
    ];

    /// Returns the call for the message of a stop.
    pub(super) fn of(message: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|&call| call as u64 == message)
    }

    /// Describes the memory that the tracer cannot reach after `program` makes this call with this first argument.
    pub(super) fn beyond(self, program: &str, first_argument: u64) -> Option<String> {
        let clash = match self {
            Self::Foreign => {
                return Some(format!("{program} runs 32-bit code, which is not traced"));
            }
            Self::Filter => Clash::OwnFilter,
            other => other.clash(first_argument)?,
        };
        Some(format!("{program}: {clash}"))
    }

    /// Returns the conflict that the call with this first argument may cause. A filter clashes later, when memory of a
    /// process that has one is to be advised.
    pub(super) fn clash(self, first_argument: u64) -> Option<Clash> {
        let asks = first_argument == u64::from(libc::PTRACE_TRACEME);
        match self {
            Self::Trace if asks => Some(Clash::AsksForTracer),
            Self::Trace => Some(Clash::Traces),
            _ => None,
        }
    }
}
