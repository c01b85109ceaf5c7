//! Effects of glibc's tunables on this machine, and expected effects that they do not have.

use super::settings::{setting, thp};
use super::{Evidence, Examination, Remark, Severity};

/// One tunable of `GLIBC_TUNABLES`; the last of several counts.
fn tunable<'a>(examination: &'a Examination, name: &str) -> Option<&'a str> {
    examination
        .facts
        .glibc_tunables
        .as_deref()?
        .split(':')
        .filter_map(|pair| pair.split_once('='))
        .rfind(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Up to 2.42 mode 1 acts only if `enabled` is madvise (sysdeps/unix/sysv/linux/malloc-hugepages.c,
/// `__malloc_thp_mode`).
pub(super) fn hugetlb_ignored(examination: &Examination) -> Option<Remark> {
    let value = tunable(examination, "glibc.malloc.hugetlb").filter(|value| *value == "1")?;
    let thp = thp(examination).filter(|thp| thp.enabled != "madvise")?;
    let version = examination
        .host
        .glibc
        .filter(|&version| version <= (2, 42))?;
    Some(Remark::new(
        "glibc-hugetlb-ignored",
        Severity::Wrong,
        vec![
            Evidence::new("GLIBC_TUNABLES", format!("glibc.malloc.hugetlb={value}")),
            setting("enabled", &thp.enabled),
            Evidence::new("glibc", format!("{}.{}", version.0, version.1)),
        ],
        "this glibc advises its heap only where `enabled` is madvise: the tunable has no effect here",
        "set glibc.malloc.top_pad instead, or enabled=madvise",
    ))
}

pub(super) fn hugetlb_without_pool(examination: &Examination) -> Option<Remark> {
    let value = tunable(examination, "glibc.malloc.hugetlb").filter(|value| *value == "2")?;
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
            Evidence::new("GLIBC_TUNABLES", format!("glibc.malloc.hugetlb={value}")),
            Evidence::new("/sys/kernel/mm/hugepages/*/nr{,_overcommit}_hugepages", 0),
        ],
        "there is no hugetlb pool: malloc silently falls back to small pages",
        "reserve a pool, or set glibc.malloc.hugetlb=1 for transparent huge pages",
    ))
}

/// Under `madvise` many expect small pages in programs that do not ask. Reported with 640 MiB
/// more idle memory on a small machine (sourceware bug 34081).
pub(super) fn advises_by_itself(examination: &Examination) -> Option<Remark> {
    let is_set = tunable(examination, "glibc.malloc.hugetlb").is_some();
    let version = examination.host.glibc.filter(|_| !is_set)?;
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
