//! The calls at which a tree stops.

/// Which call stopped, as the data of `SECCOMP_RET_TRACE`.
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
    /// The program installs a seccomp filter of its own.
    Filter,
    /// The program traces another.
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

    /// The call behind the message of a stop.
    pub(super) fn of(message: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|&call| call as u64 == message)
    }

    /// What it keeps from the tracer when `program` makes it.
    pub(super) fn beyond(self, program: &str) -> Option<String> {
        match self {
            Self::Foreign => Some(format!("{program} runs 32-bit code, which is not traced")),
            Self::Filter => Some(format!("{program} filters its own system calls (seccomp)")),
            Self::Trace => Some(format!("{program} traces another process (ptrace)")),
            Self::Map | Self::Remap | Self::Break | Self::Unmap => None,
        }
    }
}
