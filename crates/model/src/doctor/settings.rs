//! Settings that are wrong, contradict each other, or do not do what is often believed.
//! One function each.

use std::collections::BTreeMap;

use super::boot_line;
use super::{Evidence, Examination, Remark, Rule, Rung, Severity, Support};
use crate::base::host::{THP_DIR, ThpSettings};
use crate::base::missing::Missing;

pub(super) const RULES: &[Rule] = &[
    unreadable,
    boot_line::misspelt,
    boot_line::bad_value,
    boot_line::thp_anon_silences_pmd,
    boot_line::overridden,
    size_overrides_never,
    pmd_size_silenced,
    shrinker_disarmed,
    defrag_always,
    khugepaged_never_compacts,
    zero_page_off,
    shmem_apart,
    never_and_collapse,
    idle_hugetlb_pool,
    glibc_hugetlb_ignored,
    glibc_hugetlb_without_pool,
    glibc_advises_by_itself,
    read_only_settings,
];

/// `max_ptes_none` at which the shrinker of underused huge pages gives up, and khugepaged turns
/// one touched page into a huge one: one less than the entries of a page table.
fn most_ptes(seen: &Examination, thp: &ThpSettings) -> Option<u64> {
    thp.pmd_bytes
        .checked_div(seen.host.page_bytes)?
        .checked_sub(1)
}

fn thp(seen: &Examination) -> Option<&ThpSettings> {
    seen.host.thp.as_ref().ok()
}

fn setting(file: &str, value: impl std::fmt::Display) -> Evidence {
    Evidence::new(format!("/{THP_DIR}/{file}"), value)
}

fn sizes_with<'a>(thp: &'a ThpSettings, mode: &'a str) -> impl Iterator<Item = u64> + 'a {
    thp.sizes
        .iter()
        .filter(move |(_, own)| *own == mode)
        .map(|(&kib, _)| kib)
}

/// Without the settings, most rules below are silent: that must be said.
fn unreadable(seen: &Examination) -> Option<Remark> {
    let missing = seen.host.thp.as_ref().err()?;
    if matches!(missing, Missing::NotSupported { .. }) {
        return None;
    }
    Some(Remark::new(
        "settings-unreadable",
        Severity::Wrong,
        vec![setting("", missing)],
        "the THP settings of this machine could not be read: nothing is said about them here",
        "",
    ))
}

fn size_overrides_never(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| thp.enabled == "never")?;
    let own: Vec<(u64, &str)> = sizes_with(thp, "always")
        .map(|kib| (kib, "always"))
        .chain(sizes_with(thp, "madvise").map(|kib| (kib, "madvise")))
        .collect();
    if own.is_empty() {
        return None;
    }
    let mut evidence = vec![setting("enabled", "never")];
    evidence.extend(
        own.iter()
            .map(|(kib, mode)| setting(&format!("hugepages-{kib}kB/enabled"), mode)),
    );
    Some(Remark::new(
        "size-overrides-never",
        Severity::Wrong,
        evidence,
        "THP is not off: the files of the sizes decide, and only `inherit` asks the global one",
        "write never or inherit to the sizes, or set the global file to what is meant",
    ))
}

fn pmd_size_silenced(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| thp.enabled != "never")?;
    let kib = thp.pmd_bytes / 1024;
    let mode = thp.sizes.get(&kib).filter(|mode| *mode == "never")?;
    Some(Remark::new(
        "pmd-size-silenced",
        Severity::Wrong,
        vec![
            setting("enabled", &thp.enabled),
            setting(&format!("hugepages-{kib}kB/enabled"), mode),
        ],
        format!(
            "no program gets pages of {kib} kB, although `enabled` says {}",
            thp.enabled
        ),
        format!("echo inherit > /{THP_DIR}/hugepages-{kib}kB/enabled"),
    ))
}

fn shrinker_disarmed(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| thp.effective_pmd_mode() != "never")?;
    let limit = *thp.khugepaged.get("max_ptes_none")?;
    if seen.facts.shrink_underused != Some(true) || Some(limit) != most_ptes(seen, thp) {
        return None;
    }
    Some(Remark::new(
        "shrinker-disarmed",
        Severity::Note,
        vec![
            setting("shrink_underused", 1),
            setting("khugepaged/max_ptes_none", limit),
        ],
        "the shrinker of mostly empty huge pages does nothing at this value, and khugepaged makes \
         a huge page out of a single touched one: memory can grow",
        "lower max_ptes_none, which arms the one and tames the other (thp_underused, mm/huge_memory.c)",
    ))
}

fn defrag_always(seen: &Examination) -> Option<Remark> {
    let thp =
        thp(seen).filter(|thp| thp.defrag == "always" && thp.effective_pmd_mode() != "never")?;
    Some(Remark::new(
        "defrag-always",
        Severity::Warning,
        vec![setting("defrag", &thp.defrag)],
        "every huge fault may compact and reclaim memory itself, in programs that never asked for \
         it: stalls from milliseconds up where memory is fragmented",
        "defer+madvise keeps the effort for advised memory; measure tails before and after",
    ))
}

fn khugepaged_never_compacts(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| thp.effective_pmd_mode() != "never")?;
    (thp.khugepaged.get("defrag") == Some(&0)).then(|| {
        Remark::new(
            "khugepaged-never-compacts",
            Severity::Note,
            vec![setting("khugepaged/defrag", 0)],
            "khugepaged takes only huge blocks that are free already: on a fragmented machine it \
             collapses nothing",
            format!("echo 1 > /{THP_DIR}/khugepaged/defrag"),
        )
    })
}

fn zero_page_off(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| !thp.zero_page && thp.effective_pmd_mode() != "never")?;
    Some(Remark::new(
        "zero-page-off",
        Severity::Note,
        vec![setting("use_zero_page", u8::from(thp.zero_page))],
        "reading untouched memory allocates real huge pages: memory grows with reads",
        "",
    ))
}

/// Shared memory has switches of its own: the global file, and since 6.11 one for each size,
/// which `inherit` hands over to the global one (`shmem_allowable_huge_orders`, mm/shmem.c).
fn shmem_apart(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen)?;
    let global = thp.shmem_enabled.as_deref()?;
    let shared = shares_huge(global, &seen.facts.shmem_sizes);
    let anonymous =
        thp.effective_pmd_mode() != "never" || thp.enabled_mthp_sizes().next().is_some();
    if anonymous == shared {
        return None;
    }
    let meaning = if shared {
        "shared memory gets huge pages although anonymous memory does not"
    } else {
        "shared anonymous memory, memfd and SysV segments never get huge pages at a fault: \
         `enabled` does not govern them"
    };
    let mut evidence = vec![pmd_mode(thp), setting("shmem_enabled", global)];
    let own = |mode: &str| !matches!(mode, "never" | "inherit");
    let sizes = seen.facts.shmem_sizes.iter().filter(|(_, mode)| own(mode));
    evidence.extend(
        sizes.map(|(kib, mode)| setting(&format!("hugepages-{kib}kB/shmem_enabled"), mode)),
    );
    Some(Remark::new(
        "shmem-apart",
        Severity::Note,
        evidence,
        meaning,
        "tmpfs mounts have their own huge= option; shmem_enabled=advise follows madvise(2)",
    ))
}

fn shares_huge(global: &str, sizes: &BTreeMap<u64, String>) -> bool {
    match global {
        "force" => true,
        "deny" => false,
        _ if sizes.is_empty() => global != "never",
        _ => sizes.values().any(|mode| match mode.as_str() {
            "inherit" => global != "never",
            own => own != "never",
        }),
    }
}

/// The file that decides about anonymous memory of the PMD size, and what it says.
fn pmd_mode(thp: &ThpSettings) -> Evidence {
    let kib = thp.pmd_bytes / 1024;
    match thp.sizes.get(&kib).filter(|mode| *mode != "inherit") {
        Some(own) => setting(&format!("hugepages-{kib}kB/enabled"), own),
        None => setting("enabled", &thp.enabled),
    }
}

fn never_and_collapse(seen: &Examination) -> Option<Remark> {
    let thp = thp(seen).filter(|thp| thp.effective_pmd_mode() == "never")?;
    if !seen
        .ladder
        .get(&Rung::Collapse)
        .is_some_and(Support::is_yes)
    {
        return None;
    }
    Some(Remark::new(
        "never-is-not-never",
        Severity::Note,
        vec![
            pmd_mode(thp),
            Evidence::new("madvise(MADV_COLLAPSE)", "accepted"),
        ],
        "never does not forbid MADV_COLLAPSE: programs and tools can still make huge pages",
        "PR_SET_THP_DISABLE forbids it for a process",
    ))
}

fn idle_hugetlb_pool(seen: &Examination) -> Option<Remark> {
    let (bytes, pool) = seen
        .host
        .hugetlb
        .iter()
        .find(|(_, pool)| pool.total > 0 && pool.free == pool.total && pool.reserved == 0)?;
    let folder = format!("/sys/kernel/mm/hugepages/hugepages-{}kB", bytes / 1024);
    Some(Remark::new(
        "idle-hugetlb-pool",
        Severity::Warning,
        vec![
            Evidence::new(format!("{folder}/nr_hugepages"), pool.total),
            Evidence::new(format!("{folder}/free_hugepages"), pool.free),
        ],
        format!(
            "{} are set aside and nothing uses them; no other program can",
            crate::base::units::bytes_text(bytes.saturating_mul(pool.total))
        ),
        format!("echo 0 > {folder}/nr_hugepages, or find out why its program does not take them"),
    ))
}

/// One tunable of `GLIBC_TUNABLES`; the last of several counts.
fn tunable<'a>(seen: &'a Examination, name: &str) -> Option<&'a str> {
    seen.facts
        .glibc_tunables
        .as_deref()?
        .split(':')
        .filter_map(|pair| pair.split_once('='))
        .rfind(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Up to 2.42 mode 1 acts only where `enabled` says madvise (sysdeps/unix/sysv/linux/
/// malloc-hugepages.c, `__malloc_thp_mode`).
fn glibc_hugetlb_ignored(seen: &Examination) -> Option<Remark> {
    let value = tunable(seen, "glibc.malloc.hugetlb").filter(|value| *value == "1")?;
    let thp = thp(seen).filter(|thp| thp.enabled != "madvise")?;
    let version = seen.host.glibc.filter(|&version| version <= (2, 42))?;
    Some(Remark::new(
        "glibc-hugetlb-ignored",
        Severity::Wrong,
        vec![
            Evidence::new("GLIBC_TUNABLES", format!("glibc.malloc.hugetlb={value}")),
            setting("enabled", &thp.enabled),
            Evidence::new("glibc", format!("{}.{}", version.0, version.1)),
        ],
        "this glibc advises its heap only where `enabled` says madvise: the tunable does nothing here",
        "set glibc.malloc.top_pad instead, or enabled=madvise",
    ))
}

fn glibc_hugetlb_without_pool(seen: &Examination) -> Option<Remark> {
    let value = tunable(seen, "glibc.malloc.hugetlb").filter(|value| *value == "2")?;
    let pages = seen.host.hugetlb.values();
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
        "there is no pool to take pages from: malloc falls back to small pages without a word",
        "reserve a pool, or use glibc.malloc.hugetlb=1, which means transparent huge pages",
    ))
}

/// Under `madvise` many expect small pages of programs that ask for nothing. Reported with 640 MiB
/// more of idle memory on a small machine (sourceware bug 34081).
fn glibc_advises_by_itself(seen: &Examination) -> Option<Remark> {
    let told = tunable(seen, "glibc.malloc.hugetlb").is_some();
    let version = seen.host.glibc.filter(|_| !told)?;
    seen.host.malloc_advises_by_itself().then(|| {
        Remark::new(
            "glibc-advises-by-itself",
            Severity::Note,
            vec![
                Evidence::new("glibc", format!("{}.{} on aarch64", version.0, version.1)),
                setting("enabled", "madvise"),
            ],
            "malloc advises its heap without being told to: memory of programs that ask for nothing \
             is huge here, and idle heaps may hold more of it",
            "compare as-is with the policy glibc.malloc.hugetlb=0; GLIBC_TUNABLES with that turns it \
             off",
        )
    })
}

fn read_only_settings(seen: &Examination) -> Option<Remark> {
    (seen.facts.thp_read_only == Some(true)).then(|| {
        Remark::new(
            "settings-read-only",
            Severity::Note,
            vec![Evidence::new(
                format!("open(/{THP_DIR}/enabled, O_WRONLY)"),
                "EROFS",
            )],
            "these settings belong to the machine, not to this container: nobody in here can change \
             them",
            "set policies per process; hugewise does so by itself",
        )
    })
}
