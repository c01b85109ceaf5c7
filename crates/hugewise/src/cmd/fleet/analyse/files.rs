//! Reads rows from files.

use std::fs;
use std::io::{BufRead, BufReader, Error, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_fleet::Row;
use hugewise_fleet::analyse::Tally;
use hugewise_fleet::row::parquet;

use crate::{exit, file};

/// The hint where rows are found.
const GIVE: &str = "give the folder that `fleet agent --out` wrote";

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
            "{folder}: no file below this folder ends in .jsonl or .parquet and has rows; {GIVE}"
        )));
    }
    Ok(())
}

fn add_folder(tally: &mut Tally, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| unread(folder, &error))?;
    // Links to folders are not followed, because they may form a loop.
    let found = entries.map(|entry| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    });
    let found = found.collect::<std::io::Result<Vec<(PathBuf, bool)>>>();
    let mut found = found.map_err(|error| unread(folder, &error))?;
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
    let opened = file::open(path).map_err(|error| unread(path, &error))?;
    match is_parquet(path) {
        true => add_columns(tally, path, opened),
        false => add_lines(tally, path, BufReader::with_capacity(1 << 16, opened)),
    }
}

/// Explains why rows cannot be read, and what to give instead.
fn unread(path: &Path, error: &Error) -> anyhow::Error {
    let path = path.display();
    exit::usage(match error.kind() {
        ErrorKind::NotFound => format!("there is no folder or file {path} with rows; {GIVE}"),
        _ => format!("the rows in {path} cannot be read: {error}"),
    })
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "parquet")
}

/// Adds a Parquet file in batches of rows.
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

/// The experiment of a folder.
fn experiment(path: &Path) -> &str {
    let folders = path.ancestors().skip(1);
    let mut names = folders.filter_map(|folder| folder.file_name()?.to_str());
    let experiment = names.find_map(|name| name.strip_prefix("experiment="));
    experiment.unwrap_or_default()
}

fn add_lines(tally: &mut Tally, path: &Path, mut reader: impl BufRead) -> Result<()> {
    let name = path.display();
    let before = tally.rows;
    let mut line = Vec::new();
    for number in 1.. {
        let wrong = |problem: &dyn std::fmt::Display| {
            exit::usage(format!("{name}, line {number}: {problem}"))
        };
        let read = file::read_line(&mut reader, &mut line).map_err(|error| wrong(&error))?;
        if read == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_slice(&line).map_err(|error| {
            let problem = problem(&error);
            match tally.rows == before {
                true => exit::usage(format!(
                    "{name} holds no rows of an experiment (line {number}: {problem}); {GIVE}"
                )),
                false => wrong(&format_args!("no row of `fleet agent`: {problem}")),
            }
        })?;
        tally.add(&row).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

/// Explains why a line is not a row. Leaves out serde's position, because its `line 1` is not the line of the file.
fn problem(error: &serde_json::Error) -> String {
    if error.is_syntax() {
        return "no JSON".to_owned();
    }
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}
