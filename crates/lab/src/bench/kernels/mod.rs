//! Loops of known instructions: inline assembly, and calls of the C library for comparison.
//!
//! A compiler can remove a loop with an unused result, and can turn a loop into another or into a call. Inline assembly
//! is executed exactly as written.
//!
//! To add a loop, add its instructions and a line here, its name to `bench::memory` of the model, and a row to
//! `tests/disassembly.rs`.

use crate::missing::Reason;

#[cfg(target_arch = "aarch64")]
mod arm;
mod ends;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

/// The arrays of one pass. Every pointer is valid for `bytes` bytes, a multiple of 8, and the arrays do not overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays {
    /// The array to write.
    pub(crate) destination: *mut u8,
    /// The array to read.
    pub(crate) source: *const u8,
    /// The second array that a triad reads.
    pub(crate) third: *const u8,
    /// Length of each.
    pub(crate) bytes: usize,
}

/// Processes the arrays once.
pub(crate) type Pass = unsafe fn(Arrays);

/// The operation on the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// `destination = source`.
    Copy,
    /// Every byte of `destination` becomes [`FILL`], or 0 if the instruction can only write that.
    Fill,
    /// `source` is loaded and discarded.
    Read,
    /// Every byte of `destination` becomes 0xff by ordinary stores.
    Write,
    /// Every word of `destination` is loaded, grows by 1 and is stored.
    ReadModifyWrite,
    /// `destination = source + 3 · third`, in numbers of double precision.
    Triad,
}

/// The value of a fill.
pub(crate) const FILL: u8 = 0x5a;

impl Operation {
    /// All operations, by the word of their axis.
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

    /// Returns true if it writes to `destination`.
    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }

    /// Returns true if it reads `source`.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Copy | Self::Read | Self::Triad)
    }

    /// The bytes counted for each byte of the block.
    pub(crate) fn counted(self) -> usize {
        if self == Self::Triad { 3 } else { 1 }
    }
}

/// One loop: the operation, the word of its axis, the check for its instructions, and the loop.
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

/// The loop of that name, or why this machine does not have it.
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

/// The check for loops that need only the base architecture.
fn nothing() -> Option<&'static str> {
    None
}
