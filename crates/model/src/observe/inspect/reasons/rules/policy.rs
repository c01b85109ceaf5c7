//! What the settings say now: of the mapping, of the process, of the machine.

use crate::base::host::ThpSettings;
use crate::base::units::MIB;
use crate::observe::address_space::Kind;
use crate::observe::inspect::reasons::range::Range;

pub(super) fn nohugepage(range: &Range<'_>) -> bool {
    range.mapping.flags().has("nh") && !is_like_a_stack(range)
}

pub(super) fn map_stack(range: &Range<'_>) -> bool {
    range.mapping.flags().has("nh") && is_like_a_stack(range)
}

/// A thread's stack: private writable memory without a name above a guard, which is a mapping
/// of its own or the first pages of this one (glibc since 2.42). A guard that was mapped
/// together with the stack has the kernel's flag too; beside other memory it has not.
fn is_like_a_stack(range: &Range<'_>) -> bool {
    let mapping = range.mapping;
    let plain = mapping.kind == Kind::Anonymous
        && mapping.permissions.write()
        && !mapping.permissions.shared();
    let guard_below = range
        .neighbours()
        .filter(|other| other.end == mapping.start && !other.permissions.any())
        .any(|guard| guard.flags().has("nh"));
    let guard_inside = mapping
        .runs
        .first()
        .is_some_and(|run| run.start == mapping.start && run.pages.guard.unwrap_or(0) > 0);
    plain && (guard_below || guard_inside)
}

pub(super) fn prctl_disabled(range: &Range<'_>) -> bool {
    range.space.process.thp_enabled == Some(false)
}

/// The mode is in no file: it is what remains where everything else says yes and the kernel
/// says no.
pub(super) fn prctl_except_advised(range: &Range<'_>) -> bool {
    let memory = range.mapping.memory.as_ref();
    mode(range) == Some("always")
        && !range.is_advised()
        && range.mapping.whole_ranges(range.space.huge_bytes).is_some()
        && memory.is_some_and(|memory| memory.thp_eligible == Some(false))
}

pub(super) fn never(range: &Range<'_>) -> bool {
    mode(range) == Some("never") && !is_small_ram_default(range)
}

pub(super) fn madvise(range: &Range<'_>) -> bool {
    mode(range) == Some("madvise") && !range.is_advised()
}

pub(super) fn small_ram(range: &Range<'_>) -> bool {
    mode(range) == Some("never") && is_small_ram_default(range)
}

/// All off, as hugepage_init leaves a machine with less than 512 MiB.
fn is_small_ram_default(range: &Range<'_>) -> bool {
    let off = |thp: &ThpSettings| {
        thp.enabled == "never"
            && thp.defrag == "never"
            && !thp.zero_page
            && thp.khugepaged.get("defrag").is_none_or(|&on| on == 0)
    };
    range.settings.memory_bytes < 512 * MIB && range.thp().is_some_and(off)
}

/// The mode of anonymous memory, for anonymous memory.
fn mode<'a>(range: &Range<'a>) -> Option<&'a str> {
    let thp = range.thp().filter(|_| range.is_anonymous())?;
    Some(thp.effective_pmd_mode())
}

pub(super) fn shmem(range: &Range<'_>) -> bool {
    match shmem_mode(range) {
        Some((_, "never" | "deny")) => true,
        Some((_, "advise")) => !range.is_advised(),
        _ => false,
    }
}

/// The setting that governs shared memory, and the file or option it stands in: `deny` and
/// `force` of shmem_enabled go before all others; a mounted tmpfs has its own option; else the
/// size's file decides, which may hand over (shmem_allowable_huge_orders, mm/shmem.c).
pub(in crate::observe::inspect::reasons) fn shmem_mode<'a>(
    range: &Range<'a>,
) -> Option<(&'static str, &'a str)> {
    let global = range.thp()?.shmem_enabled.as_deref()?;
    match range.mapping.kind {
        Kind::Tmpfs | Kind::SharedMemory if matches!(global, "deny" | "force") => {
            Some(("shmem_enabled", global))
        }
        Kind::Tmpfs => {
            let own = range.mapping.mount_huge.as_deref();
            Some(("the mount option huge", own.unwrap_or("never")))
        }
        Kind::SharedMemory => {
            let kib = range.space.huge_bytes / 1024;
            match range.settings.shmem_sizes.get(&kib).map(String::as_str) {
                None | Some("inherit") => Some(("shmem_enabled", global)),
                Some(own) => Some(("shmem_enabled of the size", own)),
            }
        }
        _ => None,
    }
}
