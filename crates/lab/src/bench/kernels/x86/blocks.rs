//! Copies and fills.

use std::arch::asm;

use super::super::{Arrays, FILL, ends};
use super::steps;

/// `rep movsb`: the processor's built-in copy.
pub(super) unsafe fn copy_rep(arrays: Arrays) {
    // SAFETY: the caller's arrays are good for their length; the direction flag is clear by the
    // rules of inline assembly.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") arrays.bytes => _,
            inout("rdi") arrays.destination => _,
            inout("rsi") arrays.source => _,
            options(nostack, preserves_flags)
        );
    }
}

/// `rep stosb`: the processor's built-in fill.
pub(super) unsafe fn fill_rep(arrays: Arrays) {
    // SAFETY: the caller's promise.
    unsafe { rep_stosb(arrays, FILL) };
}

/// The same with zeros, as the kernel clears pages: some processors then do not read the line first.
pub(super) unsafe fn fill_rep_zero(arrays: Arrays) {
    // SAFETY: the caller's promise.
    unsafe { rep_stosb(arrays, 0) };
}

#[inline(always)]
unsafe fn rep_stosb(arrays: Arrays, content: u8) {
    // SAFETY: as for the copy.
    unsafe {
        asm!(
            "rep stosb",
            inout("rcx") arrays.bytes => _,
            inout("rdi") arrays.destination => _,
            in("al") content,
            options(nostack, preserves_flags)
        );
    }
}

steps!(copy_sse2, 64, boundary 1, rest ends::copy, [], [
    "movdqu xmm0, [{s} + {i}]",
    "movdqu xmm1, [{s} + {i} + 16]",
    "movdqu xmm2, [{s} + {i} + 32]",
    "movdqu xmm3, [{s} + {i} + 48]",
    "movdqu [{d} + {i}], xmm0",
    "movdqu [{d} + {i} + 16], xmm1",
    "movdqu [{d} + {i} + 32], xmm2",
    "movdqu [{d} + {i} + 48], xmm3"
], []);

steps!(copy_avx2, 128, boundary 1, rest ends::copy, [], [
    "vmovdqu ymm0, [{s} + {i}]",
    "vmovdqu ymm1, [{s} + {i} + 32]",
    "vmovdqu ymm2, [{s} + {i} + 64]",
    "vmovdqu ymm3, [{s} + {i} + 96]",
    "vmovdqu [{d} + {i}], ymm0",
    "vmovdqu [{d} + {i} + 32], ymm1",
    "vmovdqu [{d} + {i} + 64], ymm2",
    "vmovdqu [{d} + {i} + 96], ymm3"
], ["vzeroupper"]);

steps!(copy_avx512, 256, boundary 1, rest ends::copy, [], [
    "vmovdqu64 zmm0, [{s} + {i}]",
    "vmovdqu64 zmm1, [{s} + {i} + 64]",
    "vmovdqu64 zmm2, [{s} + {i} + 128]",
    "vmovdqu64 zmm3, [{s} + {i} + 192]",
    "vmovdqu64 [{d} + {i}], zmm0",
    "vmovdqu64 [{d} + {i} + 64], zmm1",
    "vmovdqu64 [{d} + {i} + 128], zmm2",
    "vmovdqu64 [{d} + {i} + 192], zmm3"
], ["vzeroupper"]);

steps!(
    /// Stores that bypass the caches, a whole line at a time.
    copy_nt, 64, boundary 64, rest ends::copy, [], [
    "prefetchnta [{s} + {i} + 512]",
    "movdqu xmm0, [{s} + {i}]",
    "movdqu xmm1, [{s} + {i} + 16]",
    "movdqu xmm2, [{s} + {i} + 32]",
    "movdqu xmm3, [{s} + {i} + 48]",
    "movntdq [{d} + {i}], xmm0",
    "movntdq [{d} + {i} + 16], xmm1",
    "movntdq [{d} + {i} + 32], xmm2",
    "movntdq [{d} + {i} + 48], xmm3"
], ["sfence"]);

steps!(copy_nt_avx2, 128, boundary 64, rest ends::copy, [], [
    "prefetchnta [{s} + {i} + 1024]",
    "prefetchnta [{s} + {i} + 1088]",
    "vmovdqu ymm0, [{s} + {i}]",
    "vmovdqu ymm1, [{s} + {i} + 32]",
    "vmovdqu ymm2, [{s} + {i} + 64]",
    "vmovdqu ymm3, [{s} + {i} + 96]",
    "vmovntdq [{d} + {i}], ymm0",
    "vmovntdq [{d} + {i} + 32], ymm1",
    "vmovntdq [{d} + {i} + 64], ymm2",
    "vmovntdq [{d} + {i} + 96], ymm3"
], ["sfence", "vzeroupper"]);

steps!(copy_nt_avx512, 256, boundary 64, rest ends::copy, [], [
    "prefetchnta [{s} + {i} + 2048]",
    "prefetchnta [{s} + {i} + 2112]",
    "prefetchnta [{s} + {i} + 2176]",
    "prefetchnta [{s} + {i} + 2240]",
    "vmovdqu64 zmm0, [{s} + {i}]",
    "vmovdqu64 zmm1, [{s} + {i} + 64]",
    "vmovdqu64 zmm2, [{s} + {i} + 128]",
    "vmovdqu64 zmm3, [{s} + {i} + 192]",
    "vmovntdq [{d} + {i}], zmm0",
    "vmovntdq [{d} + {i} + 64], zmm1",
    "vmovntdq [{d} + {i} + 128], zmm2",
    "vmovntdq [{d} + {i} + 192], zmm3"
], ["sfence", "vzeroupper"]);

steps!(fill_nt, 64, boundary 64, rest ends::fill, [
    "mov eax, 0x5a5a5a5a",
    "movd xmm0, eax",
    "pshufd xmm0, xmm0, 0"
], [
    "movntdq [{d} + {i}], xmm0",
    "movntdq [{d} + {i} + 16], xmm0",
    "movntdq [{d} + {i} + 32], xmm0",
    "movntdq [{d} + {i} + 48], xmm0"
], ["sfence"]);

steps!(fill_nt_avx512, 256, boundary 64, rest ends::fill, [
    "mov eax, 0x5a5a5a5a",
    "vpbroadcastd zmm0, eax"
], [
    "vmovntdq [{d} + {i}], zmm0",
    "vmovntdq [{d} + {i} + 64], zmm0",
    "vmovntdq [{d} + {i} + 128], zmm0",
    "vmovntdq [{d} + {i} + 192], zmm0"
], ["sfence", "vzeroupper"]);

steps!(
    /// AMD only: clears a line without loading it. The instruction can only write 0.
    fill_clzero, 64, boundary 64, rest ends::clear, [], [
    "lea rax, [{d} + {i}]",
    "clzero"
], ["sfence"]);
