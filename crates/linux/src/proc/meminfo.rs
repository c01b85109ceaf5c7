//! `/proc/meminfo` (fs/proc/meminfo.c).

use std::collections::BTreeMap;

use crate::machine::error::{Error, Result};
use crate::machine::number;
use crate::machine::root::Root;

const PATH: &str = "proc/meminfo";

/// The fields by name: in bytes if the kernel prints kB, otherwise the plain count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    fields: BTreeMap<String, u64>,
}

impl Meminfo {
    /// Returns one field, in bytes (or pages for the `HugePages_*` counts).
    #[must_use]
    pub fn get(&self, field: &str) -> Option<u64> {
        self.fields.get(field).copied()
    }
}

/// Parses the file.
///
/// # Errors
/// Line and content of the first field that is malformed or too large.
pub fn parse_meminfo(content: &[u8]) -> std::result::Result<Meminfo, String> {
    let text = String::from_utf8_lossy(content);
    let mut fields = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let bytes = parse_value(value).ok_or_else(|| {
            let (line, field) = (index + 1, number::shorten(name));
            format!(
                "line {line}, {field}: `{}` is not a size",
                number::shorten(value)
            )
        })?;
        fields.insert(name.trim().to_owned(), bytes);
    }
    Ok(Meminfo { fields })
}

fn parse_value(value: &str) -> Option<u64> {
    let mut words = value.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        None => Some(number),
        Some("kB") => number.checked_mul(1024),
        Some(_) => None,
    }
}

/// Reads the file.
///
/// # Errors
/// It could not be read or parsed.
pub fn read_meminfo(root: &Root) -> Result<Meminfo> {
    let content = root.read(PATH)?;
    parse_meminfo(&content).map_err(|what| Error::malformed(&root.path(PATH), what))
}

/// Returns a field that every kernel has.
///
/// # Errors
/// The file lacks it.
pub fn require(root: &Root, meminfo: &Meminfo, field: &str) -> Result<u64> {
    meminfo
        .get(field)
        .ok_or_else(|| Error::malformed(&root.path(PATH), format!("no field {field}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_become_bytes_and_counts_stay() {
        let meminfo = parse_meminfo(b"MemTotal: 24684084 kB\nHugePages_Total:   3\nodd\n").unwrap();
        assert_eq!(meminfo.get("MemTotal"), Some(25_276_502_016));
        assert_eq!(meminfo.get("HugePages_Total"), Some(3));
        assert_eq!(meminfo.get("SwapTotal"), None);
    }

    #[test]
    fn trouble_is_named_by_line_and_field() {
        let error =
            parse_meminfo(b"MemTotal: 1 kB\nMemFree: 99999999999999999999 kB\n").unwrap_err();
        assert!(error.contains("line 2, MemFree"), "{error}");
        assert!(parse_meminfo(b"MemTotal: 18446744073709551615 kB").is_err());
    }
}
