//! `tmpfs=`: a mount over a tmpfs of the machine, in a separate mount namespace.

use std::path::Path;

use super::{Draft, Reach};
use crate::run::policy::{Thp, Tmpfs, TmpfsMode};

pub(super) fn reach(draft: &mut Draft<'_>) {
    let Some(tmpfs) = draft.policy.settings.tmpfs.clone() else {
        return;
    };
    if draft.reach == Reach::Machine {
        draft.obstacle(
            "tmpfs= mounts for one program, and running programs keep their mounts",
            format!("for all programs: {}", tmpfs.remount()),
        );
    }
    check_mode(draft, &tmpfs);
    check_libraries(draft, &tmpfs);
    draft.realisation.tmpfs = Some(tmpfs);
}

/// `deny`, `force` and the switch of a process override the option of a mount (`shmem_allowable_huge_orders`,
/// mm/shmem.c).
fn check_mode(draft: &mut Draft<'_>, tmpfs: &Tmpfs) {
    let settings = &draft.policy.settings;
    let asks = tmpfs.mode() != TmpfsMode::Never;
    let Ok(thp) = &draft.host.thp else { return };
    let by_policy = settings.shmem.map(<&'static str>::from);
    let global = by_policy.or(thp.shmem_enabled.as_deref());
    match global {
        None if asks => draft.obstacle(
            "this kernel has no shmem_enabled: a tmpfs is never huge",
            "use a kernel with CONFIG_SHMEM and CONFIG_TRANSPARENT_HUGEPAGE",
        ),
        Some(mode @ ("deny" | "force")) => draft.obstacle(
            format!("shmem_enabled={mode} overrides the option huge= of every tmpfs"),
            "set shmem_enabled to never",
        ),
        _ if asks && settings.thp == Some(Thp::Never) => draft.obstacle(
            "thp=never keeps huge pages from a tmpfs too, and tmpfs= asks for them",
            "leave thp=never or tmpfs= out",
        ),
        _ => {}
    }
}

/// A preloaded library must not lie below the new mount.
fn check_libraries(draft: &mut Draft<'_>, tmpfs: &Tmpfs) {
    let realisation = &draft.realisation;
    let mut libraries = realisation.library.iter().chain(&realisation.preload);
    let hidden = libraries.find(|it| tmpfs.hides(Path::new(it)));
    if let Some(library) = hidden.cloned() {
        draft.obstacle(
            format!(
                "the program would not find {library}, which is preloaded from below {}",
                tmpfs.path()
            ),
            "leave the other key or tmpfs= out",
        );
    }
}
