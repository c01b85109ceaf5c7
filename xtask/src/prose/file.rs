//! The files of some folders, with the flagged sentences of each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::patterns::flags;
use super::sentences::{self, Kind, Sentence};

/// Folders without text that people write for readers.
const LEFT_OUT: [&str; 6] = ["target", ".git", "golden", "hosts", "tests", "corpora"];
/// The longest printed part of a sentence, in characters.
const SHOWN: usize = 220;

/// A sentence, with the names of its patterns; empty if it is not flagged.
pub type Checked = (Sentence, Vec<&'static str>);

/// A file with its sentences.
pub struct File {
    /// The path, relative to the folder from which it was read.
    pub path: String,
    pub sentences: Vec<Checked>,
}

/// The number of sentences and of flagged ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub sentences: usize,
    pub flagged: usize,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.sentences += other.sentences;
        self.flagged += other.flagged;
    }

    /// Returns the flagged part, in percent; zero without a sentence.
    pub fn percent(self) -> f64 {
        100.0 * self.flagged as f64 / self.sentences.max(1) as f64
    }
}

impl File {
    /// Counts the sentences of a kind.
    pub fn tally(&self, kind: Kind) -> Tally {
        let of_kind = self.sentences.iter().filter(|(it, _)| it.kind == kind);
        of_kind.fold(Tally::default(), |all, (_, flags)| Tally {
            sentences: all.sentences + 1,
            flagged: all.flagged + usize::from(!flags.is_empty()),
        })
    }

    /// Prints each flagged sentence as `FILE:LINE [patterns] sentence`.
    pub fn print_flagged(&self) {
        let flagged = self.sentences.iter().filter(|(_, flags)| !flags.is_empty());
        for (sentence, flags) in flagged {
            let text: String = sentence.text.chars().take(SHOWN).collect();
            let (path, line) = (&self.path, sentence.line);
            println!("{path}:{line} [{}] {text}", flags.join("; "));
        }
    }
}

/// Reads the Markdown and Rust files below some paths, which are relative to `from`.
///
/// # Errors
///
/// A path does not exist or cannot be read.
pub fn read(from: &Path, paths: &[PathBuf]) -> Result<Vec<File>> {
    let mut found = Vec::new();
    for path in paths {
        find(&from.join(path), &mut found)?;
    }
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let sentences = match path.extension().is_some_and(|it| it == "md") {
            true => sentences::of_markdown(&text),
            false => sentences::of_rust(&text),
        };
        let checked = |it: Sentence| {
            let flags = flags(&it.text);
            (it, flags)
        };
        let path = path.strip_prefix(from).unwrap_or(&path);
        Ok(File {
            path: path.to_string_lossy().into_owned(),
            sentences: sentences.into_iter().map(checked).collect(),
        })
    };
    found.into_iter().map(read).collect()
}

/// Finds the files of a folder, then those of its subfolders, each by name. A given file is read whatever its name.
fn find(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let reading = || format!("reading {}", path.display());
    if !fs::metadata(path).with_context(reading)?.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let mut folders = Vec::new();
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let name = entry.file_name();
        if entry.file_type().with_context(reading)?.is_dir() {
            if !LEFT_OUT.iter().any(|it| name == *it) {
                folders.push(entry.path());
            }
        } else if [".md", ".rs"]
            .iter()
            .any(|it| name.to_string_lossy().ends_with(it))
        {
            files.push(entry.path());
        }
    }
    files.sort();
    folders.sort();
    found.extend(files);
    folders.iter().try_for_each(|folder| find(folder, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_its_flagged_sentences_by_kind() {
        let folder = std::env::temp_dir().join(format!("prose-{}", std::process::id()));
        let inner = folder.join("inner/golden");
        fs::create_dir_all(&inner).expect("a folder");
        let write = |path: &str, text: &str| fs::write(folder.join(path), text).expect("a file");
        write("b.md", "Returns the number of pages.\n");
        write("a.rs", "/// Whether it is so. Returns the size in bytes.\n");
        write("inner/c.rs", "let a = \"the page that was read\";\n");
        write("inner/golden/d.md", "Whether this file is read.\n");
        write("other.txt", "Whether this file is read.\n");
        let files = read(&folder, &[PathBuf::new()]);
        fs::remove_dir_all(&folder).expect("the folder can be removed");
        let files = files.expect("the files can be read");
        let tally = |sentences, flagged| Tally { sentences, flagged };
        let counted: Vec<(&str, [Tally; 3])> = files
            .iter()
            .map(|it| (it.path.as_str(), Kind::ALL.map(|kind| it.tally(kind))))
            .collect();
        let none = tally(0, 0);
        let expected = [
            ("a.rs", [tally(2, 1), none, none]),
            ("b.md", [none, none, tally(1, 0)]),
            ("inner/c.rs", [none, tally(1, 1), none]),
        ];
        assert_eq!(counted, expected);
    }

    #[test]
    fn a_missing_path_is_an_error() {
        let missing = [PathBuf::from("no-such-folder")];
        assert!(read(Path::new(""), &missing).is_err());
    }
}
