//! The machine settings that an experiment can write. Nothing else is ever written, restored or recommended, even if a
//! journal or a record names it.

use serde::{Deserialize, Deserializer, de::Error};

use super::host::THP_DIR;

/// A value that the kernel changes when a mode is written. It raises the value with the first mode other than `never`,
/// and recomputes it with the last (`set_recommended_min_free_kbytes`, mm/khugepaged.c).
pub const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";

/// The KSM switch, and the number of pages scanned before each sleep. Merged pages stay small.
pub const KSM: [&str; 2] = ["sys/kernel/mm/ksm/run", "sys/kernel/mm/ksm/pages_to_scan"];

/// The pools of explicit huge pages, one folder per size.
pub const POOLS: &str = "sys/kernel/mm/hugepages/hugepages-";

/// Returns true if an experiment can write this path, which is relative to the root of the machine.
#[must_use]
pub fn is_setting(path: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let plain = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != ".." && part.chars().all(letters));
    let below = path.strip_prefix(THP_DIR);
    let thp = below.is_some_and(|rest| rest.starts_with('/') && rest.len() > 1);
    plain && (thp || path == MIN_FREE || KSM.contains(&path) || is_pool(path))
}

/// Returns true if the path is the size of a pool of explicit huge pages.
#[must_use]
pub fn is_pool(path: &str) -> bool {
    let size = path
        .strip_prefix(POOLS)
        .and_then(|rest| rest.strip_suffix("/nr_hugepages"));
    size.is_some_and(|size| !size.is_empty() && !size.contains('/'))
}

/// Returns true if a setting can have this value: a keyword of the kernel or a number.
#[must_use]
pub fn is_value(value: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-+.:,".contains(c);
    !value.is_empty() && value.chars().all(letters)
}

/// Reads the path of a setting.
///
/// # Errors
/// The text is not such a path.
pub fn path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let path = String::deserialize(from)?;
    let wrong = || {
        D::Error::custom(format_args!(
            "`path` is {path:?}, not a setting of huge pages"
        ))
    };
    is_setting(&path).then_some(()).ok_or_else(wrong)?;
    Ok(path)
}

/// Reads the value of a setting.
///
/// # Errors
/// The text is not such a value.
pub fn value<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let value = String::deserialize(from)?;
    let wrong = || {
        D::Error::custom(format_args!(
            "`value` is {value:?}, which no setting can have"
        ))
    };
    is_value(&value).then_some(()).ok_or_else(wrong)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_path_and_nothing_behind_it() {
        for path in [
            format!("{THP_DIR}/enabled"),
            format!("{THP_DIR}/khugepaged/max_ptes_none"),
            format!("{THP_DIR}/hugepages-64kB/enabled"),
            format!("{POOLS}2048kB/nr_hugepages"),
            MIN_FREE.to_owned(),
        ] {
            assert!(is_setting(&path), "{path}");
        }
        for path in [
            format!("{THP_DIR}/enabled; touch x #"),
            format!("{THP_DIR}/$(id)"),
            format!("{THP_DIR}/`id`"),
            format!("{THP_DIR}/a\nb"),
            format!("{THP_DIR}/../../../../etc/passwd"),
            format!("{THP_DIR}//enabled"),
            format!("{THP_DIR}x/enabled"),
            format!("{POOLS}2048kB/x/nr_hugepages"),
            THP_DIR.to_owned(),
            "etc/passwd".to_owned(),
            String::new(),
        ] {
            assert!(!is_setting(&path), "{path}");
        }
        assert!(
            ["always", "defer+madvise", "511", "-1"]
                .iter()
                .all(|it| is_value(it))
        );
        assert!(
            !["", "a b", "always; id", "$(id)", "a\n"]
                .iter()
                .any(|it| is_value(it))
        );
    }
}
