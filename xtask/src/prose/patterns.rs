//! The patterns of a sentence that is hard to read.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// The table of the patterns.
const TABLE: &str = include_str!("patterns.toml");

/// The largest number of words of a sentence.
const MOST_WORDS: usize = 30;
const LONG: &str = "over 30 words";
const SEMICOLONS: &str = "two semicolons";

/// The content of the table.
#[derive(Deserialize)]
struct Table {
    pattern: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    expression: String,
    except: Option<String>,
    #[cfg(test)]
    flagged: Vec<String>,
    #[cfg(test)]
    plain: Vec<String>,
}

struct Pattern {
    name: String,
    found: Regex,
    except: Option<Regex>,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let compiled = |text: &str| Regex::new(text).expect("the table has valid expressions");
    let pattern = |row: Row| Pattern {
        found: compiled(&row.expression),
        except: row.except.as_deref().map(compiled),
        name: row.name,
    };
    rows().into_iter().map(pattern).collect()
});

fn rows() -> Vec<Row> {
    let table: Table = toml::from_str(TABLE).expect("the table is valid");
    table.pattern
}

/// Returns the names of all patterns in a sentence; empty if it is not flagged.
pub fn flags(sentence: &str) -> Vec<&'static str> {
    let has = |it: &&Pattern| {
        let is_except = it.except.as_ref().is_some_and(|it| it.is_match(sentence));
        it.found.is_match(sentence) && !is_except
    };
    let found = PATTERNS.iter().filter(has);
    let mut flags: Vec<&str> = found.map(|it| it.name.as_str()).collect();
    if sentence.split_whitespace().count() > MOST_WORDS {
        flags.push(LONG);
    }
    if sentence.matches(';').count() >= 2 {
        flags.push(SEMICOLONS);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_flags_its_examples_and_no_plain_sentence() {
        for row in rows() {
            assert!(!row.flagged.is_empty(), "{} flags nothing", row.name);
            assert!(!row.plain.is_empty(), "{} has nothing plain", row.name);
            for sentence in &row.flagged {
                let flags = flags(sentence);
                assert!(
                    flags.contains(&row.name.as_str()),
                    "{sentence:?}: {flags:?}"
                );
            }
            for sentence in &row.plain {
                assert_eq!(flags(sentence), [""; 0], "{sentence:?}");
            }
        }
    }

    #[test]
    fn thirty_words_are_short_and_one_semicolon_is_enough() {
        let words = |count: usize| vec!["word"; count].join(" ");
        assert_eq!(flags(&words(30)), [""; 0]);
        assert_eq!(flags(&words(31)), [LONG]);
        assert_eq!(flags("One; two."), [""; 0]);
        assert_eq!(flags("One; two; three."), [SEMICOLONS]);
    }

    #[test]
    fn a_sentence_can_have_several_patterns() {
        let rows = rows();
        let [opening, posture] = [0, 6].map(|index| rows[index].name.as_str());
        let flags = flags("Whether it stands there; none; lies.");
        assert_eq!(flags, [opening, posture, SEMICOLONS]);
    }
}
