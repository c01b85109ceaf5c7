//! `/proc/loadavg` (proc_loadavg(5)).

use crate::machine::error::{Error, Result};
use crate::machine::number;
use crate::machine::root::Root;

const PATH: &str = "proc/loadavg";

/// The load average over one minute.
///
/// # Errors
/// A sentence that quotes the content.
pub fn parse_loadavg(content: &[u8]) -> std::result::Result<f64, String> {
    let text = String::from_utf8_lossy(content);
    text.split_ascii_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .filter(|load: &f64| load.is_finite() && *load >= 0.0)
        .ok_or_else(|| format!("expected three loads, found `{}`", number::shorten(&text)))
}

/// Reads the load average over one minute.
///
/// # Errors
/// The file could not be read or parsed.
pub fn read_loadavg(root: &Root) -> Result<f64> {
    let content = root.read(PATH)?;
    parse_loadavg(&content).map_err(|what| Error::malformed(&root.path(PATH), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_counts() {
        assert_eq!(parse_loadavg(b"0.23 0.36 0.20 1/89 14074\n"), Ok(0.23));
        for bad in [&b""[..], b"nan", b"-1", b"inf"] {
            assert!(parse_loadavg(bad).is_err(), "{bad:?}");
        }
    }
}
