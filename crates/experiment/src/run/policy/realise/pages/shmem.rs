//! `shmem=` and `mthp_shmem=`: huge pages of shared memory.

use super::{Draft, Wanted, want};
use crate::base::host::ThpSettings;
use crate::run::policy::parse::kib_text;
use crate::run::policy::words::Word;
use crate::run::policy::{Shmem, ShmemMode, Thp};

/// The switch of a process also forbids huge shared memory, except with `force` (`shmem_allowable_huge_orders`,
/// mm/shmem.c).
pub(super) fn check(draft: &mut Draft<'_>, thp: &ThpSettings) {
    let settings = &draft.policy.settings;
    let idle = |mode: &Shmem| matches!(mode, Shmem::Never | Shmem::Deny | Shmem::Force);
    let asks = settings.shmem.is_some_and(|mode| !idle(&mode))
        || settings
            .mthp_shmem
            .values()
            .any(|&mode| mode != ShmemMode::Never);
    if settings.shmem.is_some() && thp.shmem_enabled.is_none() {
        draft.obstacle(
            "this kernel has no shmem_enabled: shared memory is never huge",
            "use a kernel with CONFIG_SHMEM and CONFIG_TRANSPARENT_HUGEPAGE",
        );
    } else if asks && settings.thp == Some(Thp::Never) {
        let size = kib_text(thp.pmd_bytes / 1024);
        draft.obstacle(
            "thp=never keeps huge pages from shared memory too, and shmem= asks for them",
            format!("write mthp={size}:never to disable only huge anonymous memory"),
        );
    }
}

/// The modes of `mthp_shmem=`. If `shmem=` decides over pages of the PMD size, also their individual mode, which would
/// override it.
pub(super) fn want_sizes(draft: &Draft<'_>, thp: &ThpSettings, wanted: &mut Vec<Wanted>) {
    let settings = &draft.policy.settings;
    let file = |kib: u64| format!("hugepages-{kib}kB/shmem_enabled");
    for (&kib, mode) in &settings.mthp_shmem {
        if let Some(current) = thp.shmem_sizes.get(&kib) {
            wanted.push(want(&file(kib), mode.word(), current));
        }
    }
    let pmd_kib = thp.pmd_bytes / 1024;
    let own = thp.shmem_sizes.get(&pmd_kib);
    let decides = settings.shmem.is_some() && !settings.mthp_shmem.contains_key(&pmd_kib);
    if let Some(own) = own.filter(|_| decides) {
        wanted.push(want(&file(pmd_kib), "inherit", own));
    }
}
