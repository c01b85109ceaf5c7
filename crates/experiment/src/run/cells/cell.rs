use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most words and the most characters in a cell.
const MOST_PARTS: usize = 8;
const LONGEST: usize = 120;

/// One cell of a bench: one word for each axis of its suite, separated by `/`, as in `copy/libc/1048576/written/1`.
///
/// Words consist of lower-case letters, digits, `.`, `-` and `_`. So a cell can be used unchanged in the name of a
/// metric, an argument of a command line and a column of CSV.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(try_from = "String", into = "String")]
pub struct BenchCell(String);

impl BenchCell {
    /// Creates the cell with these words.
    ///
    /// # Errors
    /// Fails with a sentence about an invalid word, or too many words.
    pub fn of(parts: &[&str]) -> Result<Self, String> {
        parts.join("/").parse()
    }

    /// The pseudo-cell for the cost and the place of measuring.
    #[must_use]
    pub fn harness() -> Self {
        Self("harness".to_owned())
    }

    /// All words, in the order of the axes.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The word of one axis.
    #[must_use]
    pub fn part(&self, axis: usize) -> Option<&str> {
        self.parts().nth(axis)
    }

    /// The word of one axis as a number, for example of bytes, if it is one.
    #[must_use]
    pub fn number(&self, axis: usize) -> Option<u64> {
        self.part(axis)?.parse().ok()
    }

    /// The cell as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of one metric's reading in this cell.
    #[must_use]
    pub fn reading(&self, metric: &str) -> String {
        format!("bench/{}/{metric}", self.0)
    }
}

impl FromStr for BenchCell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        let is_word = |part: &str| !part.is_empty() && part.chars().all(legal);
        if text.len() > LONGEST || text.split('/').count() > MOST_PARTS {
            return Err(format!(
                "a cell has at most {MOST_PARTS} words and {LONGEST} characters"
            ));
        }
        if !text.split('/').all(is_word) {
            return Err(format!(
                "`{text}` is not a cell; write words of a-z, 0-9, `.`, `-` and `_` with `/` between"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for BenchCell {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<BenchCell> for String {
    fn from(cell: BenchCell) -> Self {
        cell.0
    }
}

impl fmt::Display for BenchCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cell_is_its_words() {
        let cell: BenchCell = "copy/libc/1048576/written/1".parse().unwrap();
        assert_eq!(cell.part(1), Some("libc"));
        assert_eq!((cell.number(2), cell.number(0)), (Some(1 << 20), None));
        assert_eq!(cell.part(5), None);
        assert_eq!(
            cell.reading("rate_bytes_per_second"),
            "bench/copy/libc/1048576/written/1/rate_bytes_per_second"
        );
        assert_eq!(
            BenchCell::of(&["copy", "libc"]).unwrap().as_str(),
            "copy/libc"
        );
    }

    #[test]
    fn what_is_no_cell_is_refused() {
        for text in ["", "/", "a//b", "a b", "A", "ü", "a/b/c/d/e/f/g/h/i"] {
            assert!(text.parse::<BenchCell>().is_err(), "{text}");
        }
        assert!("a".repeat(121).parse::<BenchCell>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_cell_that_reads_as_itself_or_none(text in ".*") {
            if let Ok(cell) = text.parse::<BenchCell>() {
                prop_assert_eq!(cell.to_string(), text);
            }
        }
    }
}
