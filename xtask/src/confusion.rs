//! The confusion table: planted reasons against those reported by `hugewise inspect`.
//!
//! The reports of each kernel are stored in a separate file. The document is generated from all of them, so that one
//! kernel can be updated without the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

mod document;
mod kept;
mod notes;
mod verdict;

use kept::{Row, Table};

use crate::vm;

/// The folder of the rows, one file per kernel.
const KEPT: &str = "fixtures/confusion";
/// The name of this machine among the kernels.
const HERE: &str = "here";

/// Plants each reason on this machine, inspects it, and writes the table.
///
/// As root, the machine's settings are changed for each plant and restored. Plants that take all free memory are
/// skipped by default. The table also has a column for each kernel of the matrix, from its last run; `--guests` updates
/// them.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Also run the plants that take all free memory
    #[arg(long)]
    all_memory: bool,
    /// Plant nothing: read the output of the guests of the last `xtask vm`
    #[arg(long, conflicts_with_all = ["all_memory", "kept"])]
    guests: bool,
    /// Plant nothing: write the document from the stored rows
    #[arg(long, conflicts_with = "all_memory")]
    kept: bool,
    /// Plant nothing: print all reports of this kernel
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["all_memory", "guests", "kept"])]
    detail: Option<String>,
    /// Folder with the guests' consoles from `xtask vm`
    #[arg(long, default_value = ".cache/matrix", requires = "guests")]
    cache: PathBuf,
    /// Output file
    #[arg(long, default_value = "docs/CONFUSION.md")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let kept = Path::new(KEPT);
    if let Some(kernel) = &arguments.detail {
        return print_detail(&tables(kept)?, kernel);
    }
    let passed = if arguments.guests {
        take_guests(&arguments.cache, kept)?
    } else if arguments.kept {
        true
    } else {
        plant_here(arguments, kept)?
    };
    let document = document::render(&tables(kept)?);
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&arguments.out, document)?;
    eprintln!("{} is written", arguments.out.display());
    ensure!(passed, "plants were judged wrongly, or did not come up");
    Ok(())
}

fn print_detail(tables: &[Table], kernel: &str) -> Result<()> {
    let names: Vec<&str> = tables.iter().map(|table| table.kernel.as_str()).collect();
    let found = tables.iter().find(|table| table.kernel == kernel);
    let table = found.with_context(|| format!("no rows of `{kernel}`; there are {names:?}"))?;
    println!("{}", document::detail(table).trim_end());
    Ok(())
}

/// Returns the file of a kernel, whose name can contain dots.
fn path(folder: &Path, slug: &str) -> PathBuf {
    folder.join(format!("{slug}.json"))
}

/// Returns the stored tables: this machine first, then the matrix in its order.
fn tables(folder: &Path) -> Result<Vec<Table>> {
    let guests = vm::guests()?.into_iter().map(|guest| guest.slug);
    std::iter::once(HERE.to_owned())
        .chain(guests)
        .map(|slug| path(folder, &slug))
        .filter(|path| path.exists())
        .map(|path| Table::read(&path))
        .collect()
}

/// Stores the rows printed by each guest. A kernel that was not booted keeps its old rows.
fn take_guests(cache: &Path, kept: &Path) -> Result<bool> {
    let mut taken = 0;
    let mut right = true;
    for guest in vm::guests()? {
        let console = cache.join("guests").join(&guest.slug).join("console.txt");
        let Ok(text) = fs::read(&console) else {
            eprintln!("{}: no console; it stays as it was", guest.name);
            continue;
        };
        let rows = kept::rows_of_console(&String::from_utf8_lossy(&text))
            .with_context(|| console.display().to_string())?;
        ensure!(
            !rows.is_empty(),
            "{} has no row of the table: the suite did not end there",
            console.display()
        );
        right &= rows.iter().all(verdict::is_right);
        Table {
            kernel: guest.name,
            rows,
        }
        .write(&path(kept, &guest.slug))?;
        taken += 1;
    }
    ensure!(
        taken > 0,
        "no guest has left a console in {}; run `cargo xtask vm` first",
        cache.display()
    );
    Ok(right)
}

fn plant_here(arguments: &Arguments, kept: &Path) -> Result<bool> {
    let rows = std::env::current_dir()?.join("target/confusion.json");
    let _ = fs::remove_file(&rows);
    let passed = test(&rows, arguments)?;
    let content = fs::read(&rows).context("the suite wrote no table")?;
    let rows: Vec<Row> = serde_json::from_slice(&content).context("reading the table")?;
    let kernel = kernel()?;
    Table { kernel, rows }.write(&path(kept, HERE))?;
    Ok(passed)
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

/// Returns processor and release from `uname`.
fn kernel() -> Result<String> {
    let output = Command::new("uname").args(["-mr"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let (release, machine) = text.split_once(' ').context("uname -mr")?;
    Ok(format!("{machine} {release}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The document matches the stored rows: neither was changed without the other.
    #[test]
    fn the_committed_document_is_that_of_the_kept_rows() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tables = tables(&sources.join(KEPT)).unwrap();
        let kernels: BTreeSet<&str> = tables.iter().map(|table| table.kernel.as_str()).collect();
        assert_eq!(kernels.len(), 1 + vm::guests().unwrap().len());
        let document = document::render(&tables);
        let committed = fs::read_to_string(sources.join("docs/CONFUSION.md")).unwrap();
        assert!(
            document == committed,
            "docs/CONFUSION.md is out of date: cargo xtask confusion --kept"
        );
    }
}
