//! Rows as Parquet: all periods that begin in one hour share a file.
//!
//! With a file for each period, the files would be mostly metadata, and ten thousand hosts would make three million of
//! them a day. Until its hour is over, a file consists of lines of JSON below `_unfinished/`, synced to disk after each
//! period, so that a crash loses no completed period.

use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use hugewise_fleet::Row;
use hugewise_fleet::row::parquet;
use hugewise_fleet::unit::file_name;

use super::rows::{folder_of, free_name, write_whole};
use crate::file;
use crate::stderr::message;

/// Spark and pyarrow skip folders with this prefix.
const UNFINISHED: &str = "_unfinished";
/// The lines of an hour that may still grow.
const OPEN: &str = "open";
/// A complete Parquet file, renamed to its final name once the lines are removed.
const CLOSED: &str = "closed";

/// The files of one unit.
#[derive(Debug)]
pub(super) struct Hours {
    folder: PathBuf,
    /// The prefix of the unit's file names.
    unit: String,
    /// The path of the growing lines, and their hour since 1970.
    current: Option<(PathBuf, i64)>,
}

impl Hours {
    pub(super) fn new(folder: &Path, unit: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            unit: file_name(unit) + "-",
            current: None,
        }
    }

    /// Adds a period to the lines of its hour. `place` is the path that a file of only this period would have.
    pub(super) fn add(&mut self, place: &Path, start: i64, lines: &str) -> io::Result<()> {
        let hour = start.div_euclid(3600);
        let goes_on = self
            .current
            .take()
            .filter(|(path, begun)| *begun == hour && path.parent() == place.parent());
        let (path, _) = goes_on.unwrap_or_else(|| (place.to_owned(), hour));
        append(&self.unfinished(&path, OPEN), lines)?;
        self.current = Some((path, hour));
        Ok(())
    }

    /// Converts all lines to Parquet, except the growing ones.
    pub(super) fn close_past(&self) -> io::Result<()> {
        let current = self.current.as_ref();
        self.close(current.map(|(path, _)| path.as_path()))
    }

    /// Converts all lines to Parquet.
    pub(super) fn close_all(&mut self) -> io::Result<()> {
        self.current = None;
        self.close(None)
    }

    /// Converts lines to Parquet, also those of an agent that died. A Parquet file next to lines may be incomplete;
    /// without lines it is complete.
    fn close(&self, current: Option<&Path>) -> io::Result<()> {
        let top = self.folder.join(UNFINISHED);
        for place in self.places(&top)? {
            if current.is_some_and(|it| it == place) {
                continue;
            }
            let (open, closed) = (
                self.unfinished(&place, OPEN),
                self.unfinished(&place, CLOSED),
            );
            if open.exists() {
                let bytes = parquet::file(&read(&open)?).map_err(io::Error::other)?;
                write_whole(&closed, &bytes)?;
                fs::remove_file(&open)?;
            }
            let last = self.folder.join(&place);
            fs::create_dir_all(last.parent().unwrap_or(&self.folder))?;
            fs::rename(&closed, free_name(&last, "parquet"))?;
        }
        Ok(())
    }

    fn unfinished(&self, place: &Path, end: &str) -> PathBuf {
        self.folder
            .join(UNFINISHED)
            .join(place)
            .with_added_extension(end)
    }

    /// The paths of the unit's unfinished files, without their extensions.
    fn places(&self, top: &Path) -> io::Result<Vec<PathBuf>> {
        let mut places = Vec::new();
        for date in entries(top)? {
            for experiment in entries(&date)? {
                for file in entries(&experiment)? {
                    let place = file.strip_prefix(top).unwrap_or(&file).with_extension("");
                    if self.is_ours(&file) && !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
        Ok(places)
    }

    /// Several units may share the folder: `web-1-7` belongs to `web-1`, not to `web`.
    fn is_ours(&self, file: &Path) -> bool {
        let is_known = file
            .extension()
            .is_some_and(|end| end == OPEN || end == CLOSED);
        let name = file.file_stem().and_then(|name| name.to_str());
        let start = name.and_then(|name| name.strip_prefix(&self.unit));
        is_known && start.is_some_and(|start| start.parse::<i64>().is_ok_and(|start| start >= 0))
    }
}

/// The entries of a folder, sorted by name; empty if there is no folder.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match fs::read_dir(folder) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        other => other?,
    };
    let mut paths: Vec<PathBuf> = found
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// Appends lines and syncs them to disk. An incomplete write is undone, because the next lines would follow half a
/// line.
fn append(path: &Path, lines: &str) -> io::Result<()> {
    let (folder, name) = folder_of(path)?;
    let mut file = match folder.open_file(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => folder.create(&name)?,
        opened => opened?,
    };
    let before = file.seek(io::SeekFrom::End(0))?;
    let written = file
        .write_all(lines.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        file.set_len(before)?;
    }
    written
}

/// The rows of the lines. A crash during a write can leave an incomplete last line, which is reported and skipped.
fn read(path: &Path) -> io::Result<Vec<Row>> {
    let text = file::read_found(path)?;
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let read: Vec<Option<Row>> = lines
        .map(|line| serde_json::from_slice(line).ok())
        .collect();
    let broken = read.iter().filter(|row| row.is_none()).count();
    if broken > 0 {
        message(format_args!(
            "{}: {broken} broken lines are left out",
            path.display()
        ));
    }
    Ok(read.into_iter().flatten().collect())
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use hugewise_fleet::simulate::Fleet;
    use tempfile::TempDir;

    use super::*;

    const PLACE: &str = "dt=2026-11-21/experiment=x/web-1-7";

    fn rows() -> Vec<Row> {
        Fleet::quiet().rows(1)[..3].to_vec()
    }

    fn lines() -> String {
        let lines = rows()
            .into_iter()
            .map(|row| serde_json::to_string(&row).expect("JSON") + "\n");
        lines.collect()
    }

    fn read(folder: &TempDir, name: &str) -> Vec<Row> {
        let file = fs::File::open(folder.path().join(name)).expect(name);
        let mut rows = parquet::Rows::open(file, "").expect("Parquet");
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("a row") {
            all.push(row.clone());
        }
        all
    }

    fn files(folder: &TempDir) -> Vec<String> {
        let dates = entries(folder.path()).expect("folders");
        let below = dates.iter().flat_map(|it| entries(it).expect("folders"));
        let deeper: Vec<PathBuf> = below
            .flat_map(|it| entries(&it).expect("folders"))
            .collect();
        let unfinished = deeper.iter().flat_map(|it| entries(it).expect("files"));
        let all = deeper
            .iter()
            .cloned()
            .chain(unfinished)
            .filter(|it| it.is_file());
        let name = |path: PathBuf| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        all.filter_map(name).collect()
    }

    #[test]
    fn periods_of_an_hour_are_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hours = Hours::new(folder.path(), "web-1");
        for start in [7, 307, 3600] {
            let place = format!("dt=2026-11-21/experiment=x/web-1-{start}");
            hours
                .add(Path::new(&place), start, &lines())
                .expect("written");
            hours.close_past().expect("closed");
        }
        assert_eq!(
            read(&folder, &format!("{PLACE}.parquet")),
            [rows(), rows()].concat()
        );
        assert_eq!(files(&folder), ["web-1-7.parquet", "web-1-3600.open"]);
        hours.close_all().expect("closed");
        assert_eq!(files(&folder), ["web-1-3600.parquet", "web-1-7.parquet"]);
    }

    /// A crash before, during or after writing the Parquet file: each row exists exactly once.
    #[test]
    fn what_a_dead_agent_left_is_finished_once() {
        let whole = parquet::file(&rows()).expect("Parquet");
        let torn = lines() + "{\"experiment\":";
        for (open, closed) in [
            (Some(torn), None),
            (Some(lines()), Some(&whole[..10])),
            (None, Some(&whole[..])),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut hours = Hours::new(folder.path(), "web-1");
            for (end, bytes) in [(OPEN, open.as_deref().map(str::as_bytes)), (CLOSED, closed)] {
                let path = hours.unfinished(Path::new(PLACE), end);
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                bytes
                    .map_or(Ok(()), |bytes| fs::write(path, bytes))
                    .expect("written");
            }
            hours.close_all().expect("closed");
            assert_eq!(files(&folder), ["web-1-7.parquet"]);
            assert_eq!(read(&folder, &format!("{PLACE}.parquet")), rows());
        }
    }

    #[test]
    fn units_of_like_names_keep_their_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut other = Hours::new(folder.path(), "web-1");
        other.add(Path::new(PLACE), 7, &lines()).expect("written");
        Hours::new(folder.path(), "web")
            .close_all()
            .expect("closed");
        assert_eq!(files(&folder), ["web-1-7.open"]);
    }
}
