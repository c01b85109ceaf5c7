//! Hazards that mislead measurements on this machine, one function each.

use super::{Evidence, Examination, Feature, Remark, Rule, Severity, Support};
use hugewise_base::host::{THP_DIR, ThpDisable};
use hugewise_base::missing::Missing;
use hugewise_base::units::{GIB, MIB, bytes_text};

pub(super) const RULES: &[Rule] = &[
    inherited_thp_disable,
    virtual_machine,
    free_page_reporting,
    fragmented,
    other_load,
    steal,
    swap_in_use,
    cgroup_limit,
    governor,
    khugepaged_full_speed,
    khugepaged_pace,
    no_counters,
];

/// Below this share of free memory in huge blocks, page faults often find no huge page. The limit is soft: the kernel
/// compacts on demand, at a cost.
const FREE_HUGE_SHARE: f64 = 0.25;
/// Load of other programs, as a share of the processors, above which timing is disturbed.
const LOAD_SHARE: f64 = 0.25;
/// Stolen share of CPU time above which it is reported.
const STEAL_SHARE: f64 = 0.01;
/// Usage of a memory cgroup above which a huge page can be refused or cause reclaim.
const CGROUP_SHARE: f64 = 0.8;

fn inherited_thp_disable(examination: &Examination) -> Option<Remark> {
    let (value, meaning) = match examination.host.thp_disable {
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
        format!(
            "{meaning}, whatever the system's settings are: this shell inherited PR_SET_THP_DISABLE"
        ),
        "start from another shell or service; look for MemoryTHP= or a wrapper that sets it",
    ))
}

fn virtual_machine(examination: &Examination) -> Option<Remark> {
    let name = examination.host.hypervisor.as_ref()?;
    Some(Remark::new(
        "virtual-machine",
        Severity::Warning,
        vec![Evidence::new(
            "hypervisor, from firmware and processor",
            name,
        )],
        "the first touch of memory can cost milliseconds, so huge faults look slow; TLB misses walk \
         two page tables",
        "touch all memory once before measuring; compare only within one boot; the host's page \
         size is not visible from here",
    ))
}

fn free_page_reporting(examination: &Examination) -> Option<Remark> {
    let balloon = examination.host.balloon.as_ref()?;
    let block = bytes_text(balloon.reported_block_bytes?);
    Some(Remark::new(
        "free-page-reporting",
        Severity::Warning,
        vec![Evidence::new(
            "free page reporting",
            format!("by {}, blocks of at least {block}", balloon.driver),
        )],
        "the hypervisor takes back free memory after about two seconds: the first touch of a huge \
         page then costs milliseconds, so a time depends on what ran before it",
        "`hugewise run` warms memory before each trial (--host-memory)",
    ))
}

fn fragmented(examination: &Examination) -> Option<Remark> {
    let (free, huge) = free_memory(examination)?;
    let pmd = examination.host.pmd_bytes()?;
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    let share = huge as f64 / free as f64;
    (share < FREE_HUGE_SHARE).then(|| {
        Remark::new(
            "fragmented",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/buddyinfo",
                format!(
                    "{} of {} free memory in blocks of at least {}",
                    bytes_text(huge),
                    bytes_text(free),
                    bytes_text(pmd)
                ),
            )],
            "memory is fragmented: faults find few huge pages without compaction, and a freshly \
             booted machine gives other results",
            "measure both states, or first: echo 1 > /proc/sys/vm/compact_memory",
        )
    })
}

/// Free memory, and the part of it in blocks of at least the huge-page size, in bytes. `None` if less than one huge
/// page is free or the kernel does not report it.
fn free_memory(examination: &Examination) -> Option<(u64, u64)> {
    let (pmd, page) = (examination.host.pmd_bytes()?, examination.host.page_bytes);
    let (mut free, mut huge) = (0_u64, 0_u64);
    for (order, &blocks) in examination.host.free_blocks.iter().enumerate() {
        let block = page.checked_shl(u32::try_from(order).ok()?)?;
        let bytes = blocks.saturating_mul(block);
        free = free.saturating_add(bytes);
        if block >= pmd {
            huge = huge.saturating_add(bytes);
        }
    }
    (free >= pmd).then_some((free, huge))
}

fn other_load(examination: &Examination) -> Option<Remark> {
    let host = &examination.host;
    let line = LOAD_SHARE * f64::from(host.cpus);
    (host.load_1min >= line).then(|| {
        Remark::new(
            "other-load",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/loadavg",
                format!("{:.2} on {} processors", host.load_1min, host.cpus),
            )],
            "other programs use processors, caches and memory: times scatter",
            "stop them, or use more rounds",
        )
    })
}

fn steal(examination: &Examination) -> Option<Remark> {
    let share = examination.facts.steal_share?;
    (share >= STEAL_SHARE).then(|| {
        Remark::new(
            "steal",
            Severity::Warning,
            vec![Evidence::new(
                "/proc/stat",
                format!("{:.1} % stolen since boot", share * 100.0),
            )],
            "the hypervisor ran other machines on these processors (noisy neighbour)",
            "use more rounds, measure at another time, or use a dedicated host",
        )
    })
}

fn swap_in_use(examination: &Examination) -> Option<Remark> {
    let used = examination.facts.swap_used_bytes.filter(|&used| used > 0)?;
    Some(Remark::new(
        "swap-in-use",
        Severity::Warning,
        vec![Evidence::new(
            "/proc/meminfo SwapTotal - SwapFree",
            format!(
                "{} of {}",
                bytes_text(used),
                bytes_text(examination.host.swap_bytes)
            ),
        )],
        "memory was short: a workload may wait for the disk, and swapping may split huge pages",
        "free memory, then `swapoff -a` during the experiment",
    ))
}

fn cgroup_limit(examination: &Examination) -> Option<Remark> {
    let limit = examination.host.cgroup.limit_bytes?;
    let used = examination.facts.cgroup_used_bytes?;
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    let near = used as f64 >= CGROUP_SHARE * limit as f64;
    near.then(|| {
        Remark::new(
            "cgroup-limit",
            Severity::Warning,
            vec![Evidence::new(
                format!(
                    "/{}",
                    examination
                        .facts
                        .cgroup_folder
                        .as_deref()
                        .unwrap_or_default()
                ),
                format!("{} of {}", bytes_text(used), bytes_text(limit)),
            )],
            "a huge page is charged whole: near the limit it fails or causes reclaim where a base \
             page would fit (page cache counts, and is reclaimed first)",
            "raise the limit, or also watch memory.events and thp_fault_fallback_charge",
        )
    })
}

fn governor(examination: &Examination) -> Option<Remark> {
    let name = examination
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
        "the frequency follows the load: first rounds and short trials run slower",
        "cpupower frequency-set -g performance, during the experiment",
    ))
}

/// Scan rate of khugepaged, in pages per millisecond of sleep, above which it hardly sleeps.
const FULL_SPEED: u64 = 1000;

fn is_full_speed(pages: u64, sleep_ms: u64) -> bool {
    pages >= FULL_SPEED.saturating_mul(sleep_ms)
}

fn khugepaged_full_speed(examination: &Examination) -> Option<Remark> {
    let thp = examination.host.thp.as_ref().ok()?;
    let pages = *thp.khugepaged.get("pages_to_scan")?;
    let sleep_ms = *thp.khugepaged.get("scan_sleep_millisecs")?;
    let folder = format!("/{THP_DIR}/khugepaged");
    (thp.effective_pmd_mode() != "never" && is_full_speed(pages, sleep_ms)).then(|| {
        Remark::new(
            "khugepaged-full-speed",
            Severity::Warning,
            vec![
                Evidence::new(format!("{folder}/pages_to_scan"), pages),
                Evidence::new(format!("{folder}/scan_sleep_millisecs"), sleep_ms),
            ],
            "khugepaged hardly rests between its scans: it keeps one processor busy and takes \
             locks of the processes that it scans",
            format!(
                "echo 10000 > {folder}/scan_sleep_millisecs && echo 4096 > {folder}/pages_to_scan"
            ),
        )
    })
}

fn khugepaged_pace(examination: &Examination) -> Option<Remark> {
    let thp = examination.host.thp.as_ref().ok()?;
    if thp.effective_pmd_mode() == "never" {
        return None;
    }
    let pages = *thp.khugepaged.get("pages_to_scan")?;
    let sleep_ms = *thp.khugepaged.get("scan_sleep_millisecs")?;
    if is_full_speed(pages, sleep_ms) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a pace; 53 bits are enough")]
    let bytes_per_second =
        pages as f64 * examination.host.page_bytes as f64 * 1000.0 / sleep_ms as f64;
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
            "khugepaged scans about {:.1} MiB/s of base pages over all processes, {} per GiB: a \
             short run does not show its effect",
            bytes_per_second / mib,
            seconds(gib / bytes_per_second),
        ),
        "",
    ))
}

fn no_counters(examination: &Examination) -> Option<Remark> {
    match examination.ladder.get(&Feature::Cycles)? {
        Support::No {
            missing: Missing::NoHardware,
        } => Some(Remark::new(
            "no-hardware-counters",
            Severity::Note,
            vec![Evidence::new(
                "perf_event_open(cycles)",
                Missing::NoHardware,
            )],
            "times can be compared, but not explained by TLB misses or page walks",
            "repeat the decisive experiment on bare metal or with a virtual PMU",
        )),
        _ => None,
    }
}

/// Formats a duration with one unit: `45 s`, `11 min`, `3 h`.
fn seconds(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} h", seconds / 3600.0)
    }
}
