//! `/sys/kernel/mm/transparent_hugepage` (Documentation/admin-guide/mm/transhuge.rst).

use std::collections::BTreeMap;

use hugewise_base::host::{THP_DIR, ThpSettings};
use hugewise_observe::machine::Setting;

use crate::machine::error::{Error, Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;

/// The assumed size of a huge page if the kernel does not report it.
pub const USUAL_PMD_BYTES: u64 = 2 << 20;

/// The counter files of `khugepaged/`; all others are settings.
const COUNTERS: [&str; 2] = ["full_scans", "pages_collapsed"];

/// Returns the selected value in a list of all values, such as `always [madvise] never`.
///
/// # Errors
/// A sentence with the expected format.
pub fn parse_choice(content: &[u8]) -> std::result::Result<String, String> {
    let text = String::from_utf8_lossy(content);
    text.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| {
            format!(
                "expected one [value] in brackets, found `{}`",
                number::shorten(&text)
            )
        })
}

/// Parses the size in KiB from a directory name `hugepages-<N>kB`.
#[must_use]
pub fn parse_size_folder(name: &str) -> Option<u64> {
    name.strip_prefix("hugepages-")?
        .strip_suffix("kB")?
        .parse()
        .ok()
}

/// Reads all settings.
///
/// # Errors
/// The kernel has no transparent huge pages ([`Kind::NotFound`]), or a file of the directory could not be read or
/// parsed.
pub fn read_thp(root: &Root) -> Result<ThpSettings> {
    Ok(ThpSettings {
        enabled: read_choice(root, &in_dir("enabled"))?,
        defrag: read_choice(root, &in_dir("defrag"))?,
        zero_page: number::read(root, in_dir("use_zero_page"))? != 0,
        pmd_bytes: read_pmd_bytes(root)?,
        shmem_enabled: if_there(read_choice(root, &in_dir("shmem_enabled")))?,
        khugepaged: read_khugepaged(root)?,
        sizes: read_sizes(root)?,
        shmem_sizes: read_shmem_sizes(root)?,
    })
}

/// Reads `shrink_underused`: true if mostly empty huge pages are split under memory pressure (Linux 6.12); `None` if
/// the kernel has no such file.
///
/// # Errors
/// The file exists but could not be read or parsed.
pub fn read_shrink_underused(root: &Root) -> Result<Option<bool>> {
    Ok(if_there(number::read(root, in_dir("shrink_underused")))?.map(|value| value != 0))
}

/// Returns the number of partially mapped anonymous huge pages of the machine; `None` if the kernel does not count them
/// (before Linux 6.12).
#[must_use]
pub fn read_partly_mapped(root: &Root) -> Option<u64> {
    let kib = read_pmd_bytes(root).ok()? / 1024;
    let file = format!("hugepages-{kib}kB/stats/nr_anon_partially_mapped");
    number::read(root, in_dir(&file)).ok()
}

fn in_dir(file: &str) -> String {
    format!("{THP_DIR}/{file}")
}

fn read_choice(root: &Root, path: &str) -> Result<String> {
    let content = root.read(path)?;
    parse_choice(&content).map_err(|what| Error::malformed(&root.path(path), what))
}

/// Reads `hpage_pmd_size`, in bytes.
///
/// # Errors
/// It does not exist, or is not a power of two, which would make every later division meaningless.
pub fn read_pmd_bytes(root: &Root) -> Result<u64> {
    let path = in_dir("hpage_pmd_size");
    let bytes = number::read(root, &path)?;
    if bytes.is_power_of_two() && bytes >= 4096 {
        return Ok(bytes);
    }
    let what = format!("{bytes} is not a page size");
    Err(Error::malformed(&root.path(path), what))
}

fn read_khugepaged(root: &Root) -> Result<BTreeMap<String, u64>> {
    let folder = in_dir("khugepaged");
    if_there(root.list(&folder))?
        .unwrap_or_default()
        .into_iter()
        .filter(|name| !COUNTERS.contains(&name.as_str()))
        .map(|name| {
            Ok((
                name.clone(),
                number::read(root, format!("{folder}/{name}"))?,
            ))
        })
        .collect()
}

/// A directory without `enabled` is a size available only for shared memory.
fn read_sizes(root: &Root) -> Result<BTreeMap<u64, String>> {
    read_each_size(root, "enabled")
}

/// Reads `hugepages-<N>kB/shmem_enabled` by N in KiB (Linux 6.11); empty if there are no such files.
///
/// # Errors
/// A file exists but could not be read or parsed, or there is no THP at all.
pub fn read_shmem_sizes(root: &Root) -> Result<BTreeMap<u64, String>> {
    read_each_size(root, "shmem_enabled")
}

fn read_each_size(root: &Root, file: &str) -> Result<BTreeMap<u64, String>> {
    let mut sizes = BTreeMap::new();
    for name in root.list(THP_DIR)? {
        let Some(kib) = parse_size_folder(&name) else {
            continue;
        };
        if let Some(mode) = if_there(read_choice(root, &in_dir(&format!("{name}/{file}"))))? {
            sizes.insert(kib, mode);
        }
    }
    Ok(sizes)
}

/// Returns every setting with its file and its current value.
///
/// # Errors
/// The same as for [`read_thp`].
pub fn read_settings(root: &Root) -> Result<Vec<Setting>> {
    let thp = read_thp(root)?;
    let own = |file: &str, mode: String| Setting {
        file: file.to_owned(),
        size: None,
        mode,
    };
    let mut settings = vec![
        own("enabled", thp.enabled),
        own("defrag", thp.defrag),
        own("use_zero_page", u8::from(thp.zero_page).to_string()),
    ];
    settings.extend(thp.shmem_enabled.map(|mode| own("shmem_enabled", mode)));
    let khugepaged = thp.khugepaged.iter();
    settings.extend(
        khugepaged.map(|(file, value)| own(&format!("khugepaged/{file}"), value.to_string())),
    );
    settings.extend(of_sizes("enabled", thp.sizes));
    settings.extend(of_sizes("shmem_enabled", thp.shmem_sizes));
    Ok(settings)
}

fn of_sizes(file: &str, modes: BTreeMap<u64, String>) -> impl Iterator<Item = Setting> {
    modes.into_iter().map(move |(kib, mode)| Setting {
        file: format!("hugepages/{file}"),
        size: Some(kib * 1024),
        mode,
    })
}

/// Handles a file that may be absent in older kernels.
fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind == Kind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bracket_marks_the_value_in_force() {
        assert_eq!(
            parse_choice(b"always [madvise] never\n").as_deref(),
            Ok("madvise")
        );
        assert_eq!(
            parse_choice(b"always defer [defer+madvise] never").as_deref(),
            Ok("defer+madvise")
        );
        for bad in [&b""[..], b"always madvise never", b"[]", b"\xff\xfe"] {
            assert!(parse_choice(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn folders_carry_their_size() {
        assert_eq!(parse_size_folder("hugepages-2048kB"), Some(2048));
        assert_eq!(parse_size_folder("hugepages-kB"), None);
        assert_eq!(parse_size_folder("khugepaged"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse_choice(&bytes);
            let _ = parse_size_folder(&String::from_utf8_lossy(&bytes));
        }
    }
}
