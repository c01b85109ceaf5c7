//! `hugetlb=`: the size of a hugetlb pool while the program runs.

use super::pages::{Wanted, write_where_needed};
use super::{Draft, FileWrite};
use crate::base::host::HugetlbPool;
use crate::base::units::bytes_text;
use crate::run::policy::parse::kib_text;

/// The folder of the machine's pools, relative to its root.
pub const HUGETLB_DIR: &str = "sys/kernel/mm/hugepages";

pub(super) fn reach(draft: &mut Draft<'_>) {
    let pools = draft.policy.settings.hugetlb.iter();
    let wanted = pools.filter_map(|(&kib, &pages)| want(draft, kib, pages));
    let wanted: Vec<Wanted> = wanted.collect();
    write_where_needed(draft, wanted);
}

/// The pool of one page size, if it can have so many pages.
fn want(draft: &mut Draft<'_>, kib: u64, pages: u64) -> Option<Wanted> {
    let size = kib_text(kib);
    let Some(pool) = draft.host.hugetlb.get(&kib.saturating_mul(1024)) else {
        let remedy = sizes_here(draft);
        draft.obstacle(format!("there is no hugetlb pool of {size} pages"), remedy);
        return None;
    };
    let bytes = kib.saturating_mul(1024).saturating_mul(pages);
    if bytes >= draft.host.memory_bytes {
        let memory = bytes_text(draft.host.memory_bytes);
        let all = bytes_text(bytes);
        draft.obstacle(
            format!("{pages} pages of {size} are {all}, and the machine has {memory}"),
            "ask for fewer pages",
        );
        return None;
    }
    let used = used(pool);
    if pages < used {
        draft.obstacle(
            format!("{used} pages of the pool of {size} pages are in use"),
            format!("ask for at least {used}, or end the programs that hold them"),
        );
        return None;
    }
    Some(Wanted {
        write: FileWrite {
            path: format!("{HUGETLB_DIR}/hugepages-{kib}kB/nr_hugepages"),
            value: pages.to_string(),
        },
        current: pool.total.to_string(),
    })
}

/// Pages in use or reserved.
fn used(pool: &HugetlbPool) -> u64 {
    let free = pool.free.saturating_sub(pool.reserved);
    pool.total.saturating_sub(free)
}

fn sizes_here(draft: &Draft<'_>) -> String {
    let sizes = draft.host.hugetlb.keys();
    let sizes: Vec<String> = sizes.map(|bytes| kib_text(bytes / 1024)).collect();
    match sizes.is_empty() {
        true => "use a kernel with CONFIG_HUGETLBFS".to_owned(),
        false => format!("the sizes here are {}", sizes.join(", ")),
    }
}
