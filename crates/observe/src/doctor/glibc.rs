//! Effects of glibc's tunables on this machine, and expected effects that they do not have.

use super::settings::{setting, thp};
use super::{Evidence, Examination, Remark, Severity};
use hugewise_base::tunables::{MALLOC_HUGETLB, Tunable, TunablePlace};

/// A value of the tunable of malloc that programs here get without a policy.
fn hugetlb<'a>(examination: &'a Examination, value: &str) -> Option<&'a Tunable> {
    let set = examination.host.tunables.get(MALLOC_HUGETLB);
    set.filter(|it| it.value == value)
}

fn evidence(tunable: &Tunable) -> Evidence {
    let program = tunable.program.as_ref();
    let program = program.map_or_else(String::new, |name| format!(" for {name}"));
    Evidence::new(tunable.place.to_string(), format!("{tunable}{program}"))
}

/// The file acts on programs whose environment does not show it.
pub(super) fn file_sets_malloc(examination: &Examination) -> Option<Remark> {
    let all = examination.host.tunables.iter();
    let of_file = all.filter(|it| it.place == TunablePlace::File && it.name == MALLOC_HUGETLB);
    let found: Vec<&Tunable> = of_file.collect();
    if found.is_empty() {
        return None;
    }
    let remedy = match found.iter().any(|it| it.fixed) {
        true => {
            "remove the line and run ldconfig; a line with `-` or `nonoverridable` ignores \
             GLIBC_TUNABLES, and so malloc=thp and glibc.malloc.hugetlb=0"
        }
        false => "compare as-is with the policy glibc.malloc.hugetlb=0",
    };
    Some(Remark::new(
        "glibc-tunables-of-machine",
        Severity::Note,
        found.into_iter().map(evidence).collect(),
        "programs get this tunable of malloc without a policy: as-is includes it",
        remedy,
    ))
}

/// Up to 2.42 mode 1 acts only if `enabled` is madvise (sysdeps/unix/sysv/linux/malloc-hugepages.c,
/// `__malloc_thp_mode`).
pub(super) fn hugetlb_ignored(examination: &Examination) -> Option<Remark> {
    let tunable = hugetlb(examination, "1")?;
    let thp = thp(examination).filter(|thp| thp.enabled != "madvise")?;
    let version = examination
        .host
        .glibc
        .filter(|&version| version <= (2, 42))?;
    Some(Remark::new(
        "glibc-hugetlb-ignored",
        Severity::Wrong,
        vec![
            evidence(tunable),
            setting("enabled", &thp.enabled),
            Evidence::new("glibc", format!("{}.{}", version.0, version.1)),
        ],
        "this glibc advises its heap only where `enabled` is madvise: the tunable has no effect here",
        "set glibc.malloc.top_pad instead, or enabled=madvise",
    ))
}

pub(super) fn hugetlb_without_pool(examination: &Examination) -> Option<Remark> {
    let tunable = hugetlb(examination, "2")?;
    let pages = examination.host.hugetlb.values();
    if pages
        .map(|pool| pool.total.saturating_add(pool.overcommit))
        .any(|pages| pages > 0)
    {
        return None;
    }
    Some(Remark::new(
        "glibc-hugetlb-without-pool",
        Severity::Wrong,
        vec![
            evidence(tunable),
            Evidence::new("/sys/kernel/mm/hugepages/*/nr{,_overcommit}_hugepages", 0),
        ],
        "there is no hugetlb pool: malloc silently falls back to small pages",
        "reserve a pool, or set glibc.malloc.hugetlb=1 for transparent huge pages",
    ))
}

/// Under `madvise` many expect small pages in programs that do not ask. Reported with 640 MiB
/// more idle memory on a small machine (sourceware bug 34081).
pub(super) fn advises_by_itself(examination: &Examination) -> Option<Remark> {
    let version = examination.host.glibc?;
    examination.host.malloc_advises_by_itself().then(|| {
        Remark::new(
            "glibc-advises-by-itself",
            Severity::Note,
            vec![
                Evidence::new("glibc", format!("{}.{} on aarch64", version.0, version.1)),
                setting("enabled", "madvise"),
            ],
            "this malloc advises its heap by default: programs that do not ask for huge pages get \
             them, and idle heaps may hold more memory",
            "compare as-is with the policy glibc.malloc.hugetlb=0; in GLIBC_TUNABLES it turns this off",
        )
    })
}

pub(super) fn takes_advice_by_chance(examination: &Examination) -> Option<Remark> {
    let (major, minor) = examination.host.glibc?;
    examination.host.malloc_takes_advice_by_chance().then(|| {
        Remark::new(
            "glibc-takes-advice-by-chance",
            Severity::Note,
            vec![Evidence::new("glibc", format!("{major}.{minor}"))],
            "malloc of this glibc obeys glibc.malloc.hugetlb=1 in some processes and not in \
             others, unless LD_BIND_NOW=1 is set too, as malloc=thp does",
            "set LD_BIND_NOW=1 too, or update to glibc 2.38 or newer",
        )
    })
}
