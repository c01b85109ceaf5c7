//! The stored rows, one file per kernel.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The prefix of each row in a guest's output.
const MARK: &str = "guest row confusion ";

/// All plants on one kernel.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Processor and kernel.
    pub kernel: String,
    /// Each plant, as root and as an ordinary user.
    pub rows: Vec<Row>,
}

/// One plant, as one user: a line written by the suite.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The plant.
    pub planted: String,
    /// `root` or `user`.
    pub role: String,
    /// Its result.
    pub kind: Kind,
    /// The report, in words.
    pub reported: String,
    /// The reason for accepting less than the one code.
    pub exception: Option<String>,
}

/// The result of a plant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was inspected: why it is not huge.
    Why,
    /// It was inspected: why it is still not huge.
    Still,
    /// This machine does not support it.
    NotHere,
    /// The plant could not be created, or did not last.
    Spoilt,
}

impl Row {
    /// Returns the planted code.
    pub fn code(&self) -> &str {
        self.planted.split('/').next().unwrap_or_default()
    }
}

impl Table {
    /// Reads one file.
    pub fn read(path: &Path) -> Result<Self> {
        let content = fs::read(path).with_context(|| path.display().to_string())?;
        serde_json::from_slice(&content).with_context(|| path.display().to_string())
    }

    /// Writes one file.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, self.text()?).with_context(|| path.display().to_string())
    }

    /// Writes one row per line, so that a diff shows the changed rows.
    fn text(&self) -> Result<String> {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()?;
        let kernel = serde_json::to_string(&self.kernel)?;
        let rows = rows.join(",\n");
        Ok(format!("{{\"kernel\":{kernel},\"rows\":[\n{rows}\n]}}\n"))
    }

    /// Returns the row of a plant, if it was tried.
    pub fn row(&self, planted: &str, role: &str) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.planted == planted && row.role == role)
    }
}

/// Parses the rows printed by a guest. The console can add text before them.
pub fn rows_of_console(text: &str) -> Result<Vec<Row>> {
    text.lines()
        .filter_map(|line| line.split_once(MARK))
        .map(|(_, row)| serde_json::from_str(row).with_context(|| row.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_console_are_kept_as_they_are() {
        let console = "[    1.0] guest row confusion {\"planted\":\"KSM\",\"role\":\"root\",\
            \"kind\":\"why\",\"reported\":\"KSM\",\"exception\":null}\nguest is done 0\n";
        let rows = rows_of_console(console).unwrap();
        let kernel = "x86_64 6.1".to_owned();
        let text = Table { kernel, rows }.text().unwrap();
        let read: Table = serde_json::from_str(&text).unwrap();
        assert_eq!(read.kernel, "x86_64 6.1");
        assert_eq!(read.row("KSM", "root").unwrap().reported, "KSM");
        assert!(read.row("KSM", "user").is_none());
        assert!(rows_of_console("guest row confusion {").is_err());
    }
}
