//! The matrix for people: a row for each test, a column for each kernel.

use std::fmt::Write;

use super::results::{Outcome, Result};

/// A kernel's name and results, or the reason why it could not be run.
pub struct Column {
    /// The name of the kernel.
    pub name: String,
    /// Its results, or why there are none.
    pub results: std::result::Result<Vec<Result>, String>,
}

/// The number of each of the three outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Tests that held.
    pub passed: usize,
    /// Tests that did not.
    pub failed: usize,
    /// Tests and kernels that could not be tried.
    pub skipped: usize,
}

/// Counts all outcomes.
pub fn count(columns: &[Column]) -> Count {
    let mut count = Count::default();
    for column in columns {
        let Ok(results) = &column.results else {
            count.skipped += 1;
            continue;
        };
        for result in results {
            match result.outcome {
                Outcome::Passed => count.passed += 1,
                Outcome::Failed(_) => count.failed += 1,
                Outcome::Skipped(_) => count.skipped += 1,
            }
        }
    }
    count
}

/// Returns the table, and below it the reason of each failure and each skip.
pub fn render(columns: &[Column]) -> String {
    let rows = rows(columns);
    let mut notes = Vec::new();
    let mut lines = headings(columns);
    for (user, test) in &rows {
        let cells = columns
            .iter()
            .map(|column| cell(column, user, test, &mut notes));
        lines.push(
            std::iter::once(format!("{user}  {test}"))
                .chain(cells)
                .collect(),
        );
    }
    let mut text = aligned(&lines);
    for (index, note) in notes.iter().enumerate() {
        let _ = write!(text, "\n[{}] {note}", index + 1);
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}

/// Aligns the first column left, all others right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |place: usize| {
        let cells = lines.iter().filter_map(|line| line.get(place));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let first = line.first().map_or("", String::as_str);
        let _ = write!(text, "{first:0$}", widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// Returns every test of every kernel, in running order.
fn rows(columns: &[Column]) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for user in ["root", "user"] {
        let all = columns
            .iter()
            .filter_map(|column| column.results.as_ref().ok())
            .flatten();
        for result in all.filter(|result| result.user == user) {
            let row = (result.user.clone(), result.test.clone());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    rows
}

/// Returns the names of kernels with one word per line, so that columns stay narrow.
fn headings(columns: &[Column]) -> Vec<Vec<String>> {
    let words = |column: &Column| column.name.split(' ').count();
    let height = columns.iter().map(words).max().unwrap_or(0);
    let line = |place: usize| {
        let word = |column: &Column| {
            column
                .name
                .split(' ')
                .nth(place)
                .unwrap_or_default()
                .to_owned()
        };
        std::iter::once(String::new())
            .chain(columns.iter().map(word))
            .collect()
    };
    (0..height).map(line).collect()
}

fn cell(column: &Column, user: &str, test: &str, notes: &mut Vec<String>) -> String {
    let results = match &column.results {
        Ok(results) => results,
        Err(why) => return noted("skipped", format!("{}: {why}", column.name), notes),
    };
    let mut own = results
        .iter()
        .filter(|result| result.user == user && result.test == test);
    let Some(first) = own.next() else {
        return "–".to_owned();
    };
    let name = &column.name;
    match &first.outcome {
        Outcome::Passed => "ok".to_owned(),
        Outcome::Failed(text) => noted("FAILED", format!("{name}, {user}, {test}: {text}"), notes),
        Outcome::Skipped(why) => noted("skip", format!("{name}, {user}, {test}: no {why}"), notes),
    }
}

/// Returns a cell with the number of its note; equal notes share a number.
fn noted(word: &str, note: String, notes: &mut Vec<String>) -> String {
    let number = match notes.iter().position(|known| *known == note) {
        Some(place) => place + 1,
        None => {
            notes.push(note);
            notes.len()
        }
    };
    format!("{word}[{number}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(test: &str, outcome: Outcome) -> Result {
        Result {
            user: "root".to_owned(),
            test: test.to_owned(),
            outcome,
        }
    }

    #[test]
    fn cells_are_under_their_kernel_and_reasons_below() {
        let columns = [
            Column {
                name: "x86_64 6.1".to_owned(),
                results: Ok(vec![
                    result("a: b", Outcome::Passed),
                    result("a: c", Outcome::Failed("1 against 2".to_owned())),
                ]),
            },
            Column {
                name: "aarch64 7.2".to_owned(),
                results: Err("no root".to_owned()),
            },
        ];
        let expected = "               x86_64     aarch64
                  6.1         7.2
root  a: b         ok  skipped[1]
root  a: c  FAILED[2]  skipped[1]

[1] aarch64 7.2: no root
[2] x86_64 6.1, root, a: c: 1 against 2
";
        assert_eq!(render(&columns), expected);
        let counted = Count {
            passed: 1,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(count(&columns), counted);
    }
}
