//! `--latency READER:FILE`: tells the files that a trial wrote from older ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugewise_base::glob::{fits, is_pattern};
use hugewise_experiment::loadgen;
use hugewise_experiment::loadgen::Reply;
use hugewise_experiment::run::plan::service::Places;
use hugewise_experiment::run::plan::{LatencyPlace, LatencySource};
use hugewise_linux::collect::service::LastLook;
use hugewise_linux::file::read::{open_regular, read_within};

use crate::invoker;

/// Maximum file size, in bytes; a log of one trial is smaller.
const LARGEST: u64 = 256 << 20;

/// How much of a trial's stdout is kept, in bytes.
const STDOUT_KEPT: usize = 16 << 20;

/// The prefix of a source that names files in the trial's folder.
pub const FOLDER: &str = "{dir}/";

/// The files' names and contents, or why there are none.
type Documents = Result<Vec<(String, Vec<u8>)>, String>;

/// The place where the latencies of a trial are read after it.
#[derive(Debug)]
pub enum LatencyFiles {
    /// The stdout of the trial.
    Stdout,
    /// Files that outlive the trial.
    Changed(ChangedFiles),
    /// Files in the temporary folder of the trial.
    Folder(TrialFolder),
}

impl LatencyFiles {
    /// Notes the files before a trial. Relative paths are relative to the workload's directory.
    pub fn before(source: Option<&LatencySource>, directory: Option<&Path>) -> Self {
        match source.map(|source| &source.place) {
            None | Some(LatencyPlace::Stdout) => Self::Stdout,
            Some(LatencyPlace::Files(path)) if path.starts_with(FOLDER) => {
                Self::Folder(TrialFolder::new(path.clone()))
            }
            Some(LatencyPlace::Files(path)) => Self::Changed(ChangedFiles::before(path, directory)),
        }
    }
}

impl LastLook for LatencyFiles {
    fn look_before(&self, places: &Places) {
        if let Self::Folder(folder) = self {
            let files = ChangedFiles::before(&places.fill(&folder.pattern), None);
            *folder.before.borrow_mut() = files.before;
        }
    }

    fn look(&self, places: &Places) {
        if let Self::Folder(folder) = self {
            *folder.found.borrow_mut() = folder.read(places);
        }
    }
}

/// Files in a server's folder: all of them for a trial that starts the server, and only those written by a later load.
#[derive(Debug)]
pub struct TrialFolder {
    /// The pattern with its placeholders.
    pattern: String,
    before: RefCell<BTreeMap<PathBuf, State>>,
    found: RefCell<Documents>,
}

impl TrialFolder {
    fn new(pattern: String) -> Self {
        let why = format!("{pattern}: the trial did not get that far");
        Self {
            pattern,
            before: RefCell::default(),
            found: RefCell::new(Err(why)),
        }
    }

    /// Reported names contain `{dir}` instead of the folder, which changes with each start.
    fn read(&self, places: &Places) -> Documents {
        let files = ChangedFiles {
            pattern: PathBuf::from(places.fill(&self.pattern)),
            before: self.before.take(),
        };
        let known = |text: String| text.replace(&places.dir, "{dir}");
        let found = files.documents().map_err(known)?;
        Ok(found
            .into_iter()
            .map(|(name, bytes)| (known(name), bytes))
            .collect())
    }
}

/// The files that a source names, as they were before a trial.
#[derive(Debug)]
pub struct ChangedFiles {
    pattern: PathBuf,
    before: BTreeMap<PathBuf, State>,
}

/// The state of a file, to detect whether it was rewritten or only appended to.
#[derive(Debug, PartialEq, Eq)]
struct State {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// A hash of the contents; `None` if the file is too large to read.
    fingerprint: Option<u64>,
}

impl ChangedFiles {
    fn before(path: &str, directory: Option<&Path>) -> Self {
        let pattern = directory.unwrap_or(Path::new("")).join(path);
        let states = matching(&pattern).into_iter().filter_map(|path| {
            let state = State::of(&path)?;
            Some((path, state))
        });
        Self {
            before: states.collect(),
            pattern,
        }
    }

    /// The names and contents of the files that are new or were rewritten.
    fn documents(&self) -> Documents {
        let mut documents = Vec::new();
        for path in matching(&self.pattern) {
            let name = path.display().to_string();
            let now = State::of(&path);
            let before = self.before.get(&path);
            if now.is_some() && now.as_ref() == before {
                continue;
            }
            let told = |problem: io::Error| format!("{name}: {problem}");
            let file = match open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(told)?,
            };
            let bytes = contents(file).map_err(told)?;
            if before.is_some_and(|before| is_appended(before, &bytes)) {
                return Err(format!(
                    "{name}: the trial appended to it, so it also holds older requests; remove it \
                     in --prepare"
                ));
            }
            documents.push((name, bytes));
        }
        if documents.is_empty() {
            return Err(format!(
                "{}: the trial wrote no such file",
                self.pattern.display()
            ));
        }
        Ok(documents)
    }
}

impl State {
    /// Returns `None` if this is not a regular file.
    fn of(path: &Path) -> Option<Self> {
        let file = open(path).ok()?;
        let facts = file.metadata().ok()?;
        Some(Self {
            inode: facts.ino(),
            length: facts.len(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            fingerprint: contents(file).ok().map(|bytes| fingerprint(&bytes)),
        })
    }
}

/// Returns true if the file still begins with its earlier contents.
fn is_appended(before: &State, bytes: &[u8]) -> bool {
    let length = usize::try_from(before.length).unwrap_or(usize::MAX);
    let old = bytes.get(..length).filter(|old| !old.is_empty());
    old.is_some_and(|old| before.fingerprint == Some(fingerprint(old)) && bytes.len() > length)
}

fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Opens a file with the permissions of the workload's user, who may have put anything there.
fn open(path: &Path) -> io::Result<File> {
    let rights = invoker::rights().map_err(io::Error::other)?;
    rights.lend(|| open_regular(path))
}

fn contents(file: File) -> io::Result<Vec<u8>> {
    read_within(file, LARGEST)
}

/// The files that match a path, sorted by name; its last part can hold `*` (any letters) and `?` (one letter).
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    if !is_pattern(&name) {
        return vec![pattern.to_owned()];
    }
    let folder = match pattern.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let listed = invoker::rights().map(|rights| rights.lend(|| fs::read_dir(folder)));
    let entries = listed.into_iter().flatten().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| fits(&name, &entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// Reads the latencies of one trial, from its stdout or from the files that it wrote.
pub fn read(source: &LatencySource, stdout: &[u8], files: LatencyFiles) -> Reply {
    let documents = match files {
        LatencyFiles::Changed(files) => files.documents(),
        LatencyFiles::Folder(folder) => folder.found.into_inner(),
        LatencyFiles::Stdout if stdout.len() >= STDOUT_KEPT => Err(format!(
            "the trial printed more than {} MiB; let it write to a file",
            STDOUT_KEPT >> 20
        )),
        LatencyFiles::Stdout => Ok(vec![("stdout".to_owned(), stdout.to_vec())]),
    };
    loadgen::read(source, documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(path: &Path) -> ChangedFiles {
        ChangedFiles::before(&path.display().to_string(), None)
    }

    fn names(written: &ChangedFiles) -> Vec<String> {
        let documents = written.documents().expect("written");
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        documents.iter().map(|(path, _)| name(path)).collect()
    }

    #[test]
    fn only_what_the_trial_wrote_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("w");
        write("a.1", "old\n");
        write("a.2", "old\n");
        let before = before(&folder.path().join("a.*"));
        assert!(
            before
                .documents()
                .unwrap_err()
                .contains("wrote no such file")
        );
        write("a.2", "new\n");
        write("a.3", "5\n");
        write("b.3", "5\n");
        assert_eq!(names(&before), ["a.2", "a.3"]);
        write("a.1", "old\nand more\n");
        assert!(before.documents().unwrap_err().contains("appended"));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let before = before(&path);
        assert!(before.documents().is_err());
    }

    #[test]
    fn files_in_a_folder_are_named_without_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = Places {
            port: 4711,
            dir: folder.path().display().to_string(),
        };
        let read = |pattern: &str| TrialFolder::new(pattern.to_owned()).read(&places);
        assert_eq!(
            read("{dir}/log*"),
            Err("{dir}/log*: the trial wrote no such file".to_owned())
        );
        for name in ["log.4711", "log.1", "other"] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        let named = |name: &str| (format!("{{dir}}/{name}"), name.as_bytes().to_vec());
        assert_eq!(
            read("{dir}/log*"),
            Ok(vec![named("log.1"), named("log.4711")])
        );
        assert_eq!(read("{dir}/log.{port}"), Ok(vec![named("log.4711")]));
    }
}
