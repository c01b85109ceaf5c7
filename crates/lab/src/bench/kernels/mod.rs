//! Loops whose every instruction is known: inline assembly, and the C library beside it.
//!
//! A compiler may leave out a loop whose result nobody uses, and may turn one loop into another
//! or into a call. What is measured here is what is written here.
//!
//! To add a loop, add its instructions and a line here, its name to `bench::memory` of the model,
//! and a row to `tests/disassembly.rs`.

use crate::missing::Reason;

#[cfg(target_arch = "aarch64")]
mod arm;
mod ends;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

/// What one pass works on. Every pointer is good for `bytes` bytes, which are a multiple of 8,
/// and the arrays do not overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays {
    /// What is written.
    pub(crate) destination: *mut u8,
    /// What is read.
    pub(crate) source: *const u8,
    /// The second array that a triad reads.
    pub(crate) third: *const u8,
    /// Length of each.
    pub(crate) bytes: usize,
}

/// Goes over the arrays once.
pub(crate) type Pass = unsafe fn(Arrays);

/// What is done with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// `destination = source`.
    Copy,
    /// Every byte of `destination` becomes [`FILL`], or 0 where the instruction knows no other.
    Fill,
    /// `source` is loaded, and nothing is done with it.
    Read,
    /// Every byte of `destination` becomes 0xff by ordinary stores.
    Write,
    /// Every word of `destination` is loaded, grows by 1 and is stored.
    ReadModifyWrite,
    /// `destination = source + 3 · third`, in numbers of double precision.
    Triad,
}

/// What a fill writes.
pub(crate) const FILL: u8 = 0x5a;

impl Operation {
    /// All, by the word of their axis.
    pub(crate) const ALL: [(&'static str, Self); 6] = [
        ("copy", Self::Copy),
        ("fill", Self::Fill),
        ("read", Self::Read),
        ("write", Self::Write),
        ("rmw", Self::ReadModifyWrite),
        ("triad", Self::Triad),
    ];

    /// The operation of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, operation)| *operation)
    }

    /// Whether it writes to `destination`.
    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether it reads `source`.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Copy | Self::Read | Self::Triad)
    }

    /// The bytes that are counted for one of the block.
    pub(crate) fn counted(self) -> usize {
        if self == Self::Triad { 3 } else { 1 }
    }
}

/// One loop: the operation, the word of its axis, whether this processor has its instructions,
/// and the loop.
pub(crate) struct Kernel {
    pub(crate) operation: Operation,
    pub(crate) name: &'static str,
    pub(crate) lacks: fn() -> Option<&'static str>,
    pub(crate) pass: Pass,
}

/// All loops of this architecture.
fn all() -> impl Iterator<Item = &'static Kernel> {
    #[cfg(target_arch = "x86_64")]
    let own = x86::KERNELS;
    #[cfg(target_arch = "aarch64")]
    let own = arm::KERNELS;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let own: &[Kernel] = &[];
    portable::KERNELS.iter().chain(own)
}

/// The loop of that name, or why there is none here.
pub(crate) fn find(operation: Operation, name: &str) -> Result<Pass, Reason> {
    let kernel = all()
        .find(|kernel| kernel.operation == operation && kernel.name == name)
        .ok_or_else(|| {
            let arch = std::env::consts::ARCH;
            Reason::NotSupported(format!("a kernel `{name}` of this operation for {arch}"))
        })?;
    match (kernel.lacks)() {
        None => Ok(kernel.pass),
        Some(what) => Err(Reason::NotSupported(format!("{what} (this processor)"))),
    }
}

/// Nothing is needed that the architecture does not promise.
fn nothing() -> Option<&'static str> {
    None
}
