//! Rows in files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_model::fleet::Row;
use hugewise_model::fleet::analyse::Tally;
use hugewise_model::fleet::row::parquet;

use crate::{exit, file};

/// Adds the rows of a file, or of all files `*.jsonl` and `*.parquet` below a folder.
pub(super) fn add(tally: &mut Tally, path: &Path) -> Result<()> {
    if !path.is_dir() {
        return add_file(tally, path);
    }
    let before = tally.rows;
    add_folder(tally, path)?;
    if tally.rows == before {
        let folder = path.display();
        return Err(exit::usage(format!(
            "{folder}: no file below this folder ends in .jsonl or .parquet and has rows; give \
             the folder that `fleet agent --out` wrote"
        )));
    }
    Ok(())
}

fn add_folder(tally: &mut Tally, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder)
        .map_err(|error| exit::usage(format!("{}: {error}", folder.display())))?;
    // A link to a folder is not followed: it may lead back to where it lies.
    let found = entries.map(|entry| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    });
    let mut found: Vec<(PathBuf, bool)> = found.collect::<std::io::Result<_>>()?;
    found.sort();
    for (path, is_folder) in found {
        if is_folder {
            add_folder(tally, &path)?;
        } else if is_parquet(&path) || path.extension().is_some_and(|it| it == "jsonl") {
            add_file(tally, &path)?;
        }
    }
    Ok(())
}

fn add_file(tally: &mut Tally, path: &Path) -> Result<()> {
    let name = path.display();
    let opened = file::open(path).map_err(|error| exit::usage(format!("{name}: {error}")))?;
    match is_parquet(path) {
        true => add_columns(tally, path, opened),
        false => add_lines(tally, path, BufReader::with_capacity(1 << 16, opened)),
    }
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "parquet")
}

/// A file of Parquet, some rows at a time.
fn add_columns(tally: &mut Tally, path: &Path, opened: fs::File) -> Result<()> {
    let name = path.display();
    let wrong = |problem: &dyn std::fmt::Display| exit::usage(format!("{name}: {problem}"));
    let mut rows = parquet::Rows::open(opened, experiment(path)).map_err(|error| wrong(&error))?;
    for number in 1.. {
        let wrong =
            |problem: &dyn std::fmt::Display| wrong(&format_args!("row {number}: {problem}"));
        match rows.next().map_err(|error| wrong(&error))? {
            Some(row) => tally.add(row).map_err(|error| wrong(&error))?,
            None => break,
        }
    }
    Ok(())
}

/// The experiment that a folder is of.
fn experiment(path: &Path) -> &str {
    let folders = path.ancestors().skip(1);
    let mut names = folders.filter_map(|folder| folder.file_name()?.to_str());
    let experiment = names.find_map(|name| name.strip_prefix("experiment="));
    experiment.unwrap_or_default()
}

fn add_lines(tally: &mut Tally, path: &Path, mut reader: impl BufRead) -> Result<()> {
    let name = path.display();
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        let wrong = |problem: &dyn std::fmt::Display| {
            exit::usage(format!("{name}, line {number}: {problem}"))
        };
        let read = reader.read_line(&mut line).map_err(|error| wrong(&error))?;
        if read == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line)
            .map_err(|error| wrong(&format_args!("not a row of `fleet agent`: {error}")))?;
        tally.add(&row).map_err(|error| wrong(&error))?;
    }
    Ok(())
}
