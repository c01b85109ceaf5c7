//! The table of plants.

use super::place::Place;
use super::{
    Need, Planted, advice, bounds, exhausted, file, khugepaged, reclaim, shared, split, watched,
    whole, zero,
};
use crate::Trouble;

/// One plant.
#[derive(Debug)]
pub struct Plant {
    /// The reason code that it stands for; after a slash, the variant.
    pub name: &'static str,
    /// The question that the code answers.
    pub asked: Asked,
    /// The requirements.
    pub needs: &'static [Need],
    /// A description in one sentence.
    pub story: &'static str,
    make: fn(&Place) -> Result<Planted, Trouble>,
}

/// Questions about memory that is not huge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Why did it not become huge?
    Why,
    /// It could be by now: why is it still not?
    Still,
}

impl Plant {
    /// The reason code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }

    pub(super) fn make(&self, place: &Place) -> Result<Planted, Trouble> {
        (self.make)(place)
    }
}

const ADVISED: Need = Need::Policy(&["madvise", "always"]);
const MADVISE: Need = Need::Policy(&["madvise"]);
const ALWAYS: Need = Need::Policy(&["always"]);
const NEVER: Need = Need::Policy(&["never"]);
const SHARED_SMALL: Need = Need::Shared(&["never", "deny"]);
const SHARED_HUGE: Need = Need::Shared(&["advise", "always", "within_size", "force"]);

type Make = fn(&Place) -> Result<Planted, Trouble>;

const fn why(name: &'static str, needs: &'static [Need], make: Make, story: &'static str) -> Plant {
    Plant {
        name,
        asked: Asked::Why,
        needs,
        story,
        make,
    }
}

const fn still(
    name: &'static str,
    needs: &'static [Need],
    make: Make,
    story: &'static str,
) -> Plant {
    Plant {
        asked: Asked::Still,
        ..why(name, needs, make, story)
    }
}

/// All plants, in the order in which reasons are asked.
#[rustfmt::skip]
pub const PLANTS: &[Plant] = &[
    why("NOT_MAPPED", &[], bounds::hole, "a hole between two mappings"),
    why("ALREADY_PMD", &[ADVISED], whole::at_fault, "advised, then written"),
    why("ALREADY_PMD/grown", &[ADVISED], whole::grown, "grown in steps of whole huge pages"),
    why("ALREADY_PMD/collapsed", &[], whole::collapsed, "small pages, collapsed by the process"),
    why("ALREADY_PMD/shared", &[SHARED_HUGE], whole::shared, "shared memory that may be huge"),
    why("ALREADY_PMD/file", &[Need::LargeFolioFolder], whole::file,
        "a file read through an advised mapping"),
    why("HUGETLB", &[Need::PoolPage], whole::pool, "an explicit huge page, written"),
    why("UNTOUCHED", &[ADVISED], zero::untouched, "advised, never touched"),
    why("HUGE_ZERO", &[ADVISED, Need::HugeZeroPage], zero::huge, "advised, then only read"),
    why("ZERO_4K", &[ADVISED], zero::small, "read by small pages, then advised"),
    why("VMA_SMALL", &[ADVISED], bounds::half, "half a huge page, alone"),
    why("VMA_SMALL/misaligned", &[ADVISED], bounds::misaligned,
        "as long as a huge page, one page off the boundary"),
    why("VMA_SPLIT", &[ADVISED], bounds::access_differs, "two halves with different access"),
    why("VMA_SPLIT/flag", &[ADVISED], bounds::flag_differs, "two halves, one left out of core dumps"),
    why("VMA_TYPE", &[], watched::kernel_buffer, "the buffer of a counter, as long as a huge page"),
    why("MADV_NOHUGEPAGE", &[ADVISED], advice::no_huge_page, "advised against, then written"),
    why("MAP_STACK", &[ADVISED], advice::stack, "mapped as a stack above its guard"),
    why("MAP_STACK/bare", &[ADVISED], advice::bare_stack, "mapped as a stack without a guard"),
    why("MAP_STACK/thread", &[ADVISED], advice::thread_stack, "the stack of a waiting thread"),
    why("PRCTL_DISABLED", &[ADVISED], advice::disabled, "huge pages off for the process"),
    why("PRCTL_EXCEPT_ADVISED", &[ALWAYS], advice::except_advised,
        "huge pages for advised memory only, and not advised"),
    why("POLICY_NEVER", &[NEVER], advice::never, "advised, on a machine set to never"),
    why("POLICY_MADVISE", &[MADVISE], advice::not_advised,
        "not advised, on a machine set to madvise"),
    why("SMALL_RAM_DEFAULT", &[NEVER], advice::little_memory,
        "advised, on a machine that starts with never because it has little memory"),
    why("SHMEM_POLICY", &[SHARED_SMALL], shared::small_anonymous, "shared anonymous memory"),
    why("SHMEM_POLICY/memfd", &[SHARED_SMALL], shared::small_nameless, "a file of memfd_create"),
    why("SHMEM_POLICY/tmpfs", &[SHARED_SMALL], shared::small_named, "a file in /dev/shm"),
    why("FILE_MISALIGNED", &[Need::LargeFolioFolder], file::misaligned,
        "a file mapped one page off its offset"),
    why("FILE_NO_LARGE_FOLIO", &[Need::SmallFolioFolder], file::no_large_folios,
        "a file that advice does not help"),
    why("FILE_SMALL_FOLIOS", &[Need::LargeFolioFolder], file::small_folios,
        "a file read page by page"),
    why("FILE_PRIVATE_COW", &[Need::LargeFolioFolder], file::private_copy,
        "a private mapping of a file, written"),
    why("UFFD", &[ADVISED], watched::by_userfaultfd, "small pages, watched by userfaultfd"),
    why("SWAPPED", &[ADVISED, Need::Swap], reclaim::swapped, "huge pages, swapped out"),
    why("PTE_TABLE_EXISTS", &[ADVISED], advice::late, "small pages, advised afterwards"),
    why("PTE_TABLE_EXISTS/one-page", &[ADVISED], advice::late_by_one_page,
        "advised after one page of each huge page was there"),
    why("PTE_TABLE_EXISTS/populated", &[MADVISE], advice::populated, "MAP_POPULATE before the advice"),
    why("PTE_TABLE_EXISTS/grown-32nds", &[ADVISED], bounds::grown_by_32nds,
        "grown in steps of a 32nd of a huge page"),
    why("PTE_TABLE_EXISTS/grown-halves", &[ADVISED], bounds::grown_by_halves,
        "grown in steps of half a huge page"),
    why("PTE_TABLE_EXISTS/grown-askew", &[ADVISED], bounds::grown_askew,
        "grown in steps of a huge page off the boundary"),
    why("EMPTY_PTE_TABLE", &[ADVISED], split::emptied, "emptied page by page"),
    why("EMPTY_PTE_TABLE/used", &[ADVISED], split::emptied_and_used,
        "emptied page by page, then used again"),
    why("PMD_SPLIT", &[ADVISED], split::protected, "a page was read-only for a while"),
    why("PMD_SPLIT/freed", &[ADVISED], split::partly_freed, "a page was given back"),
    why("FORK_COW", &[ADVISED], split::written_after_fork, "written by a child of the owner"),
    why("GUARD_PAGES", &[ADVISED], split::guarded, "a guard page in each huge page"),
    still("PINNED", &[ADVISED], watched::in_a_pipe, "small pages, partly in a pipe"),
    why("KSM", &[ADVISED, Need::Ksm], watched::merged, "equal pages, merged"),
    why("MTHP_INSTEAD", &[ADVISED, Need::MediumFolios("always")], bounds::grown_by_halves,
        "grown in steps of half a huge page, where smaller folios may be used"),
    why("ALLOC_FAIL", &[ALWAYS, Need::Defrag("defer"), Need::AllMemory], exhausted::refused,
        "touched when no huge page was free, and the kernel made it in the background"),
    why("ALLOC_NO_EFFORT", &[ALWAYS, Need::Defrag("madvise"), Need::AllMemory], exhausted::refused,
        "touched when no huge page was free, and the kernel made no effort"),
    why("MEMCG_LIMIT", &[ADVISED, Need::Group], reclaim::beyond_limit,
        "touched when the cgroup had no room for a huge page"),
    why("SPLIT_BY_RECLAIM", &[ADVISED, Need::Group], reclaim::split,
        "huge pages in half use, split under pressure"),
    why("SPLIT_UNDERUSED", &[ADVISED, Need::GapsLimited, Need::Group], reclaim::split_underused,
        "huge pages with one page of content, split under pressure"),
    still("KHP_NOT_REGISTERED", &[ALWAYS], khugepaged::not_registered,
        "filled while huge pages were off for the process"),
    still("KHP_PENDING", &[ADVISED], advice::late, "small pages, advised afterwards"),
    still("KHP_LIMITS", &[ADVISED, Need::NoGapsFilled], khugepaged::beyond_limits,
        "more gaps than khugepaged may fill"),
    still("READONLY_ANON", &[ADVISED], khugepaged::read_only,
        "small pages that may not be written any more"),
    why("LSE_READ_FIRST", &[ADVISED, Need::HugeZeroPage], zero::by_atomics,
        "touched first by an atomic addition"),
];

/// Reasons that no plant can have, with the cause.
pub const UNREACHABLE: &[(&str, &str)] = &[
    (
        "NO_THP_KERNEL",
        "needs a kernel without transparent huge pages",
    ),
    (
        "NUMA_BIND",
        "needs two memory nodes, one of them without a free huge page",
    ),
    (
        "KHP_OFF",
        "khugepaged runs if any policy allows huge pages; if none does, the policy is the reason",
    ),
    ("HOST_4K", "a guest cannot see how its host maps it"),
    ("UNKNOWN", "memory whose reason is known is not unknown"),
];

/// The text of `plant --list`.
pub(super) fn list() -> String {
    let mut text = String::new();
    for plant in PLANTS {
        let needs: Vec<String> = plant.needs.iter().map(ToString::to_string).collect();
        text += &format!("{}\n    {}\n", plant.name, plant.story);
        if !needs.is_empty() {
            text += &format!("    needs {}\n", needs.join(", "));
        }
    }
    for (code, why) in UNREACHABLE {
        text += &format!("{code}\n    cannot be planted: {why}\n");
    }
    text
}
