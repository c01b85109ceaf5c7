use std::fmt;

use serde::{Deserialize, Serialize};

/// The outcome for one range.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum RangeOutcome {
    /// A second reading shows that a PMD maps it.
    Made,
    /// The kernel reported success, and there is no page scan to confirm it.
    Claimed,
    /// Not made huge.
    Refused(Refusal),
    /// No longer mapped.
    Gone,
}

/// The kernel's reason for not making a range huge.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Name of the error number, such as `EINVAL`; `none` if the call reported success.
    pub error: String,
    /// The status in the trace event for this range, such as `not_suitable_page_count`. `None` if there was no event or
    /// it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Refusal {
    /// Returns true if memory was short, so more attempts would load the machine in vain.
    #[must_use]
    pub fn is_want_of_memory(&self) -> bool {
        match self.status.as_deref() {
            Some(status) => matches!(status, "alloc_huge_page_failed" | "ccgroup_charge_failed"),
            None => matches!(self.error.as_str(), "ENOMEM" | "EBUSY"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            Some(status) => write!(f, "{} ({status})", self.error),
            None => f.write_str(&self.error),
        }
    }
}

/// Explains a refusal and how to fix it.
///
/// Uses the text of the status (include/trace/events/huge_memory.h), which is stable across kernels while its numbers
/// change. Otherwise uses the error number, which covers several reasons.
#[must_use]
pub fn meaning(refusal: &Refusal) -> &'static str {
    let by_status = refusal.status.as_deref().and_then(|status| {
        let found = STATUSES.iter().find(|(known, _)| *known == status);
        found.map(|(_, meaning)| *meaning)
    });
    by_status.unwrap_or_else(|| {
        let found = ERRORS.iter().find(|(known, _)| *known == refusal.error);
        found.map_or("the kernel gave no other reason", |(_, meaning)| *meaning)
    })
}

#[rustfmt::skip]
const STATUSES: &[(&str, &str)] = &[
    ("pmd_none", "nothing is populated there any more"),
    ("pmd_null", "nothing is populated there any more"),
    ("no_pte_table", "nothing is populated there any more"),
    ("page_pmd_mapped", "it is already huge, or the huge zero page"),
    ("exceed_none_pte", "userfaultfd watches it, so holes may not be filled"),
    ("pte_non_present", "a page is being migrated; try again"),
    ("pte_uffd_wp", "userfaultfd write-protects pages in it"),
    ("pte_uffd", "userfaultfd watches pages in it"),
    ("no_writable_page", "nothing in it can be written"),
    ("not_suitable_page_count", "pages are pinned (I/O in flight, io_uring, RDMA, vmsplice); try again later"),
    ("page_locked", "a page was locked; try again"),
    ("page_not_in_lru", "a page was being moved; try again"),
    ("could_not_delete_page_from_lru", "a page was being moved; try again"),
    ("page_filled", "a page appeared during the collapse; try again"),
    ("alloc_huge_page_failed", "no free huge page, even after compaction"),
    ("ccgroup_charge_failed", "the memory cgroup is at its limit"),
    ("vma_null", "the mapping is gone"),
    ("vma_check_failed", "the kernel keeps this mapping small"),
    ("not_suitable_address_range", "the mapping does not span the range"),
    ("no_process_for_page", "the process is ending, or has huge pages switched off"),
    ("page_not_anon", "a page belongs to a file"),
    ("page_compound", "a folio of an odd size is in the way"),
    ("scan_aborted", "its pages are on too many NUMA nodes"),
    ("failed", "the kernel gives no other reason; a guard page inside has this one"),
    ("page_dirty_or_writeback", "pages of the file are being written; sync and try again"),
    ("page_has_private", "the file system attaches private data to its pages"),
    ("truncated", "the file was truncated"),
    ("store_failed", "the page cache could not take it"),
    ("copy_poisoned_page", "a page has a memory error"),
];

#[rustfmt::skip]
const ERRORS: &[(&str, &str)] = &[
    ("EAGAIN", "pages were pinned, locked or being moved; try again"),
    ("EBUSY", "the memory cgroup is at its limit, or userfaultfd watches the range"),
    ("EINVAL", "this mapping cannot be huge, or nothing is populated there any more"),
    ("ENOMEM", "no free huge page, or a part of the range is not mapped"),
    (
        "none",
        "the kernel claims success, but no PMD maps it: it may be the zero page, or was split \
         again",
    ),
];

/// Why the collapse ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum End {
    /// Every planned range was tried.
    Finished,
    /// A dry run, which changes nothing.
    DryRun,
    /// The user interrupted it.
    Interrupted,
    /// The process ended.
    ProcessEnded,
    /// The process executed another program, so the planned memory is gone.
    BecameAnother,
    /// Memory was short so many times in a row that more attempts would load the machine in vain.
    NoMemory {
        /// The number of refusals in a row.
        refusals: u32,
    },
    /// The kernel no longer allows it.
    NotPermitted {
        /// What to grant.
        grant: String,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("every range was tried"),
            Self::DryRun => f.write_str("dry run: nothing was changed"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::ProcessEnded => f.write_str("the process ended meanwhile"),
            Self::BecameAnother => f.write_str(
                "the process became another program (exec); what was made huge is gone with its \
                 memory",
            ),
            Self::NoMemory { refusals } => write!(
                f,
                "stopped after {refusals} refusals in a row for lack of memory, to spare the machine"
            ),
            Self::NotPermitted { grant } => write!(f, "not permitted; needs {grant}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(error: &str, status: Option<&str>) -> Refusal {
        Refusal {
            error: error.to_owned(),
            status: status.map(str::to_owned),
        }
    }

    #[test]
    fn the_status_says_more_than_the_error() {
        let pinned = refusal("EAGAIN", Some("not_suitable_page_count"));
        assert!(meaning(&pinned).contains("pinned"));
        assert_eq!(pinned.to_string(), "EAGAIN (not_suitable_page_count)");
        let new = refusal("EINVAL", Some("a_status_of_tomorrow"));
        assert_eq!(meaning(&new), meaning(&refusal("EINVAL", None)));
        assert!(meaning(&refusal("EXYZ", None)).contains("no other reason"));
    }

    #[test]
    fn want_of_memory_is_known_by_the_status_where_there_is_one() {
        assert!(refusal("ENOMEM", Some("alloc_huge_page_failed")).is_want_of_memory());
        assert!(refusal("EBUSY", Some("ccgroup_charge_failed")).is_want_of_memory());
        assert!(!refusal("EBUSY", Some("exceed_none_pte")).is_want_of_memory());
        assert!(refusal("ENOMEM", None).is_want_of_memory());
        assert!(!refusal("EAGAIN", None).is_want_of_memory());
    }
}
