//! khugepaged, which could repair it.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const KHUGEPAGED: &[Row] = &[
    (
        Code::KhpNotRegistered,
        "khugepaged looks only at processes that took a huge-page fault or called \
         MADV_HUGEPAGE since huge pages were on. This one may have done neither.",
        "all",
        "No `hg` and no huge page in the process.",
        "madvise(MADV_HUGEPAGE) on anything eligible, or MADV_COLLAPSE.",
        "__khugepaged_enter in mm/khugepaged.c",
    ),
    (
        Code::KhpPending,
        "The range fulfils what khugepaged asks for, but it has not come by: by default it \
         handles 16 MiB every 10 seconds for the whole machine.",
        "all",
        "Counts within the limits of khugepaged; the rate from pages_to_scan and \
         scan_sleep_millisecs.",
        "MADV_COLLAPSE now; or a faster khugepaged (root).",
        "mm/khugepaged.c",
    ),
    (
        Code::KhpLimits,
        "khugepaged leaves a range alone with more empty, swapped or shared pages than \
         max_ptes_none, max_ptes_swap and max_ptes_shared, or without a page used lately.",
        "all; counters since 5.17",
        "The counts of the range against the three files.",
        "Raise the limits (root), at the price of memory; MADV_COLLAPSE ignores them.",
        "hpage_collapse_scan_pmd in mm/khugepaged.c",
    ),
    (
        Code::KhpOff,
        "khugepaged does not run: it stops where every size is `never`.",
        "all",
        "No such thread among the children of kthreadd.",
        "MADV_COLLAPSE needs no khugepaged.",
        "start_stop_khugepaged in mm/khugepaged.c",
    ),
];
