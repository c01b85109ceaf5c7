//! Builds and runs the program for other tools, on the same data everywhere.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hugewise_experiment::run::record::{Record, parse};

/// Builds the program and returns its path.
pub fn build() -> Result<PathBuf> {
    let status = Command::new("cargo")
        .args([
            "build",
            "--release",
            "--locked",
            "-p",
            "hugewise",
            "-p",
            "hugewise-lab",
        ])
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "the program does not build");
    Ok(PathBuf::from("target/release/hugewise"))
}

/// `sort -n` of a million numbers in scattered order: it touches fresh memory, computes, and
/// takes a few tenths of a second.
pub fn sort() -> Result<Vec<OsString>> {
    let data = Path::new("target/demo/million.txt");
    if !data.exists() {
        write_numbers(data)?;
    }
    let words = ["sort", "-n", "-o", "/dev/null"].map(OsString::from);
    Ok(words.into_iter().chain([data.into()]).collect())
}

fn write_numbers(path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let part = path.with_extension("part");
    let mut out = BufWriter::new(File::create(&part)?);
    for index in 1..=1_000_000_u64 {
        writeln!(out, "{}", (index * 1_103_515_245 + 12_345) % 2_147_483_648)?;
    }
    out.flush()?;
    Ok(fs::rename(part, path)?)
}

/// Runs `hugewise run` quietly and returns its record. A failed trial is an error here.
pub fn record(program: &Path, flags: &[&str], command: &[OsString]) -> Result<Record> {
    let folder = std::env::temp_dir().join(format!("hugewise-xtask-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let path = folder.join("run.jsonl");
    let output = Command::new(program)
        .args(["run", "--quiet", "--out"])
        .arg(&path)
        .args(flags)
        .arg("--")
        .args(command)
        .env("LC_ALL", "C")
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    let bytes = fs::read(&path);
    fs::remove_dir_all(&folder)?;
    if !output.status.success() {
        // The report shows a failed trial; stderr has any other error.
        bail!(
            "{} failed: {}{}",
            program.display(),
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let bytes = bytes.context("reading the record")?;
    parse(&bytes).map_err(|error| anyhow!("reading the record: {error}"))
}
