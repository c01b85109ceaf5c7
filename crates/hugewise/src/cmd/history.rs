//! `hugewise history`: lists the records of past measurements, and shows one command over time.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use hugewise_experiment::run::history::{Entry, History};
use hugewise_text::document::Section;
use hugewise_text::number::counted;

use crate::exit::{self, Exit};
use crate::experiment::{recorder, records};
use crate::options::PageFile;
use crate::output::{self, Output};
use crate::paths;
use crate::stderr::{chain, message};

/// Flags of `history`.
#[derive(Debug, Args)]
#[command(mut_arg("verbose", |it| it.help("Show all records and all levels")))]
pub struct Arguments {
    /// Whole words of the command line, after `--` if they begin with `-`; without them, all commands
    #[arg(value_name = "CMD")]
    command: Vec<String>,

    /// Take the records from DIR
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    output::check_file(&arguments.output)?;
    arguments.page.check()?;
    let folder = match &arguments.folder {
        Some(folder) if !folder.is_dir() => {
            return Err(exit::usage(format!(
                "--folder {}: there is no such folder",
                folder.display()
            )));
        }
        Some(folder) => folder.clone(),
        None => paths::records()?,
    };
    let began = Instant::now();
    let words = arguments.command.join(" ");
    let history = History::of(entries(&records::in_folder(&folder), &words));
    if history.entries.is_empty() && !words.is_empty() {
        let folder = folder.display();
        return Err(exit::usage(format!(
            "no record in {folder} is of a command with `{words}` in it; without it, `hugewise history` lists all"
        )));
    }
    let took = began.elapsed();
    let json = serde_json::json!({
        "format": "hugewise-history 2",
        "took_seconds": took.as_secs_f64(),
        "records": history.entries,
        "changes": history.splits,
        "next_session": history.next,
    });
    let document = || {
        let mut document = history.document();
        let read = counted(history.entries.len() as u64, "record");
        let read = format!("{read}, read in {:.1} s.", took.as_secs_f64());
        document.push(Section::default().with(read));
        document
    };
    output::show(&arguments.output, &json, document, || history.csv())?;
    arguments.page.write(|| Ok(history.page()))?;
    Ok(Exit::Done)
}

/// Returns true if these words are consecutive in a command line; no words match any line. A program matches with or
/// without its folder.
fn has_words(command: &[String], words: &str) -> bool {
    let line = command.join(" ");
    let mut places = line.match_indices(words);
    words.is_empty()
        || places.any(|(at, _)| {
            let begins = line[..at].chars().next_back();
            let ends = line[at + words.len()..].chars().next();
            begins.is_none_or(|c| c == ' ' || c == '/') && ends.is_none_or(|c| c == ' ')
        })
}

/// The entries of the records whose command line has these words. Unreadable records are skipped and counted.
fn entries(files: &[PathBuf], words: &str) -> Vec<Entry> {
    let asked = files.iter().filter(|path| {
        let header = records::header(path);
        header.is_some_and(|header| has_words(&header.plan.command, words))
    });
    let entry = |path: &PathBuf| -> Result<Entry> {
        let record = recorder::read_found(path)?;
        Ok(Entry::of(&record, path.display().to_string())?)
    };
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for path in asked {
        match entry(path) {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(error),
        }
    }
    if let Some(first) = errors.first() {
        let records = counted(errors.len() as u64, "record");
        message(format_args!(
            "{records} passed over; the first: {}",
            chain(first)
        ));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_whole_words() {
        let command = ["/usr/bin/sort", "-n", "sorted.txt"].map(str::to_owned);
        for words in ["", "sort", "sort -n", "/usr/bin/sort", "sorted.txt"] {
            assert!(has_words(&command, words), "{words}");
        }
        for words in ["sor", "ort", "sort sorted.txt", "sorted", "txt"] {
            assert!(!has_words(&command, words), "{words}");
        }
    }
}
