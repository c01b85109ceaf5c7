//! Rows as files: `dt=DATE/experiment=NAME/UNIT-START.jsonl` below one folder.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hugewise_model::base::calendar::date;
use hugewise_model::fleet::Row;
use hugewise_model::fleet::unit::file_name;

use crate::stderr::message;

/// Periods that are kept while they cannot be written: a day of five minutes each.
const MOST: usize = 288;

/// The folder, and what could not be written yet.
#[derive(Debug)]
pub(super) struct Rows {
    folder: PathBuf,
    waiting: VecDeque<(PathBuf, String)>,
    periods: usize,
    lost: usize,
    complained: bool,
}

impl Rows {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            waiting: VecDeque::new(),
            periods: 0,
            lost: 0,
            complained: false,
        }
    }

    /// Whether no period has ended yet.
    pub(super) fn is_empty(&self) -> bool {
        self.periods == 0
    }

    /// Takes the rows of one period, and writes all that wait.
    pub(super) fn add(&mut self, rows: &[Row]) {
        self.periods += 1;
        let lines = rows
            .iter()
            .filter_map(|row| serde_json::to_string(row).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        if let Some(row) = rows.first() {
            self.waiting.push_back((place(row), text));
        }
        while self.waiting.len() > MOST {
            self.waiting.pop_front();
            self.lost += 1;
        }
        self.flush();
    }

    fn flush(&mut self) {
        while let Some((path, text)) = self.waiting.front() {
            if let Err(error) = write(&self.folder, path, text) {
                self.complain(&error);
                return;
            }
            self.waiting.pop_front();
        }
        if self.complained {
            let lost = std::mem::take(&mut self.lost);
            message(format_args!(
                "the rows are written again; {lost} periods are lost"
            ));
            self.complained = false;
        }
    }

    fn complain(&mut self, error: &io::Error) {
        if !self.complained {
            message(format_args!(
                "rows cannot be written below {}: {error}; those of {MOST} periods are kept and \
                 tried again",
                self.folder.display()
            ));
        }
        self.complained = true;
    }
}

impl Drop for Rows {
    /// What is lost at the end is said.
    fn drop(&mut self) {
        self.flush();
        let lost = self.waiting.len() + self.lost;
        if lost > 0 {
            message(format_args!("the rows of {lost} periods are lost"));
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

/// Writes under another name first, so that nobody reads half a period. A name that is taken, as
/// after a clock that was set back, is left to the rows that have it.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let start = folder.join(path);
    fs::create_dir_all(start.parent().unwrap_or(folder))?;
    let named = |nth: u32| match nth {
        0 => start.with_added_extension("jsonl"),
        _ => start.with_added_extension(format!("{nth}.jsonl")),
    };
    let mut free = (0..).map(named).filter(|path| !path.exists());
    let Some(last) = free.next() else {
        return Err(io::Error::other("no name is free"));
    };
    let unfinished = start.with_added_extension("new");
    let mut file = File::create(&unfinished)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&unfinished, &last)) {
        // What is half there would keep the disk full.
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Path::new("dt=2026-11-21/experiment=x/web.1-7");
        write(folder.path(), path, "a\n").expect("written");
        write(folder.path(), path, "b\n").expect("written");
        let read = |name: &str| {
            let below = folder.path().join("dt=2026-11-21/experiment=x");
            fs::read_to_string(below.join(name)).expect(name)
        };
        assert_eq!(read("web.1-7.jsonl"), "a\n");
        assert_eq!(read("web.1-7.1.jsonl"), "b\n");
    }
}
