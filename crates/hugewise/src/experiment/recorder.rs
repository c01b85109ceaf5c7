//! The record on disk: appended and flushed per trial, so that no measurement is lost.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use hugewise_experiment::run::compare::first_answer;
use hugewise_experiment::run::record;
use hugewise_experiment::run::record::{
    ChangeOfMeans, Continuation, End, Header, Inside, Line, Record, Removal,
};
use hugewise_experiment::run::trial::Trial;
use hugewise_linux::file::folder::Folder;
use hugewise_text::page;
use hugewise_text::suggest::suggestion;

use super::records::{self, LAST};
use crate::stderr::{chain, message};
use crate::{exit, file, invoker, paths};

/// A record that is written to a file and kept in memory as well.
#[derive(Debug)]
pub struct Recorder {
    record: Record,
    path: PathBuf,
    place: Place,
    file: Option<File>,
    trouble: Option<anyhow::Error>,
}

/// The rows of one experiment, added one by one.
pub trait Rows {
    /// The record so far.
    fn record(&self) -> &Record;

    /// Adds a trial.
    fn push(&mut self, trial: Trial);

    /// Drops a policy that needs no more trials.
    fn remove(&mut self, removal: Removal);

    /// The number of the next trial.
    fn next_index(&self) -> u32 {
        let record = self.record();
        let trials = record.trials.len() + record.cold.len();
        u32::try_from(trials).unwrap_or(u32::MAX)
    }
}

/// The periods inside the servers of a record.
#[derive(Debug)]
pub struct Periods<'a> {
    recorder: &'a mut Recorder,
}

/// The location of a record: its folder, held open, and its name there.
#[derive(Debug)]
struct Place {
    folder: Folder,
    name: PathBuf,
}

impl Place {
    fn of(path: &Path) -> std::io::Result<Self> {
        let rights = invoker::rights().map_err(std::io::Error::other)?;
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        let above = path.parent().filter(|above| *above != Path::new(""));
        Ok(Self {
            folder: Folder::open(above.unwrap_or(Path::new(".")), &rights)?,
            name: name.into(),
        })
    }

    /// The place of the file that a link leads to.
    fn of_file(path: &Path) -> std::io::Result<Self> {
        let rights = invoker::rights().map_err(std::io::Error::other)?;
        Self::of(&rights.lend(|| fs::canonicalize(path))?)
    }
}

impl Recorder {
    /// Creates the file, which must not exist yet, and writes the header. The file belongs to the invoking user, also
    /// through sudo.
    pub fn create(path: &Path, header: Header) -> Result<Self> {
        let (place, file) = create_new(path)?;
        let mut recorder = Self {
            record: Record::begin(header.clone()),
            path: path.to_owned(),
            place,
            file: Some(file),
            trouble: None,
        };
        recorder.append(&Line::Header(header));
        match recorder.trouble.take() {
            Some(error) => Err(error),
            None => Ok(recorder),
        }
    }

    /// Reopens the file of a record to add rounds. A torn last line is cut off.
    pub fn resume(path: &Path, mut record: Record, continuation: Continuation) -> Result<Self> {
        let opened = Place::of_file(path).and_then(|place| {
            let mut file = place.folder.open_file(&place.name)?;
            let length = whole_lines(&mut file)?;
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok((place, file))
        });
        let (place, file) = opened.map_err(|error| {
            exit::usage(format!("continuing the record {}: {error}", path.display()))
        })?;
        record.warnings.clear();
        record.resume(continuation.clone());
        let mut recorder = Self {
            record,
            path: path.to_owned(),
            place,
            file: Some(file),
            trouble: None,
        };
        recorder.append(&Line::Continue(continuation));
        match recorder.trouble.take() {
            Some(error) => Err(error),
            None => Ok(recorder),
        }
    }

    /// Adds a trial. A disk error does not end an experiment: the trial stays in memory and in the report, and the
    /// error is reported at the end.
    pub fn push(&mut self, trial: Trial) {
        self.append(&Line::Trial(trial.clone()));
        self.record.push(trial);
    }

    /// Begins the experiment inside the servers.
    pub fn begin_inside(&mut self, inside: Inside) {
        self.append(&Line::Inside(inside.clone()));
        self.record.begin_inside(inside);
    }

    /// The rows of the experiment inside the servers, once it has begun.
    pub fn inside(&mut self) -> Option<Periods<'_>> {
        let has_begun = self.record.inside.is_some();
        has_begun.then_some(Periods { recorder: self })
    }

    /// The number of the next trial.
    pub fn next_index(&self) -> u32 {
        Rows::next_index(self)
    }

    /// Drops a policy. The remaining ones may need fewer rounds.
    pub fn remove(&mut self, removal: Removal) {
        self.append(&Line::Drop(removal.clone()));
        self.record.remove(removal);
        let plan = &mut self.record.header.plan;
        let fewest = first_answer(plan);
        let least = &mut plan.bounds.least_rounds;
        *least = least.map(|least| least.min(fewest));
    }

    /// Applies a policy by another mechanism.
    pub fn change_means(&mut self, change: ChangeOfMeans) {
        self.append(&Line::Means(change.clone()));
        self.record.change_means(change);
    }

    /// Returns true if it holds no trial.
    pub fn is_empty(&self) -> bool {
        self.record.trials.is_empty() && self.record.cold.is_empty()
    }

    /// Removes the file, which has no content of use.
    pub fn discard(self) {
        let Place { folder, name } = &self.place;
        if self.file.is_some_and(|file| folder.has(name, &file)) {
            let _ = folder.remove(name);
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The record so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Writes the last line; returns the record with the disk error, if any.
    pub fn finish(mut self, end: End) -> (Record, Option<anyhow::Error>) {
        self.append(&Line::End(end.clone()));
        self.record.end = Some(end);
        (self.record, self.trouble)
    }

    /// Returns the record up to a failure of measuring, with its error. The file gets no last line, as if the
    /// experiment had been killed.
    pub fn abandon(mut self, error: anyhow::Error) -> (Record, Option<anyhow::Error>) {
        let why = format!("the experiment was cut short: {}", chain(&error));
        self.record.warnings.push(why);
        (self.record, Some(error))
    }

    fn append(&mut self, line: &Line) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = append_whole(file, &record::to_line(line)) {
            self.file = None;
            self.trouble = Some(anyhow!(error).context(format!(
                "writing the record {}; it holds the trials before this one. Free some space or \
                 choose another place with --out FILE",
                self.path.display()
            )));
        }
    }
}

impl Rows for Recorder {
    fn record(&self) -> &Record {
        self.record()
    }

    fn push(&mut self, trial: Trial) {
        self.push(trial);
    }

    fn remove(&mut self, removal: Removal) {
        self.remove(removal);
    }
}

impl Rows for Periods<'_> {
    fn record(&self) -> &Record {
        let record = &self.recorder.record;
        record.inside.as_deref().unwrap_or(record)
    }

    fn push(&mut self, trial: Trial) {
        self.recorder.append(&Line::Period(trial.clone()));
        if let Some(inside) = &mut self.recorder.record.inside {
            inside.push(trial);
        }
    }

    /// The next start measures it again, so nothing is dropped.
    fn remove(&mut self, _: Removal) {}
}

fn create_new(path: &Path) -> Result<(Place, File)> {
    let made = Place::of(path).and_then(|place| {
        let file = place.folder.create(&place.name)?;
        Ok((place, file))
    });
    let shown = path.display();
    made.map_err(|error| {
        exit::usage(match error.kind() {
            ErrorKind::AlreadyExists => format!(
                "{shown} exists already; records are never overwritten: name another file with \
                 --out"
            ),
            _ => format!(
                "making the record {shown}: {error}; choose another place with --out FILE{}",
                invoker::rights_hint()
            ),
        })
    })
}

/// Writes a whole record to a new file.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = create_new(path)?.1.write_all(bytes);
    written.with_context(|| format!("writing {}", path.display()))
}

/// Returns a file of the same record that can grow. A gzip file is unpacked into a new file next to it and stays
/// unchanged.
///
/// # Errors
/// The unpacked file exists already, or it cannot be written.
pub fn growable(path: PathBuf) -> Result<PathBuf> {
    if !file::is_packed(&path) {
        return Ok(path);
    }
    let (packed, plain) = (path.display(), records::unpacked_name(&path));
    let shown = plain.display();
    if plain.exists() {
        return Err(exit::usage(format!(
            "{packed} is packed, and {shown} exists already; continue that: hugewise run --continue {shown}"
        )));
    }
    write_new(&plain, &read_bytes(&path)?)?;
    message(format!(
        "{packed} is packed; its trials and the new ones are in {shown}"
    ));
    Ok(plain)
}

/// Appends a line, or leaves the file unchanged: a torn line is cut off again.
fn append_whole(file: &mut File, line: &str) -> std::io::Result<()> {
    let before = file.stream_position()?;
    let written = file
        .write_all(line.as_bytes())
        .and_then(|()| file.sync_data());
    if written.is_err() {
        // Best effort: the reader copes with a torn last line as well.
        let _ = file.set_len(before);
        let _ = file.seek(SeekFrom::Start(before));
    }
    written
}

/// The length of the whole lines of a file, in bytes.
fn whole_lines(file: &mut File) -> std::io::Result<u64> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    Ok(end.map_or(0, |at| at as u64 + 1))
}

/// Reads a record from a file.
pub fn read(path: &Path) -> Result<Record> {
    parse(path, &read_bytes(path)?)
}

/// Reads a record from the bytes of a file.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Record> {
    record::parse(bytes).map_err(|error| exit::usage(format!("{}: {error}", path.display())))
}

/// The bytes of the record in a page, or those of any other file unchanged.
pub fn source(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    page::source(bytes).map_err(|error| exit::usage(format!("{}: {error}", path.display())))
}

/// Reads a record that the program discovered. Anything but a regular file is an error, so the call never blocks.
pub fn read_found(path: &Path) -> Result<Record> {
    parse(path, &read_back(path)?)
}

/// The bytes of a record that was just written.
pub fn read_back(path: &Path) -> Result<Vec<u8>> {
    let bytes = file::read_found(path);
    bytes.with_context(|| format!("reading the record {}", path.display()))
}

/// Reads the bytes of a record's file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    file::read(path).map_err(|error| {
        let name = path.display();
        let told = match (error.kind(), paths::records()) {
            (ErrorKind::NotFound, Ok(folder)) => format!(
                "there is no record {name}; records without --out lie in {}, and `hugewise history` \
                 lists them{}",
                folder.display(),
                suggestion(&path.to_string_lossy(), [LAST])
            ),
            _ => format!("reading the record {name}: {error}"),
        };
        exit::usage(told)
    })
}
