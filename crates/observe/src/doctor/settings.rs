//! Settings that are wrong, contradictory or often misunderstood, one function each.

use std::collections::BTreeMap;

use super::{Evidence, Examination, Feature, Remark, Rule, Severity, Support, boot_line, glibc};
use hugewise_base::host::{HugetlbPool, THP_DIR, ThpSettings};
use hugewise_base::missing::Missing;
use hugewise_base::units::bytes_text;

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
    vmemmap_kept,
    glibc::hugetlb_ignored,
    glibc::hugetlb_without_pool,
    glibc::advises_by_itself,
    glibc::takes_advice_by_chance,
    glibc::file_sets_malloc,
    read_only_settings,
];

/// The value of `max_ptes_none` at which the shrinker of underused huge pages gives up, and khugepaged collapses a
/// range with a single touched page. It is one less than the entries of a page table.
fn most_ptes(examination: &Examination, thp: &ThpSettings) -> Option<u64> {
    thp.pmd_bytes
        .checked_div(examination.host.page_bytes)?
        .checked_sub(1)
}

pub(super) fn thp(examination: &Examination) -> Option<&ThpSettings> {
    examination.host.thp.as_ref().ok()
}

pub(super) fn setting(file: &str, value: impl std::fmt::Display) -> Evidence {
    Evidence::new(format!("/{THP_DIR}/{file}"), value)
}

fn sizes_with<'a>(thp: &'a ThpSettings, mode: &'a str) -> impl Iterator<Item = u64> + 'a {
    thp.sizes
        .iter()
        .filter(move |(_, own)| *own == mode)
        .map(|(&kib, _)| kib)
}

/// Without the settings most rules below find nothing. That must not look healthy.
fn unreadable(examination: &Examination) -> Option<Remark> {
    let missing = examination.host.thp.as_ref().err()?;
    if matches!(missing, Missing::NotSupported { .. }) {
        return None;
    }
    Some(Remark::new(
        "settings-unreadable",
        Severity::Wrong,
        vec![setting("", missing)],
        "the THP settings could not be read, so they were not checked",
        "",
    ))
}

fn size_overrides_never(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination).filter(|thp| thp.enabled == "never")?;
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
        "THP is not off: the per-size files decide, and only `inherit` follows the global one",
        "write never or inherit to the per-size files, or set the global file as intended",
    ))
}

fn pmd_size_silenced(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination).filter(|thp| thp.enabled != "never")?;
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
            "no program gets pages of {kib} kB, although `enabled` is {}",
            thp.enabled
        ),
        format!("echo inherit > /{THP_DIR}/hugepages-{kib}kB/enabled"),
    ))
}

fn shrinker_disarmed(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination).filter(|thp| thp.effective_pmd_mode() != "never")?;
    let limit = *thp.khugepaged.get("max_ptes_none")?;
    if examination.facts.shrink_underused != Some(true)
        || Some(limit) != most_ptes(examination, thp)
    {
        return None;
    }
    Some(Remark::new(
        "shrinker-disarmed",
        Severity::Note,
        vec![
            setting("shrink_underused", 1),
            setting("khugepaged/max_ptes_none", limit),
        ],
        "memory can grow: at this value the shrinker of underused huge pages is off, and khugepaged \
         makes a huge page from a single touched base page",
        "lower max_ptes_none: it enables the shrinker and limits khugepaged (thp_underused, mm/huge_memory.c)",
    ))
}

fn defrag_always(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination)
        .filter(|thp| thp.defrag == "always" && thp.effective_pmd_mode() != "never")?;
    Some(Remark::new(
        "defrag-always",
        Severity::Warning,
        vec![setting("defrag", &thp.defrag)],
        "every huge fault may compact and reclaim memory, in all programs: stalls of milliseconds \
         and more where memory is fragmented",
        "defer+madvise limits this to advised memory; compare tail latency before and after",
    ))
}

fn khugepaged_never_compacts(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination).filter(|thp| thp.effective_pmd_mode() != "never")?;
    (thp.khugepaged.get("defrag") == Some(&0)).then(|| {
        Remark::new(
            "khugepaged-never-compacts",
            Severity::Note,
            vec![setting("khugepaged/defrag", 0)],
            "khugepaged uses only free huge blocks: where memory is fragmented it collapses nothing",
            format!("echo 1 > /{THP_DIR}/khugepaged/defrag"),
        )
    })
}

fn zero_page_off(examination: &Examination) -> Option<Remark> {
    let thp =
        thp(examination).filter(|thp| !thp.zero_page && thp.effective_pmd_mode() != "never")?;
    Some(Remark::new(
        "zero-page-off",
        Severity::Note,
        vec![setting("use_zero_page", u8::from(thp.zero_page))],
        "reads of untouched memory allocate huge pages: memory grows with reads",
        "",
    ))
}

/// Shared memory has separate settings: the global file and, since 6.11, one file per size. `inherit` refers to the
/// global file (`shmem_allowable_huge_orders`, mm/shmem.c).
fn shmem_apart(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination)?;
    let global = thp.shmem_enabled.as_deref()?;
    let shared = shares_huge(global, &examination.facts.shmem_sizes);
    let anonymous =
        thp.effective_pmd_mode() != "never" || thp.enabled_mthp_sizes().next().is_some();
    if anonymous == shared {
        return None;
    }
    let meaning = if shared {
        "shared memory gets huge pages although anonymous memory does not"
    } else {
        "shared anonymous memory, memfd and SysV segments never get huge pages at faults: \
         `enabled` does not apply to them"
    };
    let mut evidence = vec![pmd_mode(thp), setting("shmem_enabled", global)];
    let own = |mode: &str| !matches!(mode, "never" | "inherit");
    let sizes = examination
        .facts
        .shmem_sizes
        .iter()
        .filter(|(_, mode)| own(mode));
    evidence.extend(
        sizes.map(|(kib, mode)| setting(&format!("hugepages-{kib}kB/shmem_enabled"), mode)),
    );
    Some(Remark::new(
        "shmem-apart",
        Severity::Note,
        evidence,
        meaning,
        "set shmem_enabled=advise, which follows madvise(2); each tmpfs mount has its own huge= option (-v lists them)",
    ))
}

/// Returns true if shared memory without a mounted file gets huge pages.
pub(super) fn shares_huge(global: &str, sizes: &BTreeMap<u64, String>) -> bool {
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

/// The file that controls anonymous memory of the PMD size, and its value.
fn pmd_mode(thp: &ThpSettings) -> Evidence {
    let kib = thp.pmd_bytes / 1024;
    match thp.sizes.get(&kib).filter(|mode| *mode != "inherit") {
        Some(own) => setting(&format!("hugepages-{kib}kB/enabled"), own),
        None => setting("enabled", &thp.enabled),
    }
}

fn never_and_collapse(examination: &Examination) -> Option<Remark> {
    let thp = thp(examination).filter(|thp| thp.effective_pmd_mode() == "never")?;
    if !examination
        .ladder
        .get(&Feature::Collapse)
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
        "`never` does not forbid MADV_COLLAPSE: programs and tools can still make huge pages",
        "PR_SET_THP_DISABLE forbids it for a process",
    ))
}

fn idle_hugetlb_pool(examination: &Examination) -> Option<Remark> {
    let pools = examination.host.hugetlb.iter();
    // A pool is in use if a program uses the larger part of it.
    let unused = |pool: &HugetlbPool| pool.free.saturating_sub(pool.reserved).min(pool.total);
    let is_idle = |pool: &HugetlbPool| unused(pool) > pool.total - unused(pool);
    let idle: Vec<(&u64, &HugetlbPool)> = pools.filter(|(_, pool)| is_idle(pool)).collect();
    if idle.is_empty() {
        return None;
    }
    let folder = |bytes: &u64| format!("/sys/kernel/mm/hugepages/hugepages-{}kB", bytes / 1024);
    let evidence = idle.iter().flat_map(|(bytes, pool)| {
        let folder = folder(bytes);
        [
            Evidence::new(format!("{folder}/nr_hugepages"), pool.total),
            Evidence::new(format!("{folder}/free_hugepages"), pool.free),
        ]
    });
    let sizes = idle
        .iter()
        .map(|(bytes, pool)| bytes_text(bytes.saturating_mul(unused(pool))));
    let writes = idle.iter().map(|(bytes, pool)| {
        let used = pool.total - unused(pool);
        format!("echo {used} > {}/nr_hugepages", folder(bytes))
    });
    Some(Remark::new(
        "idle-hugetlb-pool",
        Severity::Warning,
        evidence.collect(),
        format!(
            "{} are reserved and unused; no other program can use them",
            sizes.collect::<Vec<_>>().join(" and ")
        ),
        format!(
            "{}, or find out why the program does not use them",
            writes.collect::<Vec<_>>().join(" && ")
        ),
    ))
}

/// A `struct page` takes 64 bytes on all kernels with this switch.
const DESCRIPTOR_BYTES: u64 = 64;
/// Less is not worth a remark.
const WORTH_FREEING: u64 = 64 << 20;

/// The kernel can free all but one page of the descriptors of a hugetlb page (mm/hugetlb_vmemmap.c).
fn vmemmap_kept(examination: &Examination) -> Option<Remark> {
    let page_bytes = examination.host.page_bytes;
    let freed_of_each = |bytes: u64| {
        let descriptors = bytes.checked_div(page_bytes)? * DESCRIPTOR_BYTES;
        descriptors.checked_sub(page_bytes)
    };
    let pools = examination.host.hugetlb.iter();
    let freed = pools.filter_map(|(bytes, pool)| freed_of_each(*bytes)?.checked_mul(pool.total));
    let freed = freed.fold(0, u64::saturating_add);
    if examination.facts.vmemmap_optimised != Some(false) || freed < WORTH_FREEING {
        return None;
    }
    const FILE: &str = "/proc/sys/vm/hugetlb_optimize_vmemmap";
    Some(Remark::new(
        "vmemmap-kept",
        Severity::Note,
        vec![Evidence::new(FILE, 0)],
        format!(
            "the page descriptors of the hugetlb pools take memory of which {} could be free",
            bytes_text(freed)
        ),
        format!(
            "echo 1 > {FILE}, then make the pools again, best at boot (hugetlb_free_vmemmap=on): \
             pages then cost more time to make and to give back"
        ),
    ))
}

fn read_only_settings(examination: &Examination) -> Option<Remark> {
    (examination.facts.thp_read_only == Some(true)).then(|| {
        Remark::new(
            "settings-read-only",
            Severity::Note,
            vec![Evidence::new(
                format!("open(/{THP_DIR}/enabled, O_WRONLY)"),
                "EROFS",
            )],
            "these settings belong to the host: nobody in this container can change them",
            "set policies per process, as hugewise does by default",
        )
    })
}
