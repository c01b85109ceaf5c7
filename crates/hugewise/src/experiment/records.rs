//! The records of the user's state folder: `last`, `last~1`, their names, and their list.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Result;
use hugewise_base::calendar::minute;
use hugewise_base::jsonl::lines;
use hugewise_experiment::run::record::{Header, Line};
use hugewise_text::csv::Csv;
use hugewise_text::document::{Document, Level, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::counted;
use hugewise_text::wrap::plain;
use serde::Serialize;

use crate::file::{LARGEST_FOUND, first_line};
use crate::stderr::message;
use crate::{exit, invoker, paths};

/// The name of the newest record; `last~1` is the one before it.
pub const LAST: &str = "last";

/// The file name extensions of a record.
const ENDINGS: [&str; 2] = [".jsonl", ".jsonl.gz"];

/// The maximum number of skipped files of a folder to report.
const MOST_TOLD: usize = 10;

/// The number of records on the first screen.
const MOST: usize = 10;

/// A record of the list.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// `last`, `last~1` and so on.
    name: String,
    /// Its file.
    pub path: PathBuf,
    created_unix_ms: u64,
    command: Vec<String>,
}

impl Entry {
    /// Returns true if its command names a program.
    #[cfg(feature = "advise")]
    pub fn names(&self, program: &str) -> bool {
        let words = self
            .command
            .iter()
            .flat_map(|word| word.split_ascii_whitespace());
        let mut names = words.filter_map(|word| word.rsplit('/').next());
        names.any(|name| name == program)
    }
}

/// The file that a word means: `last~N` is the N-th before the newest, a name means a record of the user's folder, and
/// anything else is a path.
pub fn find(word: &Path) -> Result<PathBuf> {
    let Some(place) = place(word) else {
        let named = (!word.exists()).then(|| named(word)).flatten();
        return Ok(named.unwrap_or_else(|| word.to_owned()));
    };
    let found = newest()?;
    if found.is_empty() {
        return Err(exit::usage(format!(
            "{}: there is no record yet. To make one: hugewise run -- COMMAND",
            word.display()
        )));
    }
    found.get(place).cloned().ok_or_else(|| {
        exit::usage(format!(
            "{}: of {} there is none so old; `hugewise history` lists them",
            word.display(),
            counted(found.len() as u64, "record")
        ))
    })
}

/// The record of the user's folder with this name, with or without its extension.
fn named(word: &Path) -> Option<PathBuf> {
    let name = word.to_str().filter(|name| !name.contains('/'))?;
    let folder = paths::records().ok()?;
    let files = ["", ENDINGS[0], ENDINGS[1]].map(|ending| format!("{name}{ending}"));
    let mut files = files.into_iter().map(|file| folder.join(file));
    files.find(|path| has_ending(path) && path.is_file())
}

/// The name of a record of the user's folder, which [`find`] accepts instead of its path. A record in a temporary
/// folder is named by its path, because nobody would search there.
pub fn word(path: &Path) -> Option<String> {
    if paths::is_temporary(path) {
        return None;
    }
    let folder = paths::records().ok()?;
    let is_there = path.parent() == Some(&*folder);
    stem(path).filter(|_| is_there).map(str::to_owned)
}

fn has_ending(path: &Path) -> bool {
    stem(path).is_some()
}

/// The name of a record without its extension; `None` for other files.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))
}

/// The file name of a packed record after unpacking.
pub fn unpacked_name(path: &Path) -> PathBuf {
    match stem(path) {
        Some(name) => path.with_file_name(format!("{name}{}", ENDINGS[0])),
        None => path.with_extension(&ENDINGS[0][1..]),
    }
}

/// The number of records newer than the one that the word means; `None` for a path.
fn place(word: &Path) -> Option<usize> {
    let rest = word.to_str()?.strip_prefix(LAST)?;
    match rest.strip_prefix('~') {
        Some(number) => number.parse().ok(),
        None => rest.is_empty().then_some(0),
    }
}

/// The records, the newest first.
pub(super) fn newest() -> Result<Vec<PathBuf>> {
    Ok(in_folder(&paths::records()?))
}

/// The records of a folder, newest first; empty if the folder cannot be read.
pub fn in_folder(folder: &Path) -> Vec<PathBuf> {
    read_folder(folder).unwrap_or_default()
}

/// The records of a folder, newest first. Files that cannot be records, such as pipes, are skipped and reported once.
pub fn read_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let rights = invoker::rights().map_err(std::io::Error::other)?;
    let entries = rights.lend(|| std::fs::read_dir(folder))?;
    let paths: BTreeSet<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| has_ending(path))
        .collect();
    // The folder has a packed record twice if it was continued: the unpacked file has all its trials.
    let is_outgrown = |path: &PathBuf| {
        let unpacked = unpacked_name(path);
        unpacked != *path && paths.contains(&unpacked)
    };
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for path in paths.iter().filter(|path| !is_outgrown(path)) {
        match rights.lend(|| look(path)) {
            Ok(modified) => files.push((modified, path.clone())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => skipped(path, &error),
        }
    }
    files.sort_by(|one, other| other.cmp(one));
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The modification time of a file that may be a record.
fn look(path: &Path) -> std::io::Result<SystemTime> {
    let found = path.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if found.len() > LARGEST_FOUND {
        let most = format!("it is larger than {} MiB", LARGEST_FOUND >> 20);
        return Err(std::io::Error::other(most));
    }
    found.modified()
}

/// Reports once per file why it is skipped.
fn skipped(path: &Path, why: &std::io::Error) {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() < MOST_TOLD && told.insert(path.to_owned()) {
        message(format_args!("{} is left out: {why}", path.display()));
    }
}

/// All records, newest first.
pub fn list() -> Result<Vec<Entry>> {
    let entry = |(place, path): (usize, PathBuf)| {
        let header = header(&path)?;
        Some(Entry {
            name: match place {
                0 => LAST.to_owned(),
                more => format!("{LAST}~{more}"),
            },
            path,
            created_unix_ms: header.created_unix_ms,
            command: header.plan.command,
        })
    };
    Ok(newest()?
        .into_iter()
        .enumerate()
        .filter_map(entry)
        .collect())
}

/// The header of a record; `None` of another file.
pub fn header(path: &Path) -> Option<Header> {
    let first = first_line(path);
    match lines(&first).next()?.read::<Line>() {
        Ok(Some(Line::Header(header))) => Some(header),
        _ => None,
    }
}

/// The list for people: the newest records, and all of them as a detail.
pub fn document(entries: &[Entry]) -> Document {
    let mut section = Section::default();
    if entries.is_empty() {
        section.push("There is no record yet. To make one: hugewise run -- COMMAND");
        return Document::new([section]);
    }
    let table = |entries: &[Entry]| {
        let align = [Align::Left, Align::Left, Align::Wrapped];
        let mut grid = Grid::headed(&["record", "began (UTC)", "command"]).aligned(&align);
        for entry in entries {
            let command = plain(&entry.command.join(" "));
            grid.push([entry.name.clone(), minute(entry.created_unix_ms), command]);
        }
        grid
    };
    section.push_brief(table(&entries[..entries.len().min(MOST)]));
    section.push_detail(table(entries));
    let folder = entries[0].path.parent().unwrap_or(Path::new("."));
    let more = match entries.len() > MOST {
        true => format!("{} records in all", entries.len()),
        false => "They lie".to_owned(),
    };
    let place = format!(
        "{more} in {}. Report one: hugewise report last",
        folder.display()
    );
    section.blocks.push((Level::First, place.into()));
    Document::new([section])
}

/// The list for programs.
pub fn csv(entries: &[Entry]) -> String {
    let mut csv = Csv::new(&["record", "path", "created_unix_ms", "command"]);
    for entry in entries {
        csv.row([
            entry.name.clone(),
            entry.path.display().to_string(),
            entry.created_unix_ms.to_string(),
            entry.command.join(" "),
        ]);
    }
    csv.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_ends_as_lines_of_json_packed_or_not() {
        for (name, expected) in [
            ("/a/b.jsonl", Some("b")),
            ("b.c.jsonl.gz", Some("b.c")),
            ("b.json", None),
            ("b.gz", None),
        ] {
            assert_eq!(stem(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_packed_record_unpacks_to_its_own_name() {
        for (packed, unpacked) in [("/a/b.jsonl.gz", "/a/b.jsonl"), ("c.gz", "c.jsonl")] {
            assert_eq!(unpacked_name(Path::new(packed)), Path::new(unpacked));
        }
    }

    #[test]
    fn a_name_counts_back_and_all_else_is_a_path() {
        for (word, expected) in [
            ("last", Some(0)),
            ("last~0", Some(0)),
            ("last~12", Some(12)),
            ("last~", None),
            ("last.jsonl", None),
            ("./last", None),
        ] {
            assert_eq!(place(Path::new(word)), expected, "{word}");
        }
    }
}
