//! Reasons of a single kind each, and none.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const REST: &[Row] = &[
    (
        Code::ReadonlyAnon,
        "Anonymous memory that cannot be written is not collapsed.",
        "up to 6.17",
        "No `w` in the permissions, and khugepaged's trace event knows `no_writable_page` (root).",
        "mprotect to read and write, collapse, mprotect back.",
        "SCAN_PAGE_RO in mm/khugepaged.c",
    ),
    (
        Code::LseReadFirst,
        "On Arm an atomic instruction that meets an unmapped page raises a read fault first: the \
         kernel maps zeros, and the write that follows finds a page table. Programs that touch \
         memory ahead with an atomic add of 0 lose huge pages so.",
        "arm64; huge pages from 5.8 to 6.12, smaller folios always",
        "As HUGE_ZERO and ZERO_4K, on arm64; written all over, small pages and thp_split_pmd. The \
         instruction itself is not read.",
        "madvise(MADV_POPULATE_WRITE) instead, as OpenJDK 22 does; use_zero_page=0 (root).",
        "arch/arm64/mm/fault.c; amperecomputing.com, Fixing Page Fault Performance Issue",
    ),
    (
        Code::Host4K,
        "In a virtual machine the hypervisor may back this memory with small pages, whatever \
         the guest does: address translation then costs as with small pages.",
        "virtual machines",
        "Not to be seen from inside. Hints are slow first faults and a share of page walks that \
         does not fall.",
        "The owner of the host.",
        "Documentation/virt/kvm/x86/mmu.rst",
    ),
    (
        Code::Unknown,
        "What was read fits none of the other reasons. The evidence is printed as it was read.",
        "all",
        "-",
        "Please report it with the output of --format json.",
        "-",
    ),
];
