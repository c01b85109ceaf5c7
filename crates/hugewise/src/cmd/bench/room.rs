use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::units::bytes_text;
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::meminfo;

use crate::exit;

/// The share of memory, and of a cgroup's limit, to leave to other processes, as a divisor.
const RESERVE_PARTS: u64 = 8;

/// The largest share of memory to use by default, as a divisor.
const PARTS: u64 = 4;

/// The largest default size if `count` blocks of it are used at a time: a power of two, at most a quarter of the
/// available memory.
pub(super) fn usual_most(count: u64, host: &Host, root: &Root) -> Result<u64> {
    let room = bytes(host, root)?;
    Ok(power_below(room / count.max(1)).min(quarter(room)))
}

/// The largest power of two within a quarter of this much memory.
pub(super) fn quarter(memory: u64) -> u64 {
    power_below(memory / PARTS)
}

pub(super) fn power_below(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |power| 1 << power)
}

/// Refuses sizes if `count` blocks do not fit at a time, and names the power of two that would. The laboratory checks
/// again before each cell.
pub(super) fn check(flag: &str, sizes: &[u64], count: u64, host: &Host, root: &Root) -> Result<()> {
    if sizes.contains(&0) {
        return Err(exit::usage(format!(
            "{flag} 0: there is nothing to measure; use a larger size"
        )));
    }
    let room = bytes(host, root)?;
    let fits = |size: u64| size.saturating_mul(count) <= room;
    let Some(&size) = sizes.iter().find(|&&size| !fits(size)) else {
        return Ok(());
    };
    let each = room / count.max(1);
    let largest = power_below(each);
    let times = if count == 1 {
        String::new()
    } else {
        format!("{count} × ")
    };
    Err(exit::usage(format!(
        "{flag}: {times}{} exceeds the {} available here; {} would fit",
        bytes_text(size),
        bytes_text(room),
        bytes_text(largest)
    )))
}

/// The usable memory: the available memory of the machine and the limit of this process's cgroup, each less an eighth
/// for others.
pub(super) fn bytes(host: &Host, root: &Root) -> Result<u64> {
    let available = meminfo::read_meminfo(root)?.get("MemAvailable");
    Ok(left(host.memory_bytes, available, host.cgroup.limit_bytes))
}

fn left(memory: u64, available: Option<u64>, limit: Option<u64>) -> u64 {
    let machine = available.unwrap_or(memory);
    let machine = machine.saturating_sub(memory / RESERVE_PARTS);
    let group = limit.map(|limit| limit - limit / RESERVE_PARTS);
    group.unwrap_or(machine).min(machine)
}

#[cfg(test)]
mod tests {
    use hugewise_base::units::{GIB, MIB};

    use super::*;

    #[test]
    fn a_reserve_is_a_part_of_what_it_is_taken_from() {
        assert_eq!(left(24 * GIB, Some(20 * GIB), None), 17 * GIB);
        assert_eq!(left(24 * GIB, Some(2 * GIB), None), 0);
        // A small cgroup on a large machine.
        let small = left(24 * GIB, Some(20 * GIB), Some(400 * MIB));
        assert_eq!(small, 350 * MIB);
        assert_eq!(left(24 * GIB, Some(4 * GIB), Some(20 * GIB)), GIB);
        assert_eq!(left(24 * GIB, None, Some(1 << 63)), 21 * GIB);
    }
}
