//! The cells of a suite, from the words and numbers of its flags.

use anyhow::Result;
use hugewise_bench::arms;
use hugewise_experiment::run::cells::{Bench, BenchCell};

use crate::exit;
use hugewise_text::suggest::hint;

/// The words of a flag, each of which must be known, or the default ones.
pub(super) fn chosen<'a>(
    flag: &str,
    asked: &'a [String],
    known: &[&str],
    usual: &[&'a str],
) -> Result<Vec<&'a str>> {
    if asked.is_empty() {
        return Ok(usual.to_vec());
    }
    match asked.iter().find(|word| !known.contains(&word.as_str())) {
        None => Ok(asked.iter().map(String::as_str).collect()),
        Some(word) => Err(exit::usage(format!(
            "{flag} {word}: {}",
            hint(word, known.iter().copied())
        ))),
    }
}

/// The numbers of a flag, or the default ones.
pub(super) fn or_usual(asked: &[u64], usual: &[u64]) -> Vec<u64> {
    if asked.is_empty() { usual } else { asked }.to_vec()
}

/// A size in the form of a flag: `4G`.
pub(super) fn flag_text(bytes: u64) -> String {
    arms::page_word(bytes).to_uppercase()
}

/// The cells of a suite; refuses an empty or a duplicate cell.
pub(super) fn of_cells(name: &str, cells: Vec<Vec<String>>) -> Result<Bench> {
    let mut found: Vec<BenchCell> = Vec::new();
    for words in cells {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let cell = BenchCell::of(&words).map_err(exit::usage)?;
        if !found.contains(&cell) {
            found.push(cell);
        }
    }
    Ok(Bench {
        suite: name.to_owned(),
        cells: found,
        processor: None,
        left_out: None,
    })
}
