//! A table of numbers, printed as Markdown and stored as Markdown and CSV.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// The heading of the column with the time of each row.
pub const SECONDS_TAKEN: &str = "seconds taken";

/// Returns the seconds since then as a cell.
pub fn seconds_since(begun: Instant) -> String {
    format!("{:.1}", begun.elapsed().as_secs_f64())
}

/// Cells under their headings.
#[derive(Debug)]
pub struct Table {
    /// A heading for each column.
    pub head: Vec<&'static str>,
    /// One cell per column, in each row.
    pub rows: Vec<Vec<String>>,
    /// A sentence below the table; empty for none.
    pub sum: String,
}

impl Table {
    /// Returns the table in Markdown. The first column contains names, the others numbers.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} |\n|---", self.head.join(" | "));
        text += &"|--:".repeat(self.head.len().saturating_sub(1));
        text += "|\n";
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        if !self.sum.is_empty() {
            let _ = write!(text, "\n{}\n", self.sum);
        }
        text
    }

    /// Returns the table in CSV (RFC 4180).
    fn csv(&self) -> String {
        let head = self.head.iter().map(|cell| quoted(cell));
        let mut text = head.collect::<Vec<_>>().join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }

    /// Writes `NAME.md`, with the date, the machine and the command of this run, and `NAME.csv`.
    ///
    /// # Errors
    /// The folder or a file cannot be written, or `date` or `uname` cannot be run.
    pub fn write(&self, folder: &Path, name: &str, title: &str) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let words: Vec<String> = std::env::args().skip(1).collect();
        let made = format!(
            "{}, {}: `cargo xtask {}`.",
            first_line("date", &["-u", "+%F"])?,
            first_line("uname", &["-srm"])?,
            words.join(" ")
        );
        let page = format!("# {title}\n\n{made}\n\n{}", self.markdown());
        for (ending, text) in [("md", page), ("csv", self.csv())] {
            let path = folder.join(format!("{name}.{ending}"));
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

fn first_line(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(words)
        .output()
        .with_context(|| format!("running {program}"))?;
    ensure!(output.status.success(), "{program} failed");
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            head: vec!["noise", "A/A: different"],
            rows: vec![vec!["AR(1), ρ 0.8".to_owned(), "3.8 %".to_owned()]],
            sum: "One row.".to_owned(),
        }
    }

    #[test]
    fn markdown_and_csv_hold_the_same_cells() {
        assert_eq!(
            table().markdown(),
            "| noise | A/A: different |\n|---|--:|\n| AR(1), ρ 0.8 | 3.8 % |\n\nOne row.\n"
        );
        assert_eq!(
            table().csv(),
            "noise,A/A: different\n\"AR(1), ρ 0.8\",3.8 %\n"
        );
    }

    #[test]
    fn files_say_when_and_by_what_they_were_made() {
        let folder = std::env::temp_dir().join(format!("hugewise-table-{}", std::process::id()));
        table().write(&folder, "simulated", "Noise").unwrap();
        let page = fs::read_to_string(folder.join("simulated.md")).unwrap();
        assert!(page.starts_with("# Noise\n\n20"), "{page}");
        assert!(page.contains("`cargo xtask "), "{page}");
        assert!(folder.join("simulated.csv").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
