//! Choices of `bench memory`: operations, and the kernels of each.

/// One operation on blocks of memory.
#[derive(Debug)]
pub struct Operation {
    /// Its word.
    pub name: &'static str,
    /// Blocks that one thread needs for it.
    pub blocks: u64,
    /// True if it reads a block without writing it; such a block can be untouched.
    pub reads: bool,
    /// Its kernels on x86-64; the first is the default.
    pub x86_64: &'static [&'static str],
    /// Its kernels on arm64; the first is the default.
    pub aarch64: &'static [&'static str],
}

/// The state of the source: written with non-zero bytes, written with zeros, or never written.
pub static SOURCES: &[&str] = &["written", "zeroed", "untouched"];

/// The kernels of `fill` that write zeros; the others write non-zero bytes.
pub static CLEARING: &[&str] = &["rep-zero", "clzero", "zva"];

/// All operations.
#[rustfmt::skip]
pub static OPERATIONS: &[Operation] = &[
    Operation {
        name: "copy", blocks: 2, reads: true,
        x86_64: &["libc", "rep", "sse2", "avx2", "avx512", "nt", "nt-avx2", "nt-avx512"],
        aarch64: &["libc", "neon", "sve", "nt"],
    },
    Operation {
        name: "fill", blocks: 1, reads: false,
        x86_64: &["libc", "rep", "nt", "nt-avx512", "rep-zero", "clzero"],
        aarch64: &["libc", "zva", "nt"],
    },
    Operation {
        name: "read", blocks: 1, reads: true,
        x86_64: &["sse2", "word", "avx2", "avx512"],
        aarch64: &["neon", "word", "sve"],
    },
    Operation {
        name: "write", blocks: 1, reads: false,
        x86_64: &["sse2", "word", "avx2", "avx512"],
        aarch64: &["neon", "word", "sve"],
    },
    Operation {
        name: "rmw", blocks: 1, reads: false,
        x86_64: &["sse2", "word", "avx2", "avx512"],
        aarch64: &["neon", "word"],
    },
    Operation {
        name: "triad", blocks: 3, reads: true,
        x86_64: &["sse2", "avx2", "avx512"],
        aarch64: &["neon"],
    },
];

impl Operation {
    /// Returns its kernels on a machine of `uname -m`; on other machines, only those of the C library.
    #[must_use]
    pub fn kernels(&self, arch: &str) -> &'static [&'static str] {
        match (arch, self.name) {
            ("x86_64", _) => self.x86_64,
            ("aarch64", _) => self.aarch64,
            (_, "copy" | "fill") => &["libc"],
            _ => &[],
        }
    }
}
