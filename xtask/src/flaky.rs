//! The count of tests that failed among others and passed separately, over time, as a committed table.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use hugewise_base::calendar::date;

use crate::toolchain::commit;

/// The table below the repository's root.
pub const FILE: &str = "docs/benchmarks/flaky.tsv";

/// Adds a row for each test: day, commit, target and test.
///
/// # Errors
/// The table cannot be written.
pub fn count<'a>(tests: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let day = date(u64::try_from(now.as_millis())?);
    append(Path::new(FILE), &rows(&day, &commit(Path::new(".")), tests))
}

fn append(file: &Path, rows: &str) -> Result<()> {
    let table = OpenOptions::new().append(true).create(true).open(file);
    table
        .and_then(|mut table| table.write_all(rows.as_bytes()))
        .with_context(|| format!("writing {}", file.display()))
}

fn rows<'a>(
    day: &str,
    commit: &str,
    tests: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let row = |(target, test): (&str, &str)| format!("{day}\t{commit}\t{target}\t{test}\n");
    tests.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_below_those_before() {
        let file = std::env::temp_dir().join(format!("flaky-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        for (day, tests) in [
            (
                "2026-11-29",
                vec![("--test cli", "a::b"), ("--test trial", "c")],
            ),
            ("2026-11-30", vec![]),
            ("2026-12-01", vec![("--test cli", "a::b")]),
        ] {
            append(&file, &rows(day, "5a2388dc", tests)).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "2026-11-29\t5a2388dc\t--test cli\ta::b\n2026-11-29\t5a2388dc\t--test trial\tc\n\
             2026-12-01\t5a2388dc\t--test cli\ta::b\n"
        );
    }
}
