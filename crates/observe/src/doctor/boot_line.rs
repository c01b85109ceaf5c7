//! Huge-page parameters of the boot line (kernel-parameters.txt).

use super::{Evidence, Examination, Remark, Severity};
use hugewise_base::host::THP_DIR;

const KNOWN: [&str; 5] = [
    "transparent_hugepage",
    "transparent_hugepage_shmem",
    "transparent_hugepage_tmpfs",
    "thp_anon",
    "thp_shmem",
];

/// The last value of a parameter, because the kernel applies all in order.
fn last<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    parameters(line)
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .last()
}

/// Words before ` -- `. Everything after it is passed to init.
fn parameters(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split_ascii_whitespace()
        .take_while(|word| *word != "--")
        .map(|word| word.split_once('=').unwrap_or((word, "")))
}

fn evidence(key: &str, value: &str) -> Evidence {
    Evidence::new("/proc/cmdline", format!("{key}={value}"))
}

/// The kernel silently passes a misspelt parameter to init.
pub(super) fn misspelt(examination: &Examination) -> Option<Remark> {
    let (key, value, meant) =
        parameters(&examination.host.boot_line).find_map(|(key, value)| {
            let meant = KNOWN.into_iter().find(|known| resembles(key, known))?;
            (!KNOWN.contains(&key)).then_some((key, value, meant))
        })?;
    Some(Remark::new(
        "boot-line-misspelt",
        Severity::Wrong,
        vec![evidence(key, value)],
        format!("the kernel ignores the unknown parameter `{key}`"),
        format!("write {meant}={value}"),
    ))
}

/// Accepts two typos in a long name, and one in a short name. Case and dashes count as typos.
fn resembles(word: &str, known: &str) -> bool {
    let allowed = if known.len() > 12 { 2 } else { 1 };
    word.len().abs_diff(known.len()) <= allowed && strsim::levenshtein(word, known) <= allowed
}

/// An unknown value leaves the default (`setup_transparent_hugepage`).
pub(super) fn bad_value(examination: &Examination) -> Option<Remark> {
    let value = last(&examination.host.boot_line, "transparent_hugepage")?;
    (!["always", "madvise", "never"].contains(&value)).then(|| {
        Remark::new(
            "boot-line-bad-value",
            Severity::Wrong,
            vec![evidence("transparent_hugepage", value)],
            "the kernel accepts always, madvise and never, and ignores this value",
            "correct the boot line",
        )
    })
}

/// The setting was changed after boot.
pub(super) fn overridden(examination: &Examination) -> Option<Remark> {
    let booted = last(&examination.host.boot_line, "transparent_hugepage")
        .filter(|value| ["always", "madvise", "never"].contains(value))?;
    let now = &examination.host.thp.as_ref().ok()?.enabled;
    (booted != now).then(|| {
        Remark::new(
            "boot-line-overridden",
            Severity::Note,
            vec![
                evidence("transparent_hugepage", booted),
                Evidence::new(format!("/{THP_DIR}/enabled"), now),
            ],
            "the setting was changed after boot, by a service, a script or a person, and may change again",
            "look for tuned, systemd units, rc.local and tmpfiles.d",
        )
    })
}

/// `thp_anon=` sets every omitted size to never, including the PMD size (`setup_thp_anon`, mm/huge_memory.c;
/// `hugepage_init_sysfs` does not change that; Linux 6.12).
pub(super) fn thp_anon_silences_pmd(examination: &Examination) -> Option<Remark> {
    let value = last(&examination.host.boot_line, "thp_anon")?;
    let thp = examination.host.thp.as_ref().ok()?;
    let kib = thp.pmd_bytes / 1024;
    let mode = thp.sizes.get(&kib).filter(|mode| *mode == "never")?;
    Some(Remark::new(
        "thp-anon-silences-pmd",
        Severity::Wrong,
        vec![
            evidence("thp_anon", value),
            Evidence::new(format!("/{THP_DIR}/hugepages-{kib}kB/enabled"), mode),
        ],
        format!(
            "thp_anon= sets every size that it omits to never: `enabled` does not apply to pages of {kib} kB"
        ),
        format!("add {kib}K:inherit to thp_anon="),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_names_are_not() {
        for slip in [
            "transparent_huagepage",
            "transparent_hugepages",
            "transparent-hugepage",
            "thp_anom",
        ] {
            assert!(KNOWN.iter().any(|known| resembles(slip, known)), "{slip}");
        }
        for other in ["hugepages", "hugepagesz", "quiet", "thp", "transparent"] {
            assert!(
                !KNOWN.iter().any(|known| resembles(other, known)),
                "{other}"
            );
        }
    }

    #[test]
    fn the_last_value_counts_and_the_first_programs_words_do_not() {
        let line = "thp_anon=64K:always quiet thp_anon=16K:madvise -- thp_anon=2M:always";
        assert_eq!(last(line, "thp_anon"), Some("16K:madvise"));
    }
}
