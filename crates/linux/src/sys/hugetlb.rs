//! `/sys/kernel/mm/hugepages` (Documentation/admin-guide/mm/hugetlbpage.rst).

use std::collections::BTreeMap;

use hugewise_base::host::HugetlbPool;

use crate::machine::error::{Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;
use crate::sys::thp::parse_size_folder;

/// The directory of the pools of the whole machine.
pub const HUGETLB_DIR: &str = "sys/kernel/mm/hugepages";

/// Reads the pools by page size in bytes; empty if the kernel has no hugetlb.
///
/// # Errors
/// A file of a pool could not be read or parsed.
pub fn read_pools(root: &Root) -> Result<BTreeMap<u64, HugetlbPool>> {
    let names = match root.list(HUGETLB_DIR) {
        Err(error) if error.kind == Kind::NotFound => return Ok(BTreeMap::new()),
        other => other?,
    };
    names
        .iter()
        .filter_map(|name| Some((parse_size_folder(name)?.checked_mul(1024)?, name)))
        .map(|(bytes, name)| Ok((bytes, read_pool(root, name)?)))
        .collect()
}

/// Reads `hugetlb_optimize_vmemmap` (Linux 5.19); `None` if the kernel has no such switch.
#[must_use]
pub fn read_vmemmap_optimised(root: &Root) -> Option<bool> {
    let value = number::read(root, "proc/sys/vm/hugetlb_optimize_vmemmap").ok()?;
    Some(value != 0)
}

fn read_pool(root: &Root, name: &str) -> Result<HugetlbPool> {
    let file = |file: &str| number::read(root, format!("{HUGETLB_DIR}/{name}/{file}"));
    Ok(HugetlbPool {
        total: file("nr_hugepages")?,
        free: file("free_hugepages")?,
        reserved: file("resv_hugepages")?,
        overcommit: file("nr_overcommit_hugepages")?,
    })
}
