//! `/proc/pressure/memory` and `/proc/pressure/io` (kernel/sched/psi.c, Linux 4.20).

use hugewise_observe::machine::Pressure;

use super::{Parsed, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// A resource that tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Memory.
    Memory,
    /// Disk reads and writes.
    Io,
}

/// Parses lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=2775290`.
///
/// # Errors
/// A line has no `total=` with a number.
pub fn parse_pressure(bytes: &[u8]) -> Parsed<Pressure> {
    let mut pressure = Pressure::default();
    for (at, line) in lines(bytes) {
        let total = line
            .split_whitespace()
            .find_map(|it| it.strip_prefix("total="));
        let total = total.ok_or_else(|| format!("line {at}: no total: `{line}`"))?;
        let us = number(at, "total", total)?;
        match line.split_whitespace().next() {
            Some("some") => pressure.some_us = us,
            Some("full") => pressure.full_us = us,
            _ => return Err(format!("line {at}: neither some nor full: `{line}`")),
        }
    }
    Ok(pressure)
}

/// Reads how long tasks waited for a resource.
///
/// # Errors
/// The kernel does not have it or has it disabled (`psi=0`), or it could not be parsed.
pub fn read_pressure(root: &Root, resource: Resource) -> Result<Pressure> {
    let path = match resource {
        Resource::Memory => "proc/pressure/memory",
        Resource::Io => "proc/pressure/io",
    };
    let bytes = root.read(path)?;
    parse_pressure(&bytes).map_err(|what| Error::malformed(&root.path(path), what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn totals_are_taken_and_what_is_unknown_is_an_error() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=2775290\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=1331237\n";
        let parsed = parse_pressure(text).unwrap();
        assert_eq!((parsed.some_us, parsed.full_us), (2_775_290, 1_331_237));
        assert!(parse_pressure(b"some avg10=0.00\n").is_err());
        assert!(parse_pressure(b"all total=1\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_pressure(&bytes);
        }
    }
}
