//! The confusion table: what was planted against what `hugewise inspect` reported.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use hugewise_lab::plant::{PLANTS, UNREACHABLE};
use serde::Deserialize;

/// Plants each reason on this machine, has it judged, and writes the table.
///
/// As root the machine's settings are changed for each plant and put back. The plants that
/// take all free memory are left out unless they are allowed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Also plant what takes all free memory of the machine
    #[arg(long)]
    all_memory: bool,
    /// Where the table goes
    #[arg(long, default_value = "docs/CONFUSION.md")]
    out: PathBuf,
}

/// One plant, as one user: a line of what the suite writes.
#[derive(Debug, Deserialize)]
struct Row {
    planted: String,
    role: String,
    kind: Kind,
    reported: String,
    exception: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Why,
    Still,
    NotHere,
    Spoilt,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let rows = std::env::current_dir()?.join("target/confusion.json");
    let _ = fs::remove_file(&rows);
    let passed = test(&rows, arguments)?;
    let content = fs::read(&rows).context("the suite wrote no table")?;
    let rows: Vec<Row> = serde_json::from_slice(&content).context("reading the table")?;
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&arguments.out, render(&rows, &kernel()?))?;
    eprintln!("{} is written", arguments.out.display());
    ensure!(passed, "plants were judged wrongly, or did not come up");
    Ok(())
}

fn test(rows: &Path, arguments: &Arguments) -> Result<bool> {
    let built = Command::new("cargo")
        .args(["build", "--locked", "-p", "hugewise", "-p", "hugewise-lab"])
        .status()
        .context("starting cargo")?;
    ensure!(built.success(), "the program does not build");
    let mut suite = Command::new("cargo");
    suite
        .args(["test", "--locked", "-p", "hugewise", "--test", "confusion"])
        .args(["--", "--nocapture"])
        .env("HUGEWISE_CONFUSION", rows);
    if arguments.all_memory {
        suite.env("HUGEWISE_ALL_MEMORY", "1");
    }
    Ok(suite.status().context("starting cargo")?.success())
}

/// Release and processor, as `uname` says.
fn kernel() -> Result<String> {
    let output = Command::new("uname").args(["-rm"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn render(rows: &[Row], kernel: &str) -> String {
    let mut notes = Notes::default();
    let mut text = format!("{HEAD}\nMade on Linux {kernel}.\n\n");
    text += "| planted | reported to root | reported to a user |\n|---|---|---|\n";
    for plant in PLANTS {
        let cell = |role: &str, notes: &mut Notes| {
            let row = rows
                .iter()
                .find(|row| row.planted == plant.name && row.role == role);
            row.map_or_else(String::new, |row| cell(row, notes))
        };
        let (root, user) = (cell("root", &mut notes), cell("user", &mut notes));
        let _ = writeln!(
            text,
            "| `{}`: {} | {root} | {user} |",
            plant.name, plant.story
        );
    }
    text += "\n";
    for (number, note) in notes.by_number() {
        let _ = writeln!(text, "[{number}] {note}.\n");
    }
    text += "Cannot be planted:\n\n";
    for (code, why) in UNREACHABLE {
        let _ = writeln!(text, "* `{code}`: {why}.");
    }
    text
}

/// `✓` where it is the planted reason and no other; else what was said, and why that is
/// enough.
fn cell(row: &Row, notes: &mut Notes) -> String {
    let code = row.planted.split('/').next().unwrap_or_default();
    match row.kind {
        Kind::NotHere | Kind::Spoilt => {
            let reason = row.reported.strip_prefix("not here: ");
            notes.mark("–", reason.unwrap_or(&row.reported))
        }
        Kind::Why | Kind::Still if row.reported == code => "✓".to_owned(),
        Kind::Why | Kind::Still => match &row.exception {
            Some(why) => notes.mark(&row.reported, why),
            None => format!("**{}**", row.reported),
        },
    }
}

/// Footnotes, each once.
#[derive(Debug, Default)]
struct Notes(BTreeMap<String, usize>);

impl Notes {
    fn mark(&mut self, said: &str, note: &str) -> String {
        let next = self.0.len() + 1;
        let number = *self.0.entry(note.to_owned()).or_insert(next);
        format!("{said} [{number}]")
    }

    fn by_number(&self) -> BTreeMap<usize, &str> {
        let pairs = self.0.iter();
        pairs
            .map(|(note, &number)| (number, note.as_str()))
            .collect()
    }
}

const HEAD: &str = "\
# What was planted, and what was reported

`hugewise-lab plant` brings memory into one known state for each reason why memory is not
huge, and looks up in the kernel that it is so, by other means than the ones under test. Then
`hugewise inspect` judges the process, as root and as an ordinary user. ✓ is the planted reason
and no other; anything else is written out. A reason with `or` is one of several that cannot be
told apart with the rights at hand. `cargo xtask confusion` makes this table anew; the suite
`cargo test -p hugewise --test confusion` fails where it is not what it should be.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(planted: &str, kind: Kind, reported: &str, exception: Option<&str>) -> Row {
        Row {
            planted: planted.to_owned(),
            role: "root".to_owned(),
            kind,
            reported: reported.to_owned(),
            exception: exception.map(str::to_owned),
        }
    }

    #[test]
    fn only_the_planted_reason_alone_is_right() {
        let mut notes = Notes::default();
        let mut cell = |row: Row| cell(&row, &mut notes);
        assert_eq!(cell(row("KSM", Kind::Why, "KSM", None)), "✓");
        assert_eq!(cell(row("KSM/x", Kind::Why, "KSM", None)), "✓");
        assert_eq!(cell(row("KSM", Kind::Why, "UFFD", None)), "**UFFD**");
        let several = row("KSM", Kind::Why, "KSM or UFFD", Some("no rights"));
        assert_eq!(cell(several), "KSM or UFFD [1]");
        let absent = row("KSM", Kind::NotHere, "not here: no KSM", None);
        assert_eq!(cell(absent), "– [2]");
        assert_eq!(notes.by_number()[&1], "no rights");
    }
}
