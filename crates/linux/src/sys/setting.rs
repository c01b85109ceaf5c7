use crate::machine::error::Result;
use crate::machine::root::Root;

/// Returns the selected value: `madvise` in `always [madvise] never`, or the whole text of a file without brackets.
#[must_use]
pub fn parse_setting(text: &str) -> &str {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(value, _)| value)
}

/// Reads the current value of a settings file, given relative to the root.
///
/// # Errors
/// It does not exist or may not be read.
pub fn read_setting(root: &Root, path: &str) -> Result<String> {
    Ok(parse_setting(&root.read_trimmed(path)?).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_in_force() {
        assert_eq!(parse_setting("always [madvise] never"), "madvise");
        assert_eq!(
            parse_setting("always defer [defer+madvise] never"),
            "defer+madvise"
        );
        assert_eq!(parse_setting("511"), "511");
        assert_eq!(parse_setting("[torn"), "[torn");
        assert_eq!(parse_setting("torn [value"), "torn [value");
        assert_eq!(parse_setting(""), "");
    }
}
