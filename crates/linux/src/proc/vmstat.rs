use std::collections::BTreeMap;

use super::{Parsed, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Parses `/proc/vmstat` (mm/vmstat.c): one name and one number a line.
///
/// # Errors
/// A line is not a name and a number.
pub fn parse_vmstat(bytes: &[u8]) -> Parsed<BTreeMap<String, u64>> {
    lines(bytes)
        .map(|(at, line)| {
            let (name, value) = line
                .split_once(' ')
                .ok_or_else(|| format!("line {at}: no value: `{line}`"))?;
            Ok((name.to_owned(), number(at, name, value.trim())?))
        })
        .collect()
}

/// Reads `/proc/vmstat`.
///
/// # Errors
/// It does not exist or could not be parsed.
pub fn read_vmstat(root: &Root) -> Result<BTreeMap<String, u64>> {
    let bytes = root.read("proc/vmstat")?;
    parse_vmstat(&bytes).map_err(|what| Error::malformed(&root.path("proc/vmstat"), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_one() {
        let parsed = parse_vmstat(b"nr_free_pages 5921345\nthp_fault_alloc 44\n").unwrap();
        assert_eq!(parsed["thp_fault_alloc"], 44);
        assert_eq!(parsed.len(), 2);
        let torn = parse_vmstat(b"nr_free_pages 1\nthp_fault_alloc x\n").unwrap_err();
        assert_eq!(torn, "line 2: thp_fault_alloc is not a number: `x`");
    }
}
