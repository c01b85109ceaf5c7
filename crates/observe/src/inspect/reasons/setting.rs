//! The settings of the process and of the machine.

use crate::address_space::{Mapping, MappingKind, Space};
use hugewise_base::host::ThpSettings;
use hugewise_base::units::MIB;
use hugewise_experiment::run::trial::{off_remedy, remedy};

use super::Code;
use super::allocator::advice;
use super::range::Range;
use super::row::{Facts, Fix, Row, Rule, State};

pub(super) const PRCTL_DISABLED: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(prctl_disabled),
    evidence: prctl_evidence,
    circumstance: |_| None,
    what: "prctl(PR_SET_THP_DISABLE, 1) was called by this process or by one before it: fork \
           and exec pass it on. Huge pages that existed before stay. Redis calls it for \
           itself (disable-thp).",
    kernels: "3.15 and later",
    sign: "THP_enabled in /proc/PID/status is 0; that of the parent is read as well.",
    fix: Fix::by_program(
        allow_huge,
        "Remove the call prctl(PR_SET_THP_DISABLE): from the program where its parent's \
             THP_enabled is 1 (Redis: --disable-thp no), else from the parent or the service \
             manager.",
    ),
    source: "PR_SET_THP_DISABLE in prctl(2)",
};

pub(super) const PRCTL_EXCEPT_ADVISED: Row = Row {
    state: State::Setting,
    rule: Rule::DecidesOneOf(prctl_except_advised, |_| vec![Code::Unknown]),
    evidence: except_evidence,
    circumstance: |_| None,
    what: "prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED) allows huge pages in \
           advised memory only. fork and exec pass it on.",
    kernels: "6.18 and later",
    sign: "Not in /proc: THP_enabled stays 1. It is inferred where the machine is set to \
           `always`, the mapping is large enough, and yet THPeligible is 0.",
    fix: Fix::new("Call madvise(MADV_HUGEPAGE) in the program; or now: hugewise collapse {pid}"),
    source: "proc_pid_status in fs/proc/array.c",
};

pub(super) const POLICY_NEVER: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(never),
    evidence: mode_evidence,
    circumstance: |_| None,
    what: "The setting for this size is `never`: hugepages-<size>kB/enabled, or `enabled` \
           where that says `inherit`. MADV_COLLAPSE still works.",
    kernels: "all; the files per size since 6.8",
    sign: "Both files below /sys/kernel/mm/transparent_hugepage. No capability is needed.",
    fix: Fix::new("Set enabled to `madvise` or `always` (root); or now: hugewise collapse {pid}"),
    source: "thp_vma_allowable_orders in include/linux/huge_mm.h",
};

pub(super) const POLICY_MADVISE: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(madvise),
    evidence: mode_evidence,
    circumstance: |_| None,
    what: "The setting for this size is `madvise`: only memory with madvise(MADV_HUGEPAGE) \
           becomes huge, and the program did not call it here.",
    kernels: "all",
    sign: "The two settings, and VmFlags without `hg`.",
    fix: Fix::by_program(
        advice,
        "Let the allocator or runtime advise at the next start (glibc: \
             GLIBC_TUNABLES=glibc.malloc.hugetlb=1, and PYTHONMALLOC=malloc for Python; jemalloc: \
             MALLOC_CONF=thp:always; Java: -XX:+UseTransparentHugePages); or now: hugewise \
             collapse {pid}",
    ),
    source: "Documentation/admin-guide/mm/transhuge.rst",
};

pub(super) const SMALL_RAM_DEFAULT: Row = Row {
    state: State::Setting,
    rule: Rule::Decides(small_ram),
    evidence: mode_evidence,
    circumstance: |_| None,
    what: "A machine with less than 512 MiB of memory boots with all THP settings off.",
    kernels: "all",
    sign: "MemTotal is below 512 MiB, and enabled, defrag, use_zero_page and \
           khugepaged/defrag are all off.",
    fix: Fix::new("Set enabled to `madvise` or `always` (root), if the memory allows."),
    source: "hugepage_init in mm/huge_memory.c",
};

pub(super) const SHMEM_POLICY: Row = Row {
    state: State::File,
    rule: Rule::Decides(shmem),
    evidence: shmem_evidence,
    circumstance: |_| None,
    what: "Shared memory has its own setting: shmem_enabled for memory without a file (shared \
           anonymous, memfd, System V), and the mount option huge= for a tmpfs such as \
           /dev/shm. Both are `never` by default.",
    kernels: "4.8 and later; per size since 6.11",
    sign: "shmem_enabled below /sys/kernel/mm/transparent_hugepage, huge= in \
           /proc/PID/mountinfo.",
    fix: Fix::by_program(
        allow_shared,
        "Set shmem_enabled=advise, or remount the tmpfs with huge=advise (root), and call \
             madvise(MADV_HUGEPAGE); or now (6.1), as far as it was mapped at a multiple of a huge \
             page: hugewise collapse {pid}",
    ),
    source: "shmem_allowable_huge_orders in mm/shmem.c",
};

/// Returns how to allow this kind of shared memory; the program may have advised it already.
fn allow_shared(space: &Space, mapping: &Mapping) -> String {
    let set = match mapping.kind {
        MappingKind::Tmpfs => "Remount the tmpfs with huge=advise (root)",
        _ => "Set shmem_enabled=advise (root)",
    };
    let advise = match mapping.flags().has("hg") {
        true => ": the program called madvise(MADV_HUGEPAGE) already",
        false => ", and call madvise(MADV_HUGEPAGE)",
    };
    let collapse = space.as_root("hugewise collapse");
    let pid = space.process.pid;
    format!(
        "{set}{advise}; or now (6.1), as far as it was mapped at a multiple of a huge page: \
         {collapse} {pid}"
    )
}

fn prctl_disabled(range: &Range<'_>) -> bool {
    range.space.process.thp_enabled == Some(false)
}

/// The mode is in no file. It is inferred if every other setting allows huge pages and the kernel does not.
fn prctl_except_advised(range: &Range<'_>) -> bool {
    let memory = range.mapping.memory.as_ref();
    mode(range) == Some("always")
        && !range.is_advised()
        && range.mapping.whole_ranges(range.space.huge_bytes).is_some()
        && memory.is_some_and(|memory| memory.thp_eligible == Some(false))
}

fn never(range: &Range<'_>) -> bool {
    mode(range) == Some("never") && !is_small_ram_default(range)
}

fn madvise(range: &Range<'_>) -> bool {
    mode(range) == Some("madvise") && !range.is_advised()
}

fn small_ram(range: &Range<'_>) -> bool {
    mode(range) == Some("never") && is_small_ram_default(range)
}

/// True if everything is off: the state in which hugepage_init leaves a machine with less than 512 MiB.
fn is_small_ram_default(range: &Range<'_>) -> bool {
    let off = |thp: &ThpSettings| {
        thp.enabled == "never"
            && thp.defrag == "never"
            && !thp.zero_page
            && thp.khugepaged.get("defrag").is_none_or(|&on| on == 0)
    };
    range.settings.memory_bytes < 512 * MIB && range.thp().is_some_and(off)
}

/// The mode of anonymous memory; `None` for other memory.
fn mode<'a>(range: &Range<'a>) -> Option<&'a str> {
    let thp = range.thp().filter(|_| range.is_anonymous())?;
    Some(thp.effective_pmd_mode())
}

fn shmem(range: &Range<'_>) -> bool {
    match shmem_mode(range) {
        Some((_, "never" | "deny")) => true,
        Some((_, "advise")) => !range.is_advised(),
        _ => false,
    }
}

/// Returns the mode of shared memory, and the file or option that sets it. `deny` and `force` in shmem_enabled take
/// precedence. A mounted tmpfs has its own option. Otherwise the file of the size decides, which can defer to the
/// general one (shmem_allowable_huge_orders, mm/shmem.c).
fn shmem_mode<'a>(range: &Range<'a>) -> Option<(&'static str, &'a str)> {
    let global = range.thp()?.shmem_enabled.as_deref()?;
    match range.mapping.kind {
        MappingKind::Tmpfs | MappingKind::SharedMemory if matches!(global, "deny" | "force") => {
            Some(("shmem_enabled", global))
        }
        MappingKind::Tmpfs => {
            let own = range.mapping.mount_huge.as_deref();
            Some(("the mount option huge", own.unwrap_or("never")))
        }
        MappingKind::SharedMemory => {
            let kib = range.space.huge_bytes / 1024;
            match range.settings.shmem_sizes.get(&kib).map(String::as_str) {
                None | Some("inherit") => Some(("shmem_enabled", global)),
                Some(own) => Some(("shmem_enabled of the size", own)),
            }
        }
        _ => None,
    }
}

/// The switch of the parent shows who set it, because fork and exec inherit it.
fn prctl_evidence(facts: &Facts<'_>) -> Vec<String> {
    let process = &facts.range.space.process;
    let parent = process.parent;
    let from = match process.parent_thp_enabled {
        Some(true) => format!(
            "its parent, process {parent}, has 1: the program itself switched it off, or what \
             started it did so just before"
        ),
        Some(false) => format!("its parent, process {parent}, has 0 too: it is inherited"),
        None => format!("its parent is process {parent}"),
    };
    vec!["THP_enabled in its status is 0".to_owned(), from]
}

/// Returns which program has to omit the call, and its own setting for it.
fn allow_huge(space: &Space, _: &Mapping) -> String {
    let process = &space.process;
    let (command, parent) = (&process.command, process.parent);
    let setting = remedy(command).or_else(|| off_remedy(&process.environment));
    match (process.parent_thp_enabled, setting) {
        (Some(true), Some(setting)) => format!("Restart {command} with {setting}."),
        (Some(true), None) => {
            format!("Restart {command} without its own call prctl(PR_SET_THP_DISABLE).")
        }
        (Some(false), _) => format!(
            "Start it from a parent without PR_SET_THP_DISABLE: process {parent} has it too. Look \
             for MemoryTHP= of systemd, or a wrapper that sets it."
        ),
        (None, _) => format!(
            "Start it without PR_SET_THP_DISABLE; its parent, process {parent}, may have set it."
        ),
    }
}

fn except_evidence(_: &Facts<'_>) -> Vec<String> {
    let fact = "enabled is `always` and the mapping is large enough, yet THPeligible is 0";
    vec![fact.to_owned()]
}

fn mode_evidence(facts: &Facts<'_>) -> Vec<String> {
    let (range, totals) = (facts.range, facts.totals);
    let Some(thp) = range.thp() else {
        return Vec::new();
    };
    let kib = thp.pmd_bytes / 1024;
    let mut facts = vec![match thp.sizes.get(&kib).map(String::as_str) {
        None => format!("enabled is `{}`", thp.enabled),
        Some("inherit") => format!("hugepages-{kib}kB inherits enabled, `{}`", thp.enabled),
        Some(own) => format!("hugepages-{kib}kB/enabled is `{own}`"),
    }];
    if !range.is_advised() && thp.effective_pmd_mode() == "madvise" {
        facts.push("VmFlags has no hg".to_owned());
    }
    let small_is_folios = totals.folios_text(range.space.page_bytes);
    facts.extend(small_is_folios.filter(|_| !totals.folios.is_empty()));
    facts
}

fn shmem_evidence(facts: &Facts<'_>) -> Vec<String> {
    let setting = shmem_mode(facts.range);
    let fact = setting.map(|(place, mode)| format!("{place} is `{mode}`"));
    fact.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::test_space::{mapping, space};
    use crate::address_space::{Memory, VmFlags};

    #[test]
    fn who_switched_huge_pages_off_is_told_how_not_to() {
        let fix = |command: &str, parent_has_them: Option<bool>| {
            let mut space = space(Vec::new());
            space.process.command = command.to_owned();
            space.process.parent_thp_enabled = parent_has_them;
            allow_huge(&space, &mapping(0, 4096, Vec::new()))
        };
        let redis = fix("redis-server", Some(true));
        assert_eq!(redis, "Restart redis-server with --disable-thp no.");
        assert!(fix("prog", Some(true)).starts_with("Restart prog without its own call"));
        assert!(fix("redis-server", Some(false)).starts_with("Start it from a parent without"));
        assert!(fix("prog", None).contains("may have set it"));
    }

    #[test]
    fn shared_memory_that_is_advised_needs_its_setting_alone() {
        let fix = |kind: MappingKind, flags: &[&'static str]| {
            let memory = Memory {
                flags: VmFlags::of(flags.iter().copied()),
                ..Memory::default()
            };
            let one = Mapping {
                kind,
                memory: Some(memory),
                ..mapping(0, 4096, Vec::new())
            };
            allow_shared(&space(Vec::new()), &one)
        };
        let advised = fix(MappingKind::SharedMemory, &["hg"]);
        assert!(advised.starts_with("Set shmem_enabled=advise (root): the program called"));
        let plain = fix(MappingKind::Tmpfs, &[]);
        assert!(plain.starts_with("Remount the tmpfs with huge=advise (root), and call"));
    }
}
