//! Loops for aarch64. NEON is part of the architecture; SVE and the block size of `dc zva` are detected.

use std::arch::asm;

use super::{Arrays, Kernel, Operation, ends, nothing};

/// Lists kernels: operation, name, requirement, loop.
macro_rules! kernels {
    ($($operation:ident $name:literal $lacks:ident $pass:ident;)+) => {
        pub(super) static KERNELS: &[Kernel] = &[$(Kernel {
            operation: Operation::$operation,
            name: $name,
            lacks: $lacks,
            pass: $pass,
        }),+];
    };
}

kernels! {
    Copy "neon" nothing copy_neon;
    Copy "sve" sve copy_sve;
    Copy "nt" nothing copy_nt;
    Fill "zva" zva fill_zva;
    Fill "nt" nothing fill_nt;
    Read "word" nothing read_word;
    Read "neon" nothing read_neon;
    Read "sve" sve read_sve;
    Write "word" nothing write_word;
    Write "neon" nothing write_neon;
    Write "sve" sve write_sve;
    ReadModifyWrite "word" nothing modify_word;
    ReadModifyWrite "neon" nothing modify_neon;
    Triad "neon" nothing triad_neon;
}

fn sve() -> Option<&'static str> {
    (!std::arch::is_aarch64_feature_detected!("sve")).then_some("SVE")
}

/// Checks that `dc zva` is allowed (DCZID_EL0.DZP) and clears 64 bytes, as the loop expects.
fn zva() -> Option<&'static str> {
    let id: u64;
    // SAFETY: reads a register that every program may read.
    unsafe { asm!("mrs {id}, dczid_el0", id = out(reg) id, options(nomem, nostack)) };
    (id != 4).then_some("`dc zva` of 64 bytes")
}

/// A loop that processes `$step` bytes at a time and advances `{d}`, `{s}` and `{t}`, until `{n}` bytes are done.
/// `$rest` handles the bytes before and after whole steps. `$boundary` is the alignment of the destination.
macro_rules! steps {
    (
        $(#[$doc:meta])*
        $name:ident, $step:literal, boundary $boundary:literal, rest $rest:path,
        [$($before:literal),*], [$($each:literal),+]
    ) => {
        $(#[$doc])*
        unsafe fn $name(arrays: Arrays) {
            let head = arrays.before_boundary($boundary);
            let body = arrays.behind(head);
            let whole = body.bytes / $step * $step;
            // SAFETY: head, steps and tail together are the caller's arrays. The loop touches
            // `whole` bytes of them and the registers that it names.
            unsafe {
                $rest(arrays.first(head));
                if whole > 0 {
                    asm!(
                        // Not every loop uses every array.
                        "/* {d} {s} {t} */",
                        $($before,)*
                        "2:",
                        $($each,)+
                        concat!("subs {n}, {n}, #", $step),
                        "b.ne 2b",
                        d = inout(reg) body.destination => _,
                        s = inout(reg) body.source => _,
                        t = inout(reg) body.third => _,
                        n = inout(reg) whole => _,
                        out("x9") _, out("x10") _,
                        out("v0") _, out("v1") _, out("v2") _, out("v3") _,
                        out("v4") _, out("v5") _, out("v6") _, out("v7") _,
                        options(nostack)
                    );
                }
                $rest(body.behind(whole));
            }
        }
    };
}

steps!(copy_neon, 64, boundary 1, rest ends::copy, [], [
    "ldp q0, q1, [{s}]",
    "ldp q2, q3, [{s}, #32]",
    "add {s}, {s}, #64",
    "stp q0, q1, [{d}]",
    "stp q2, q3, [{d}, #32]",
    "add {d}, {d}, #64"
]);

steps!(
    /// Loads and stores with the hint that the lines are not used again.
    copy_nt, 64, boundary 64, rest ends::copy, [], [
    "ldnp q0, q1, [{s}]",
    "ldnp q2, q3, [{s}, #32]",
    "add {s}, {s}, #64",
    "stnp q0, q1, [{d}]",
    "stnp q2, q3, [{d}, #32]",
    "add {d}, {d}, #64"
]);

steps!(fill_nt, 64, boundary 64, rest ends::fill, ["movi v0.16b, #0x5a"], [
    "stnp q0, q0, [{d}]",
    "stnp q0, q0, [{d}, #32]",
    "add {d}, {d}, #64"
]);

steps!(
    /// Clears a line without loading it. The instruction can only write 0.
    fill_zva, 64, boundary 64, rest ends::clear, [], [
    "dc zva, {d}",
    "add {d}, {d}, #64"
]);

steps!(read_word, 64, boundary 1, rest ends::read, [], [
    "ldp x9, x10, [{s}]",
    "ldp x9, x10, [{s}, #16]",
    "ldp x9, x10, [{s}, #32]",
    "ldp x9, x10, [{s}, #48]",
    "add {s}, {s}, #64"
]);

steps!(read_neon, 64, boundary 1, rest ends::read, [], [
    "ldp q0, q1, [{s}]",
    "ldp q2, q3, [{s}, #32]",
    "add {s}, {s}, #64"
]);

steps!(write_word, 64, boundary 1, rest ends::write, ["mov x9, #-1"], [
    "stp x9, x9, [{d}]",
    "stp x9, x9, [{d}, #16]",
    "stp x9, x9, [{d}, #32]",
    "stp x9, x9, [{d}, #48]",
    "add {d}, {d}, #64"
]);

steps!(write_neon, 64, boundary 1, rest ends::write, ["movi v0.16b, #0xff"], [
    "stp q0, q0, [{d}]",
    "stp q0, q0, [{d}, #32]",
    "add {d}, {d}, #64"
]);

steps!(modify_word, 16, boundary 1, rest ends::read_modify_write, [], [
    "ldp x9, x10, [{d}]",
    "add x9, x9, #1",
    "add x10, x10, #1",
    "stp x9, x10, [{d}]",
    "add {d}, {d}, #16"
]);

// Subtracting −1 in every lane adds 1.
steps!(modify_neon, 64, boundary 1, rest ends::read_modify_write, ["movi v4.16b, #0xff"], [
    "ldp q0, q1, [{d}]",
    "ldp q2, q3, [{d}, #32]",
    "sub v0.2d, v0.2d, v4.2d",
    "sub v1.2d, v1.2d, v4.2d",
    "sub v2.2d, v2.2d, v4.2d",
    "sub v3.2d, v3.2d, v4.2d",
    "stp q0, q1, [{d}]",
    "stp q2, q3, [{d}, #32]",
    "add {d}, {d}, #64"
]);

// Product and sum are rounded separately, as in every other kernel.
steps!(triad_neon, 32, boundary 1, rest ends::triad, ["fmov v4.2d, #3.0"], [
    "ldp q0, q1, [{t}]",
    "ldp q2, q3, [{s}]",
    "fmul v0.2d, v0.2d, v4.2d",
    "fmul v1.2d, v1.2d, v4.2d",
    "fadd v0.2d, v0.2d, v2.2d",
    "fadd v1.2d, v1.2d, v3.2d",
    "stp q0, q1, [{d}]",
    "add {t}, {t}, #32",
    "add {s}, {s}, #32",
    "add {d}, {d}, #32"
]);

/// A loop over vectors of this processor's length; the last one is masked, so no bytes are left at the end.
macro_rules! scalable {
    ($name:ident, [$($before:literal),*], [$($each:literal),+]) => {
        unsafe fn $name(arrays: Arrays) {
            // SAFETY: the mask keeps the loop within the caller's arrays; the registers are named, the vectors by the
            // part that Rust knows of.
            unsafe {
                asm!(
                    ".arch_extension sve",
                    "/* {d} {s} */",
                    $($before,)*
                    "mov {i}, #0",
                    "whilelo p0.b, {i}, {n}",
                    "2:",
                    $($each,)+
                    "incb {i}",
                    "whilelo p0.b, {i}, {n}",
                    "b.first 2b",
                    d = in(reg) arrays.destination,
                    s = in(reg) arrays.source,
                    n = in(reg) arrays.bytes,
                    i = out(reg) _,
                    out("v0") _, out("p0") _,
                    options(nostack)
                );
            }
        }
    };
}

scalable!(
    copy_sve,
    [],
    [
        "ld1b {{z0.b}}, p0/z, [{s}, {i}]",
        "st1b {{z0.b}}, p0, [{d}, {i}]"
    ]
);
scalable!(read_sve, [], ["ld1b {{z0.b}}, p0/z, [{s}, {i}]"]);
scalable!(
    write_sve,
    ["mov z0.b, #-1"],
    ["st1b {{z0.b}}, p0, [{d}, {i}]"]
);
