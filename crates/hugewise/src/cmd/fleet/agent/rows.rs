//! Rows as files: `dt=DATE/experiment=NAME/UNIT-START.jsonl`, or `.parquet`, below one folder.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use hugewise_base::{calendar::date, parquet};
use hugewise_fleet::unit::file_name;
use hugewise_fleet::{Ending, Row};
use hugewise_linux::file::folder::Folder;
use hugewise_text::number::counted;

use super::hours::Hours;
use crate::stderr::message;
use crate::{exit, invoker};

/// The number of periods kept while they cannot be written: one day of five-minute periods.
const MOST: usize = 288;

/// The format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RowFiles {
    /// Lines of JSON, a file for each period, at its end.
    Jsonl,
    /// Parquet, a file for each hour, at its end.
    Parquet,
}

/// The folder, and the periods not yet written.
#[derive(Debug)]
pub(super) struct Rows {
    folder: PathBuf,
    /// The state of Parquet files.
    hours: Option<Hours>,
    waiting: VecDeque<Period>,
    periods: usize,
    lost: usize,
    complained: bool,
}

/// The rows of a period as lines.
#[derive(Debug)]
struct Period {
    place: PathBuf,
    start: i64,
    ending: Ending,
    lines: String,
}

impl Rows {
    pub(super) fn new(folder: &Path, unit: &str, files: RowFiles) -> Result<Self> {
        let hours = match files {
            RowFiles::Jsonl => None,
            RowFiles::Parquet => {
                parquet::check()
                    .map_err(|error| exit::usage(format!("--rows parquet: {error}")))?;
                Some(Hours::new(folder, unit))
            }
        };
        Ok(Self {
            folder: folder.to_owned(),
            hours,
            waiting: VecDeque::new(),
            periods: 0,
            lost: 0,
            complained: false,
        })
    }

    /// Returns true if no period has ended yet.
    pub(super) fn is_empty(&self) -> bool {
        self.periods == 0
    }

    /// Adds the rows of one period, and writes all pending ones.
    pub(super) fn add(&mut self, rows: &[Row]) {
        self.periods += 1;
        let lines = rows
            .iter()
            .filter_map(|row| serde_json::to_string(row).ok());
        let lines: String = lines.map(|line| line + "\n").collect();
        if let Some(row) = rows.first() {
            self.waiting.push_back(Period {
                place: place(row),
                start: row.start,
                ending: row.ending,
                lines,
            });
        }
        while self.waiting.len() > MOST {
            self.waiting.pop_front();
            self.lost += 1;
        }
        let done = self.flush();
        self.say(done);
    }

    /// Writes all pending rows, for the last time.
    ///
    /// # Errors
    /// Rows are lost, so this must not count as success.
    pub(super) fn close(mut self) -> Result<()> {
        let closed = |hours: &mut Hours| hours.close_all();
        let done = self
            .flush()
            .and_then(|()| self.hours.as_mut().map_or(Ok(()), closed));
        let failed = done.is_err();
        self.say(done);
        let lost = std::mem::take(&mut self.waiting).len() + std::mem::take(&mut self.lost);
        match (lost, failed) {
            (0, false) => Ok(()),
            (0, true) => bail!("the rows of the last hour are not closed; the next start does it"),
            (lost, _) => bail!("the rows of {} are lost", counted(lost as u64, "period")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some(period) = self.waiting.front() {
            match &mut self.hours {
                None => write(&self.folder, period)?,
                Some(hours) => hours.add(&period.place, period.start, &period.lines)?,
            }
            let ending = period.ending;
            self.waiting.pop_front();
            // A stopped arm is written at once, because somebody who looks for the reason will not wait for the end of
            // the hour.
            if let Some(hours) = self.hours.as_mut().filter(|_| ending == Ending::Guardrail) {
                hours.close_all()?;
            }
        }
        self.hours.as_ref().map_or(Ok(()), Hours::close_past)
    }

    fn say(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            return self.complain(&error);
        }
        if self.complained {
            let lost = std::mem::take(&mut self.lost);
            let lost = counted(lost as u64, "period");
            message(format_args!("the rows are written again; {lost} lost"));
            self.complained = false;
        }
    }

    fn complain(&mut self, error: &io::Error) {
        if !self.complained {
            message(format_args!(
                "rows cannot be written below {}: {error}; the last {MOST} periods are \
                 kept and written later",
                self.folder.display()
            ));
        }
        self.complained = true;
    }
}

impl Drop for Rows {
    /// Reports rows that are lost at the end.
    fn drop(&mut self) {
        let closed = |hours: &mut Hours| hours.close_all();
        let done = self
            .flush()
            .and_then(|()| self.hours.as_mut().map_or(Ok(()), closed));
        self.say(done);
        let lost = self.waiting.len() + self.lost;
        if lost > 0 {
            let lost = counted(lost as u64, "period");
            message(format_args!("the rows of {lost} are lost"));
        }
    }
}

fn place(row: &Row) -> PathBuf {
    let ms = u64::try_from(row.start).unwrap_or(0).saturating_mul(1000);
    let date = date(ms);
    let unit = file_name(&row.unit);
    PathBuf::from(format!("dt={date}"))
        .join(format!("experiment={}", row.experiment))
        .join(format!("{unit}-{}", row.start))
}

/// Writes under another name first, so that nobody reads half a period.
fn write(folder: &Path, period: &Period) -> io::Result<()> {
    let start = folder.join(&period.place);
    let unfinished = start.with_added_extension("new");
    write_whole(&unfinished, period.lines.as_bytes())?;
    fs::rename(&unfinished, free_name(&start, "jsonl"))
}

/// A free name for a file. An existing file, such as after the clock was set back, is not overwritten.
pub(super) fn free_name(start: &Path, end: &str) -> PathBuf {
    let first = start.with_added_extension(end);
    let others = (1_u32..).map(|nth| start.with_added_extension(format!("{nth}.{end}")));
    let mut names = std::iter::once(first).chain(others);
    let free = names.find(|path| !path.exists());
    free.expect("no folder holds four billion files")
}

/// Writes a file and syncs it to disk; leaves no file after an error.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = folder_of(path)?;
    // A killed agent can leave an incomplete file.
    let _ = folder.remove(&name);
    let mut file = folder.create(&name)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // An incomplete file would keep the disk full.
        let _ = folder.remove(&name);
    }
    written
}

/// The folder of a file, created and held open, and the file's name in it.
pub(super) fn folder_of(path: &Path) -> io::Result<(Folder, PathBuf)> {
    let rights = invoker::rights().map_err(io::Error::other)?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let above = path.parent().unwrap_or(Path::new("."));
    Ok((Folder::make_all(above, &rights)?, name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let period = |lines: &str| Period {
            place: PathBuf::from("dt=2026-11-21/experiment=x/web.1-7"),
            start: 7,
            ending: Ending::Whole,
            lines: lines.to_owned(),
        };
        write(folder.path(), &period("a\n")).expect("written");
        write(folder.path(), &period("b\n")).expect("written");
        let read = |name: &str| {
            let below = folder.path().join("dt=2026-11-21/experiment=x");
            fs::read_to_string(below.join(name)).expect(name)
        };
        assert_eq!(read("web.1-7.jsonl"), "a\n");
        assert_eq!(read("web.1-7.1.jsonl"), "b\n");
    }
}
