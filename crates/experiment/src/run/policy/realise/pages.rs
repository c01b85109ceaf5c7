//! The keys implemented by the kernel: `thp`, `mthp`, `defrag`, `zero_page`, `khugepaged.FILE`, `shmem`, `mthp_shmem`.

use std::collections::BTreeMap;

use super::{Draft, FileWrite, Reach, ThpPrctl, mechanism};
use crate::base::host::{THP_DIR, ThpDisable, ThpSettings};
use crate::base::missing::Missing;
use crate::run::policy::key::{Acts, Entry};
use crate::run::policy::parse::{kib_text, one_of};
use crate::run::policy::words::Word;
use crate::run::policy::{Malloc, SizeMode, Text, Thp};

mod shmem;

/// Up to this version, glibc advises its heap only while `enabled` reads `madvise`
/// (sysdeps/unix/sysv/linux/malloc-hugepages.c; 2.43 also honours `always`).
pub(super) const LAST_GLIBC_MADVISE_ONLY: (u32, u32) = (2, 42);

pub(super) fn reach(draft: &mut Draft<'_>) {
    match &draft.host.thp {
        Ok(thp) => reach_with_thp(draft, thp),
        Err(missing) => reach_without_thp(draft, missing),
    }
}

/// The settings that a kernel without transparent huge pages satisfies.
const WITHOUT_THP: [&str; 2] = ["thp=never", "thp=inherit"];

/// Without transparent huge pages, `thp=never` is already the case.
fn reach_without_thp(draft: &mut Draft<'_>, missing: &Missing) {
    let settings = &draft.policy.settings;
    let mut keys: Vec<&str> = settings
        .entries()
        .filter(|entry| {
            matches!(entry.key.acts, Acts::Pages | Acts::Making)
                && !WITHOUT_THP.contains(&&*entry.to_string())
        })
        .map(|entry| entry.key.word())
        .collect();
    keys.dedup();
    if settings.malloc == Some(Malloc::Thp) {
        keys.push("malloc=thp");
    }
    if !keys.is_empty() {
        let (problem, remedy) = no_thp(missing);
        draft.obstacle(
            format!("{problem}, which {} needs", keys.join(", ")),
            remedy,
        );
    }
}

fn no_thp(missing: &Missing) -> (String, &'static str) {
    match missing {
        Missing::NotSupported { .. } => (
            "this kernel has no transparent huge pages".to_owned(),
            "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE (a PREEMPT_RT kernel cannot have it)",
        ),
        _ => (
            format!("the settings of transparent huge pages could not be read ({missing})"),
            "see what `hugewise doctor` says about /sys/kernel/mm/transparent_hugepage",
        ),
    }
}

fn reach_with_thp(draft: &mut Draft<'_>, thp: &ThpSettings) {
    let settings = &draft.policy.settings;
    check_sizes(draft, settings.mthp.keys(), &thp.sizes, "6.8");
    check_sizes(draft, settings.mthp_shmem.keys(), &thp.shmem_sizes, "6.11");
    shmem::check(draft, thp);
    check_khugepaged(draft, thp);
    check_switch(draft);
    check_contradictions(draft, thp);
    mechanism::check(draft);
    let mut wanted = Vec::new();
    reach_mode(draft, thp, &mut wanted);
    want_sizes(draft, thp, &mut wanted);
    shmem::want_sizes(draft, thp, &mut wanted);
    want_others(draft, thp, &mut wanted);
    write_where_needed(draft, wanted);
}

/// A system file with its wanted and its present value.
pub(super) struct Wanted {
    pub(super) write: FileWrite,
    pub(super) current: String,
}

fn want(file: &str, value: &str, current: &str) -> Wanted {
    Wanted {
        write: FileWrite {
            path: format!("{THP_DIR}/{file}"),
            value: value.to_owned(),
        },
        current: current.to_owned(),
    }
}

/// Reports sizes without a file here; the kernel `since` has such files.
fn check_sizes<'a>(
    draft: &mut Draft<'_>,
    wanted: impl Iterator<Item = &'a u64>,
    there: &BTreeMap<u64, String>,
    since: &str,
) {
    let absent = wanted.filter(|kib| !there.contains_key(kib));
    let absent: Vec<String> = absent.map(|&kib| kib_text(kib)).collect();
    if absent.is_empty() {
        return;
    }
    let remedy = if there.is_empty() {
        format!("per-size settings need Linux {since}")
    } else {
        let there: Vec<String> = there.keys().map(|&kib| kib_text(kib)).collect();
        format!("the sizes here are {}", there.join(", "))
    };
    draft.obstacle(
        format!("there are no pages of {} to set", absent.join(", ")),
        remedy,
    );
}

fn check_khugepaged(draft: &mut Draft<'_>, thp: &ThpSettings) {
    for file in draft.policy.settings.khugepaged.keys() {
        if !thp.khugepaged.contains_key(file) {
            let there: Vec<&str> = thp.khugepaged.keys().map(String::as_str).collect();
            draft.obstacle(
                format!("khugepaged has no setting `{file}` here"),
                format!("write {}", one_of(&there)),
            );
        }
    }
}

/// An inherited switch overrides the files of a size.
fn check_switch(draft: &mut Draft<'_>) {
    let settings = &draft.policy.settings;
    if !matches!(settings.thp, None | Some(Thp::Inherit)) {
        return;
    }
    let asks = |mode: &SizeMode| match draft.host.thp_disable {
        ThpDisable::Off => false,
        ThpDisable::Disabled => *mode != SizeMode::Never,
        ThpDisable::ExceptAdvised => *mode == SizeMode::Always,
    };
    let advises =
        settings.malloc == Some(Malloc::Thp) && draft.host.thp_disable == ThpDisable::Disabled;
    let traces_code = settings.text.is_some_and(Text::is_traced);
    let collapses = (settings.collapse.is_some() || traces_code)
        && draft.host.thp_disable == ThpDisable::Disabled;
    if advises || collapses || settings.mthp.values().any(asks) {
        draft.obstacle(
            "this process inherited PR_SET_THP_DISABLE, which keeps these pages from it",
            "add thp=madvise or thp=always, which clears it, or start from a process without it",
        );
    }
}

fn check_contradictions(draft: &mut Draft<'_>, thp: &ThpSettings) {
    let settings = &draft.policy.settings;
    let pmd_kib = thp.pmd_bytes / 1024;
    match (settings.thp, settings.mthp.get(&pmd_kib)) {
        (Some(Thp::Never), _) if settings.mthp.values().any(|&mode| mode != SizeMode::Never) => {
            draft.obstacle(
                "thp=never keeps every size from the program, and mthp= asks for one",
                format!(
                    "write mthp={}:never to disable only huge pages of that size",
                    kib_text(pmd_kib)
                ),
            );
        }
        (Some(wanted @ (Thp::Madvise | Thp::Always)), Some(&mode))
            if mode != SizeMode::Inherit && mode.word() != wanted.word() =>
        {
            let size = kib_text(pmd_kib);
            draft.obstacle(
                format!(
                    "thp={} and mthp={size}:{} set the same pages",
                    wanted.word(),
                    mode.word()
                ),
                format!("leave one of them out or write mthp={size}:inherit"),
            );
        }
        _ => {}
    }
}

/// `thp=`: the switch of the process if it suffices, otherwise the files.
fn reach_mode(draft: &mut Draft<'_>, thp: &ThpSettings, wanted: &mut Vec<Wanted>) {
    let mode = match draft.policy.settings.thp {
        None | Some(Thp::Inherit) => return,
        Some(mode) if draft.reach == Reach::Machine => {
            want_mode(draft, thp, mode, wanted);
            return;
        }
        Some(Thp::Never) => {
            draft.realisation.prctl = ThpPrctl::Disable;
            return;
        }
        Some(mode) => mode,
    };
    if mode == Thp::Madvise && the_switch_suffices(draft, thp) {
        draft.realisation.prctl = ThpPrctl::ExceptAdvised;
        return;
    }
    if draft.host.thp_disable != ThpDisable::Off {
        draft.realisation.prctl = ThpPrctl::Clear;
    }
    let is_advised = mode == Thp::Always && mechanism::advise(draft, pmd_mode(draft, thp));
    if !is_advised {
        want_mode(draft, thp, mode, wanted);
    }
}

/// Returns true if `PR_THP_DISABLE_EXCEPT_ADVISED` is equivalent to `thp=madvise`. It narrows every size to advised
/// memory and does not change the file that glibc reads.
fn the_switch_suffices(draft: &Draft<'_>, thp: &ThpSettings) -> bool {
    let sizes_stay_open = draft
        .policy
        .settings
        .mthp
        .values()
        .any(|&mode| mode == SizeMode::Always);
    draft.host.except_advised
        && pmd_mode(draft, thp) == "always"
        && !sizes_stay_open
        && !glibc_reads_the_file(draft)
}

fn glibc_reads_the_file(draft: &Draft<'_>) -> bool {
    draft.policy.settings.malloc == Some(Malloc::Thp)
        && draft
            .host
            .glibc
            .is_some_and(|glibc| glibc <= LAST_GLIBC_MADVISE_ONLY)
}

/// The mode of PMD pages after `mthp=` is written, without a change of `enabled`.
fn pmd_mode<'a>(draft: &Draft<'a>, thp: &'a ThpSettings) -> &'a str {
    match pmd_file(draft, thp) {
        None | Some("inherit") => &thp.enabled,
        Some(own) => own,
    }
}

fn pmd_file<'a>(draft: &Draft<'a>, thp: &'a ThpSettings) -> Option<&'a str> {
    let pmd_kib = thp.pmd_bytes / 1024;
    match draft.policy.settings.mthp.get(&pmd_kib) {
        Some(mode) => Some(mode.word()),
        None => thp.sizes.get(&pmd_kib).map(String::as_str),
    }
}

fn want_mode(draft: &Draft<'_>, thp: &ThpSettings, mode: Thp, wanted: &mut Vec<Wanted>) {
    let own = pmd_file(draft, thp).filter(|own| *own != "inherit");
    let for_glibc = mode == Thp::Madvise && glibc_reads_the_file(draft);
    if own != Some(mode.word()) || for_glibc {
        wanted.push(want("enabled", mode.word(), &thp.enabled));
    }
    if let Some(own) = own.filter(|own| *own != mode.word()) {
        wanted.push(want(&size_file(thp.pmd_bytes / 1024), "inherit", own));
    }
}

fn size_file(kib: u64) -> String {
    format!("hugepages-{kib}kB/enabled")
}

fn want_sizes(draft: &Draft<'_>, thp: &ThpSettings, wanted: &mut Vec<Wanted>) {
    for (&kib, mode) in &draft.policy.settings.mthp {
        if let Some(current) = thp.sizes.get(&kib) {
            wanted.push(want(&size_file(kib), mode.word(), current));
        }
    }
}

fn want_others(draft: &Draft<'_>, thp: &ThpSettings, wanted: &mut Vec<Wanted>) {
    for Entry { key, name, value } in draft.policy.settings.entries() {
        let Some(file) = &key.file else { continue };
        if let Some(current) = (file.current)(thp, &name) {
            wanted.push(want(&file.path_of(key, &name), &value, &current));
        }
    }
}

/// Keeps the writes that change something; they need `--system` and write permission.
pub(super) fn write_where_needed(draft: &mut Draft<'_>, mut wanted: Vec<Wanted>) {
    wanted.retain(|file| file.current != file.write.value);
    let allowed = draft.reach.has_settings() && draft.host.user.can_write_thp;
    if !wanted.is_empty() && !allowed {
        let remedy = how_to_write(draft).to_owned() + how_to_trace(draft, &wanted);
        draft.obstacle(what_would_change(&wanted), remedy);
    }
    let writes = wanted.into_iter().map(|file| file.write);
    draft.realisation.files.extend(writes);
}

fn what_would_change(wanted: &[Wanted]) -> String {
    let changes: Vec<String> = wanted
        .iter()
        .map(|Wanted { write, current }| {
            format!(
                "/{} reads `{current}` and must read `{}`",
                write.path, write.value
            )
        })
        .collect();
    changes.join(", ")
}

/// The alternative, if only `thp=always` is wanted and only tracing is refused.
fn how_to_trace(draft: &Draft<'_>, wanted: &[Wanted]) -> &'static str {
    let mode_alone = wanted.len() == 1 && draft.policy.settings.thp == Some(Thp::Always);
    let advised = draft
        .host
        .thp
        .as_ref()
        .is_ok_and(|thp| pmd_mode(draft, thp) == "madvise");
    match mode_alone && advised && !draft.host.can_trace {
        true => {
            "; or allow tracing, which needs no root: kernel.yama.ptrace_scope below 2, and a \
             container whose seccomp profile allows ptrace and seccomp"
        }
        false => "",
    }
}

fn how_to_write(draft: &Draft<'_>) -> &'static str {
    match (draft.reach, draft.host.user.can_write_thp) {
        (Reach::Process, true) => "run with --system",
        (Reach::Process, false) if draft.host.user.uid != 0 => "run as root with --system",
        (Reach::Process, false) => "run outside the container, with --system",
        (Reach::System | Reach::Machine, _) if draft.host.user.uid == 0 => {
            "the files cannot be written even by root here; run outside the container"
        }
        (Reach::System | Reach::Machine, _) => "run as root, outside a container",
    }
}
