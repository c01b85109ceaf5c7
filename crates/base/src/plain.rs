//! Makes text from outside safe for a terminal and for a single line. All such text passes through here.

use std::borrow::Cow;

/// Returns the text on one line, with control and invisible characters escaped.
#[must_use]
pub fn plain(text: &str) -> String {
    plain_cow(text).into_owned()
}

/// Returns the same text, without a copy if nothing is escaped.
#[must_use]
pub fn plain_cow(text: &str) -> Cow<'_, str> {
    shown(text, is_obeyed)
}

/// Returns the same text, but keeps its line ends.
#[must_use]
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| c != '\n' && is_obeyed(c))
}

/// Returns a TOML error with its line number. Text quoted in the message cannot add a line.
#[must_use]
pub fn plain_error(error: &toml::de::Error) -> String {
    let (text, quoted) = (error.to_string(), error.message());
    plain_lines(text.replacen(quoted, &plain(quoted), 1).trim_end()).into_owned()
}

fn shown(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_escaped(c) {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Returns true if the character controls a terminal or is invisible.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || is_unseen(c)
}

/// Marks that reorder or split the following text, or have no width, give a text a false appearance.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_shown_not_obeyed() {
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c\n"), "a\\u{1b}[2Jb\\u{202e}c\\n");
        assert_eq!(
            plain("\u{9b}\u{7f}\u{200b}\u{feff}"),
            "\\u{9b}\\u{7f}\\u{200b}\\u{feff}"
        );
        assert_eq!(plain_lines("a\r\nb\tc"), "a\\r\nb\\tc");
        assert_eq!(plain("日本 é – µs"), "日本 é – µs");
    }

    #[test]
    fn an_error_of_toml_has_no_line_of_its_file() {
        let error = toml::from_str::<std::collections::BTreeMap<String, u32>>("\"a\\nb\" = 'x'");
        let text = plain_error(&error.expect_err("no number"));
        assert!(!text.lines().any(|line| line.starts_with('b')), "{text}");
        let key = toml::from_str::<Key>("\"a\\nhugewise: well\" = 1").expect_err("no such key");
        let text = plain_error(&key);
        assert!(text.contains("a\\nhugewise: well"), "{text}");
        assert!(
            !text.lines().any(|line| line.starts_with("hugewise")),
            "{text}"
        );
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Key {}

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_is_left(text: String) {
            let once = plain(&text);
            prop_assert!(!once.contains(is_obeyed), "{once:?}");
            prop_assert_eq!(plain(&once), once);
            prop_assert_eq!(plain_lines(&text).lines().count(), text.split_inclusive('\n').count());
        }
    }
}
