//! Loops for x86_64.

use std::arch::asm;
use std::arch::x86_64::__cpuid;

use super::{Arrays, Kernel, Operation, ends, nothing};

mod blocks;

use blocks::{
    copy_avx2, copy_avx512, copy_nt, copy_nt_avx2, copy_nt_avx512, copy_rep, copy_sse2,
    fill_clzero, fill_nt, fill_nt_avx512, fill_rep, fill_rep_zero,
};

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
    Copy "rep" nothing copy_rep;
    Copy "sse2" nothing copy_sse2;
    Copy "avx2" avx2 copy_avx2;
    Copy "avx512" avx512 copy_avx512;
    Copy "nt" nothing copy_nt;
    Copy "nt-avx2" avx2 copy_nt_avx2;
    Copy "nt-avx512" avx512 copy_nt_avx512;
    Fill "rep" nothing fill_rep;
    Fill "rep-zero" nothing fill_rep_zero;
    Fill "clzero" clzero fill_clzero;
    Fill "nt" nothing fill_nt;
    Fill "nt-avx512" avx512 fill_nt_avx512;
    Read "word" nothing read_word;
    Read "sse2" nothing read_sse2;
    Read "avx2" avx2 read_avx2;
    Read "avx512" avx512 read_avx512;
    Write "word" nothing write_word;
    Write "sse2" nothing write_sse2;
    Write "avx2" avx2 write_avx2;
    Write "avx512" avx512 write_avx512;
    ReadModifyWrite "word" nothing modify_word;
    ReadModifyWrite "sse2" nothing modify_sse2;
    ReadModifyWrite "avx2" avx2 modify_avx2;
    ReadModifyWrite "avx512" avx512 modify_avx512;
    Triad "sse2" nothing triad_sse2;
    Triad "avx2" avx2 triad_avx2;
    Triad "avx512" avx512 triad_avx512;
}

/// Detected in the processor and in the operating system, which has to save the registers.
fn avx2() -> Option<&'static str> {
    (!std::arch::is_x86_feature_detected!("avx2")).then_some("AVX2")
}

fn avx512() -> Option<&'static str> {
    (!std::arch::is_x86_feature_detected!("avx512f")).then_some("AVX-512")
}

/// AMD only; the standard library does not detect it (AMD64 manual, volume 3: CPUID 8000_0008).
fn clzero() -> Option<&'static str> {
    const LEAF: u32 = 0x8000_0008;
    let known = __cpuid(0x8000_0000).eax >= LEAF;
    let has = known && __cpuid(LEAF).ebx & 1 != 0;
    (!has).then_some("CLZERO")
}

/// A loop that processes `$step` bytes at a time: `{d}`, `{s}` and `{t}` point to the ends of the arrays, and `{i}`
/// counts from minus their length up to 0. `$rest` handles the bytes before and after whole steps. `$boundary` is the
/// alignment of the destination.
macro_rules! steps {
    (
        $(#[$doc:meta])*
        $name:ident, $step:literal, boundary $boundary:literal, rest $rest:path,
        [$($before:literal),*], [$($each:literal),+], [$($after:literal),*]
    ) => {
        $(#[$doc])*
        pub(super) unsafe fn $name(arrays: Arrays) {
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
                        ".p2align 5",
                        "2:",
                        $($each,)+
                        concat!("add {i}, ", $step),
                        "jnz 2b",
                        $($after,)*
                        d = in(reg) body.destination.wrapping_add(whole),
                        s = in(reg) body.source.wrapping_add(whole),
                        t = in(reg) body.third.wrapping_add(whole),
                        i = inout(reg) whole.wrapping_neg() => _,
                        out("rax") _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        options(nostack)
                    );
                }
                $rest(body.behind(whole));
            }
        }
    };
}

use steps;

steps!(read_word, 64, boundary 1, rest ends::read, [], [
    "mov rax, [{s} + {i}]",
    "mov rax, [{s} + {i} + 8]",
    "mov rax, [{s} + {i} + 16]",
    "mov rax, [{s} + {i} + 24]",
    "mov rax, [{s} + {i} + 32]",
    "mov rax, [{s} + {i} + 40]",
    "mov rax, [{s} + {i} + 48]",
    "mov rax, [{s} + {i} + 56]"
], []);

steps!(read_sse2, 64, boundary 1, rest ends::read, [], [
    "movdqu xmm0, [{s} + {i}]",
    "movdqu xmm1, [{s} + {i} + 16]",
    "movdqu xmm2, [{s} + {i} + 32]",
    "movdqu xmm3, [{s} + {i} + 48]"
], []);

steps!(read_avx2, 128, boundary 1, rest ends::read, [], [
    "vmovdqu ymm0, [{s} + {i}]",
    "vmovdqu ymm1, [{s} + {i} + 32]",
    "vmovdqu ymm2, [{s} + {i} + 64]",
    "vmovdqu ymm3, [{s} + {i} + 96]"
], ["vzeroupper"]);

steps!(read_avx512, 256, boundary 1, rest ends::read, [], [
    "vmovdqu64 zmm0, [{s} + {i}]",
    "vmovdqu64 zmm1, [{s} + {i} + 64]",
    "vmovdqu64 zmm2, [{s} + {i} + 128]",
    "vmovdqu64 zmm3, [{s} + {i} + 192]"
], ["vzeroupper"]);

steps!(write_word, 64, boundary 1, rest ends::write, ["mov rax, -1"], [
    "mov [{d} + {i}], rax",
    "mov [{d} + {i} + 8], rax",
    "mov [{d} + {i} + 16], rax",
    "mov [{d} + {i} + 24], rax",
    "mov [{d} + {i} + 32], rax",
    "mov [{d} + {i} + 40], rax",
    "mov [{d} + {i} + 48], rax",
    "mov [{d} + {i} + 56], rax"
], []);

steps!(write_sse2, 64, boundary 1, rest ends::write, ["pcmpeqd xmm0, xmm0"], [
    "movdqu [{d} + {i}], xmm0",
    "movdqu [{d} + {i} + 16], xmm0",
    "movdqu [{d} + {i} + 32], xmm0",
    "movdqu [{d} + {i} + 48], xmm0"
], []);

steps!(write_avx2, 128, boundary 1, rest ends::write, ["vpcmpeqd ymm0, ymm0, ymm0"], [
    "vmovdqu [{d} + {i}], ymm0",
    "vmovdqu [{d} + {i} + 32], ymm0",
    "vmovdqu [{d} + {i} + 64], ymm0",
    "vmovdqu [{d} + {i} + 96], ymm0"
], ["vzeroupper"]);

steps!(write_avx512, 256, boundary 1, rest ends::write, ["vpternlogd zmm0, zmm0, zmm0, 255"], [
    "vmovdqu64 [{d} + {i}], zmm0",
    "vmovdqu64 [{d} + {i} + 64], zmm0",
    "vmovdqu64 [{d} + {i} + 128], zmm0",
    "vmovdqu64 [{d} + {i} + 192], zmm0"
], ["vzeroupper"]);

steps!(modify_word, 64, boundary 1, rest ends::read_modify_write, [], [
    "add qword ptr [{d} + {i}], 1",
    "add qword ptr [{d} + {i} + 8], 1",
    "add qword ptr [{d} + {i} + 16], 1",
    "add qword ptr [{d} + {i} + 24], 1",
    "add qword ptr [{d} + {i} + 32], 1",
    "add qword ptr [{d} + {i} + 40], 1",
    "add qword ptr [{d} + {i} + 48], 1",
    "add qword ptr [{d} + {i} + 56], 1"
], []);

// Subtracting −1 in every lane adds 1, and −1 needs no memory access.
steps!(modify_sse2, 64, boundary 1, rest ends::read_modify_write, ["pcmpeqd xmm4, xmm4"], [
    "movdqu xmm0, [{d} + {i}]",
    "movdqu xmm1, [{d} + {i} + 16]",
    "movdqu xmm2, [{d} + {i} + 32]",
    "movdqu xmm3, [{d} + {i} + 48]",
    "psubq xmm0, xmm4",
    "psubq xmm1, xmm4",
    "psubq xmm2, xmm4",
    "psubq xmm3, xmm4",
    "movdqu [{d} + {i}], xmm0",
    "movdqu [{d} + {i} + 16], xmm1",
    "movdqu [{d} + {i} + 32], xmm2",
    "movdqu [{d} + {i} + 48], xmm3"
], []);

steps!(modify_avx2, 128, boundary 1, rest ends::read_modify_write, ["vpcmpeqd ymm4, ymm4, ymm4"], [
    "vmovdqu ymm0, [{d} + {i}]",
    "vmovdqu ymm1, [{d} + {i} + 32]",
    "vmovdqu ymm2, [{d} + {i} + 64]",
    "vmovdqu ymm3, [{d} + {i} + 96]",
    "vpsubq ymm0, ymm0, ymm4",
    "vpsubq ymm1, ymm1, ymm4",
    "vpsubq ymm2, ymm2, ymm4",
    "vpsubq ymm3, ymm3, ymm4",
    "vmovdqu [{d} + {i}], ymm0",
    "vmovdqu [{d} + {i} + 32], ymm1",
    "vmovdqu [{d} + {i} + 64], ymm2",
    "vmovdqu [{d} + {i} + 96], ymm3"
], ["vzeroupper"]);

steps!(modify_avx512, 256, boundary 1, rest ends::read_modify_write, [
    "vpternlogd zmm4, zmm4, zmm4, 255"
], [
    "vmovdqu64 zmm0, [{d} + {i}]",
    "vmovdqu64 zmm1, [{d} + {i} + 64]",
    "vmovdqu64 zmm2, [{d} + {i} + 128]",
    "vmovdqu64 zmm3, [{d} + {i} + 192]",
    "vpsubq zmm0, zmm0, zmm4",
    "vpsubq zmm1, zmm1, zmm4",
    "vpsubq zmm2, zmm2, zmm4",
    "vpsubq zmm3, zmm3, zmm4",
    "vmovdqu64 [{d} + {i}], zmm0",
    "vmovdqu64 [{d} + {i} + 64], zmm1",
    "vmovdqu64 [{d} + {i} + 128], zmm2",
    "vmovdqu64 [{d} + {i} + 192], zmm3"
], ["vzeroupper"]);

// 0x4008000000000000 is 3.0. Product and sum are rounded separately, as in every other kernel: a fused operation would
// give different numbers.
steps!(triad_sse2, 64, boundary 1, rest ends::triad, [
    "mov rax, 0x4008000000000000",
    "movq xmm4, rax",
    "unpcklpd xmm4, xmm4"
], [
    "movupd xmm0, [{t} + {i}]",
    "movupd xmm1, [{t} + {i} + 16]",
    "movupd xmm2, [{t} + {i} + 32]",
    "movupd xmm3, [{t} + {i} + 48]",
    "mulpd xmm0, xmm4",
    "mulpd xmm1, xmm4",
    "mulpd xmm2, xmm4",
    "mulpd xmm3, xmm4",
    "movupd xmm5, [{s} + {i}]",
    "movupd xmm6, [{s} + {i} + 16]",
    "addpd xmm0, xmm5",
    "addpd xmm1, xmm6",
    "movupd xmm5, [{s} + {i} + 32]",
    "movupd xmm6, [{s} + {i} + 48]",
    "addpd xmm2, xmm5",
    "addpd xmm3, xmm6",
    "movupd [{d} + {i}], xmm0",
    "movupd [{d} + {i} + 16], xmm1",
    "movupd [{d} + {i} + 32], xmm2",
    "movupd [{d} + {i} + 48], xmm3"
], []);

steps!(triad_avx2, 128, boundary 1, rest ends::triad, [
    "mov rax, 0x4008000000000000",
    "vmovq xmm4, rax",
    "vbroadcastsd ymm4, xmm4"
], [
    "vmulpd ymm0, ymm4, [{t} + {i}]",
    "vmulpd ymm1, ymm4, [{t} + {i} + 32]",
    "vmulpd ymm2, ymm4, [{t} + {i} + 64]",
    "vmulpd ymm3, ymm4, [{t} + {i} + 96]",
    "vaddpd ymm0, ymm0, [{s} + {i}]",
    "vaddpd ymm1, ymm1, [{s} + {i} + 32]",
    "vaddpd ymm2, ymm2, [{s} + {i} + 64]",
    "vaddpd ymm3, ymm3, [{s} + {i} + 96]",
    "vmovupd [{d} + {i}], ymm0",
    "vmovupd [{d} + {i} + 32], ymm1",
    "vmovupd [{d} + {i} + 64], ymm2",
    "vmovupd [{d} + {i} + 96], ymm3"
], ["vzeroupper"]);

steps!(triad_avx512, 256, boundary 1, rest ends::triad, [
    "mov rax, 0x4008000000000000",
    "vpbroadcastq zmm4, rax"
], [
    "vmulpd zmm0, zmm4, [{t} + {i}]",
    "vmulpd zmm1, zmm4, [{t} + {i} + 64]",
    "vmulpd zmm2, zmm4, [{t} + {i} + 128]",
    "vmulpd zmm3, zmm4, [{t} + {i} + 192]",
    "vaddpd zmm0, zmm0, [{s} + {i}]",
    "vaddpd zmm1, zmm1, [{s} + {i} + 64]",
    "vaddpd zmm2, zmm2, [{s} + {i} + 128]",
    "vaddpd zmm3, zmm3, [{s} + {i} + 192]",
    "vmovupd [{d} + {i}], zmm0",
    "vmovupd [{d} + {i} + 64], zmm1",
    "vmovupd [{d} + {i} + 128], zmm2",
    "vmovupd [{d} + {i} + 192], zmm3"
], ["vzeroupper"]);
