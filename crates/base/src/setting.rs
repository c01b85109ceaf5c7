//! The settings of a machine that an experiment may write: nothing else is ever written, restored or
//! recommended, whatever a journal or a record names.

use serde::{Deserialize, Deserializer, de::Error};

use super::host::THP_DIR;

/// What the kernel changes by itself when a mode is written: with the first mode that is not
/// `never` it raises this, with the last it computes it anew
/// (`set_recommended_min_free_kbytes`, mm/khugepaged.c).
pub const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";

/// Whether KSM merges equal pages, which are small from then on, and how many it looks at
/// before it sleeps.
pub const KSM: [&str; 2] = ["sys/kernel/mm/ksm/run", "sys/kernel/mm/ksm/pages_to_scan"];

/// The pools of explicit huge pages, a folder for each size.
pub const POOLS: &str = "sys/kernel/mm/hugepages/hugepages-";

/// Whether the path, relative to the root of the machine, is one that an experiment may write.
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

/// Whether it is the size of a pool of explicit huge pages.
#[must_use]
pub fn is_pool(path: &str) -> bool {
    let size = path
        .strip_prefix(POOLS)
        .and_then(|rest| rest.strip_suffix("/nr_hugepages"));
    size.is_some_and(|size| !size.is_empty() && !size.contains('/'))
}

/// Whether a setting can have the value: a word of the kernel or a number.
#[must_use]
pub fn is_value(value: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-+.:,".contains(c);
    !value.is_empty() && value.chars().all(letters)
}

/// Reads the path of a setting.
///
/// # Errors
/// It is none.
pub fn path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let path = String::deserialize(from)?;
    let wrong = || {
        D::Error::custom(format_args!(
            "`path` is {path:?}, which is no setting of huge pages"
        ))
    };
    is_setting(&path).then_some(()).ok_or_else(wrong)?;
    Ok(path)
}

/// Reads the value of a setting.
///
/// # Errors
/// It is none.
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
