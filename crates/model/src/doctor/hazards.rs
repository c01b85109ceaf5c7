//! What will mislead a measurement on this machine. One function a hazard.

use super::render::seconds;
use super::{Evidence, Examination, Remark, Rule, Rung, Severity, Support};
use crate::base::host::{THP_DIR, ThpDisable};
use crate::base::missing::Missing;
use crate::base::units::bytes_text;
use crate::base::units::{GIB, MIB};

pub(super) const RULES: &[Rule] = &[
    inherited_thp_disable,
    virtual_machine,
    fragmented,
    other_load,
    steal,
    swap_in_use,
    cgroup_limit,
    governor,
    khugepaged_pace,
    no_counters,
];

/// Share of the free memory that must be in huge blocks, below which faults will often get
/// none. A doubtful line: the kernel compacts when asked, at a price.
const FREE_HUGE_SHARE: f64 = 0.25;
/// Load of others, as a share of the processors, that disturbs timing.
const LOAD_SHARE: f64 = 0.25;
/// Stolen share of the processors' time that is worth a word.
const STEAL_SHARE: f64 = 0.01;
/// Fill of a memory cgroup at which a huge page may be refused or cause reclaim.
const CGROUP_SHARE: f64 = 0.8;

fn inherited_thp_disable(seen: &Examination) -> Option<Remark> {
    let (value, meaning) = match seen.host.thp_disable {
        ThpDisable::Off => return None,
        ThpDisable::Disabled => (
            "1",
            "no program started from here gets transparent huge pages",
        ),
        ThpDisable::ExceptAdvised => (
            "3",
            "programs started from here get huge pages for advised memory only",
        ),
    };
    Some(Remark::new(
        "inherited-thp-disable",
        Severity::Wrong,
        vec![Evidence::new("prctl(PR_GET_THP_DISABLE)", value)],
        format!("{meaning}, whatever the system's settings say: this shell inherited the switch"),
        "start from another shell or service; look for MemoryTHP= or a wrapper that sets it",
    ))
}

fn virtual_machine(seen: &Examination) -> Option<Remark> {
    let name = seen.host.hypervisor.as_ref()?;
    Some(Remark::new(
        "virtual-machine",
        Severity::Warning,
        vec![Evidence::new(
            "hypervisor, from firmware and processor",
            name,
        )],
        "the first touch of memory that the hypervisor has not backed yet can cost milliseconds, \
         which makes huge faults look slow; a TLB miss walks two page tables, and the host's page \
         size is not visible from here",
        "touch all of the memory once before measuring; compare only within one boot",
    ))
}

fn fragmented(seen: &Examination) -> Option<Remark> {
    let (free, huge) = free_memory(seen)?;
    let pmd = seen.host.pmd_bytes()?;
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    let share = huge as f64 / free as f64;
    (share < FREE_HUGE_SHARE).then(|| {
        Remark::new(
            "fragmented",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/buddyinfo",
                format!("{} of {} free in blocks of {} or more", bytes_text(huge), bytes_text(free), bytes_text(pmd)),
            )],
            "faults will find few huge pages without compaction; results will differ from a \
             machine that was booted lately",
            "measure this state and a fresh one, or run `echo 1 > /proc/sys/vm/compact_memory` first",
        )
    })
}

/// Free memory, and the part of it in blocks of at least the huge-page size, in bytes; `None`
/// where less than one huge page is free or the kernel does not say.
fn free_memory(seen: &Examination) -> Option<(u64, u64)> {
    let (pmd, page) = (seen.host.pmd_bytes()?, seen.host.page_bytes);
    let (mut free, mut huge) = (0_u64, 0_u64);
    for (order, &blocks) in seen.host.free_blocks.iter().enumerate() {
        let block = page.checked_shl(u32::try_from(order).ok()?)?;
        let bytes = blocks.saturating_mul(block);
        free = free.saturating_add(bytes);
        if block >= pmd {
            huge = huge.saturating_add(bytes);
        }
    }
    (free >= pmd).then_some((free, huge))
}

fn other_load(seen: &Examination) -> Option<Remark> {
    let host = &seen.host;
    let line = LOAD_SHARE * f64::from(host.cpus);
    (host.load_1min >= line).then(|| {
        Remark::new(
            "other-load",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/loadavg",
                format!("{:.2} on {} processors", host.load_1min, host.cpus),
            )],
            "other programs compete for processors, caches and memory: timings will scatter",
            "stop them, or use more rounds",
        )
    })
}

fn steal(seen: &Examination) -> Option<Remark> {
    let share = seen.facts.steal_share?;
    (share >= STEAL_SHARE).then(|| {
        Remark::new(
            "steal",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/stat",
                format!("{:.1} % stolen since boot", share * 100.0),
            )],
            "the hypervisor ran other machines on these processors: a noisy neighbour",
            "use more rounds, another time, or a dedicated host",
        )
    })
}

fn swap_in_use(seen: &Examination) -> Option<Remark> {
    let used = seen.facts.swap_used_bytes.filter(|&used| used > 0)?;
    Some(Remark::new(
        "swap-in-use",
        Severity::Warning,
        vec![Evidence::new(
            "/proc/meminfo SwapTotal - SwapFree",
            format!(
                "{} of {}",
                bytes_text(used),
                bytes_text(seen.host.swap_bytes)
            ),
        )],
        "memory was short here; a workload may wait for the disk, and huge pages may be split to be swapped",
        "free memory, then `swapoff -a` for the time of the experiment",
    ))
}

fn cgroup_limit(seen: &Examination) -> Option<Remark> {
    let limit = seen.host.cgroup.limit_bytes?;
    let used = seen.facts.cgroup_used_bytes?;
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    let near = used as f64 >= CGROUP_SHARE * limit as f64;
    near.then(|| {
        Remark::new(
            "cgroup-limit",
            Severity::Warning,
            vec![Evidence::new(
                format!(
                    "/{}",
                    seen.facts.cgroup_folder.as_deref().unwrap_or_default()
                ),
                format!("{} of {}", bytes_text(used), bytes_text(limit)),
            )],
            "a huge page is charged whole: near the limit it is refused or causes reclaim where a \
             small page would fit (page cache counts, and is what is reclaimed first)",
            "raise the limit, or read memory.events and thp_fault_fallback_charge beside the times",
        )
    })
}

fn governor(seen: &Examination) -> Option<Remark> {
    let name = seen
        .host
        .governor
        .as_ref()
        .filter(|name| *name != "performance")?;
    Some(Remark::new(
        "governor",
        Severity::Warning,
        vec![Evidence::new(
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            name,
        )],
        "the frequency follows the load: the first rounds and short trials run slower",
        "cpupower frequency-set -g performance, for the time of the experiment",
    ))
}

fn khugepaged_pace(seen: &Examination) -> Option<Remark> {
    let thp = seen.host.thp.as_ref().ok()?;
    if thp.effective_pmd_mode() == "never" {
        return None;
    }
    let pages = *thp.khugepaged.get("pages_to_scan")?;
    let sleep_ms = *thp.khugepaged.get("scan_sleep_millisecs")?;
    if sleep_ms == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a pace; 53 bits are enough")]
    let bytes_per_second = pages as f64 * seen.host.page_bytes as f64 * 1000.0 / sleep_ms as f64;
    #[expect(clippy::cast_precision_loss, reason = "exact")]
    let (mib, gib) = (MIB as f64, GIB as f64);
    Some(Remark::new(
        "khugepaged-pace",
        Severity::Note,
        vec![
            Evidence::new(format!("/{THP_DIR}/khugepaged/pages_to_scan"), pages),
            Evidence::new(
                format!("/{THP_DIR}/khugepaged/scan_sleep_millisecs"),
                sleep_ms,
            ),
        ],
        format!(
            "khugepaged looks at about {:.1} MiB/s of small pages, over all processes: {} for \
             1 GiB. A short run does not show what it would do",
            bytes_per_second / mib,
            seconds(gib / bytes_per_second),
        ),
        "",
    ))
}

fn no_counters(seen: &Examination) -> Option<Remark> {
    match seen.ladder.get(&Rung::Cycles)? {
        Support::No {
            missing: Missing::NoHardware,
        } => Some(Remark::new(
            "no-hardware-counters",
            Severity::Note,
            vec![Evidence::new(
                "perf_event_open(cycles)",
                Missing::NoHardware,
            )],
            "speed can be compared, but not explained by TLB misses or page walks",
            "repeat the decisive experiment on bare metal or with a virtual PMU",
        )),
        _ => None,
    }
}
