//! Files that hold one number, as most settings do.

use std::path::Path;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Parses the number in a file, with or without a newline.
///
/// # Errors
/// A sentence that quotes the content.
pub fn parse(content: &[u8]) -> std::result::Result<u64, String> {
    let text = String::from_utf8_lossy(content);
    text.trim()
        .parse()
        .map_err(|_| format!("expected a number, found `{}`", shorten(&text)))
}

/// Reads the number in a file.
///
/// # Errors
/// The file does not exist, may not be read, or contains something else.
pub fn read(root: &Root, path: impl AsRef<Path>) -> Result<u64> {
    let content = root.read(&path)?;
    parse(&content).map_err(|what| Error::malformed(&root.path(&path), what))
}

/// Returns at most 40 printable characters of content that could not be parsed.
#[must_use]
pub fn shorten(text: &str) -> String {
    let trimmed = text.trim();
    let mut short: String = trimmed
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect();
    if trimmed.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_newline_is_optional() {
        assert_eq!(parse(b"512\n"), Ok(512));
        assert_eq!(parse(b"512"), Ok(512));
        for bad in [&b""[..], b"-1", b"0x10", b"99999999999999999999", b"\xff"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
            prop_assert!(shorten(&String::from_utf8_lossy(&bytes)).len() <= 41 * 10);
        }
    }
}
