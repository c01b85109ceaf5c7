use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hugewise_base::setting::is_setting;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::UndoFolder;
use crate::machine::clock::since_1970;
use crate::machine::error::{Error, Kind, Result};

/// Name of the journal in the state directory.
pub const JOURNAL_FILE: &str = "undo.json";

/// Its name while it is written; it is then renamed, so that it is either complete or absent.
const UNFINISHED: &str = "undo.json.new";

/// The format of the journal.
const VERSION: u32 = 1;

/// The original values of all files that an experiment may write.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    version: u32,
    /// Settings do not survive a reboot, so a journal is valid only for its boot.
    pub(super) boot_id: String,
    /// The process that wrote it.
    pub(super) pid: u32,
    /// Seconds since 1970, for users who find a journal.
    created: u64,
    /// In the order of writing; restored in reverse order.
    pub(crate) entries: Vec<Entry>,
}

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Relative to the root of the machine.
    pub(crate) path: String,
    /// The value before the experiment.
    pub(crate) original: String,
    /// How the experiment changes it.
    pub(crate) change: Change,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// It writes one of these values.
    Written(Vec<String>),
    /// The kernel changes it when another file is written, to a value known only to the kernel.
    Follows,
}

impl Journal {
    pub(crate) fn new(place: &UndoFolder, entries: Vec<Entry>) -> Result<Self> {
        Ok(Self {
            version: VERSION,
            boot_id: read_boot_id(place)?,
            pid: std::process::id(),
            created: since_1970().as_secs(),
            entries,
        })
    }

    /// Writes the journal to disk, before any setting is changed.
    pub(crate) fn save(&self, place: &UndoFolder) -> Result<()> {
        let (path, unfinished) = (path(place), unfinished(place));
        let content = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::malformed(&path, error.to_string()))?;
        place.create_state()?;
        place.remove(&unfinished)?;
        let saved = place
            .write_new(&unfinished, &content)
            .and_then(|()| place.rename(&unfinished, &path));
        if saved.is_err() {
            // Nothing has been changed yet; of two errors the first is reported.
            let _ = Self::remove(place);
        }
        saved
    }

    /// Removes the journal, and an unfinished one.
    pub(crate) fn remove(place: &UndoFolder) -> Result<()> {
        place.remove(&unfinished(place))?;
        place.remove(&path(place))
    }
}

pub(crate) fn path(place: &UndoFolder) -> PathBuf {
    place.state().join(JOURNAL_FILE)
}

fn unfinished(place: &UndoFolder) -> PathBuf {
    place.state().join(UNFINISHED)
}

pub(super) fn read_boot_id(place: &UndoFolder) -> Result<String> {
    place.root().read_trimmed("proc/sys/kernel/random/boot_id")
}

/// Reads the journal left by an earlier experiment, if there is one.
pub(crate) fn read_journal(place: &UndoFolder) -> Result<Option<Journal>> {
    let path = path(place);
    let mut file = match open(&path) {
        Ok(file) => file,
        Err(error) if error.kind == Kind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    file.read_to_end(&mut content)
        .map_err(|error| Error::io("reading", &path, error))?;
    parse_journal(&content)
        .map(Some)
        .map_err(|what| Error::malformed(&path, format!("{what}; {BY_HAND}")))
}

const BY_HAND: &str = "so it does not say the old values: compare the files below \
    /sys/kernel/mm/transparent_hugepage with what they should be, then remove this one";

/// A journal restored by root must have been written by root.
fn open(path: &Path) -> Result<File> {
    let fault = |error| Error::io("reading", path, error);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(fault)?;
    let metadata = file.metadata().map_err(fault)?;
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        let what = format!("it belongs to user {owner} and is not trusted");
        return Err(Error::malformed(path, what));
    }
    if !metadata.is_file() {
        return Err(Error::malformed(path, "it is not a regular file"));
    }
    Ok(file)
}

/// Parses a journal; it must be complete, and name only settings that this program may write.
fn parse_journal(content: &[u8]) -> std::result::Result<Journal, String> {
    let journal: Journal = serde_json::from_slice(content).map_err(|error| error.to_string())?;
    if journal.version != VERSION {
        return Err(format!(
            "it has format {}; this program reads {VERSION}",
            journal.version
        ));
    }
    match journal
        .entries
        .iter()
        .find(|entry| !is_setting(&entry.path))
    {
        None => Ok(journal),
        Some(entry) => Err(format!("it names `{}`, which is not a setting", entry.path)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use hugewise_base::host::THP_DIR;
    use hugewise_base::setting::{KSM, MIN_FREE, POOLS};

    use super::*;

    fn journal(path: &str) -> Journal {
        Journal {
            version: VERSION,
            boot_id: "b".into(),
            pid: 1,
            created: 2,
            entries: vec![Entry {
                path: path.into(),
                original: "madvise".into(),
                change: Change::Written(vec!["always".into()]),
            }],
        }
    }

    #[test]
    fn a_journal_names_settings_only() {
        let pool = format!("{POOLS}2048kB/nr_hugepages");
        for path in [&format!("{THP_DIR}/enabled"), MIN_FREE, KSM[0], &pool] {
            let content = serde_json::to_vec(&journal(path)).unwrap();
            assert_eq!(parse_journal(&content), Ok(journal(path)));
        }
        let climbing = format!("{THP_DIR}/../../../../etc/passwd");
        let beside = format!("{THP_DIR}x/enabled");
        let deep = format!("{POOLS}2048kB/x/nr_hugepages");
        let other = format!("{POOLS}2048kB/nr_overcommit_hugepages");
        let elsewhere = [
            "/etc/passwd",
            "etc/passwd",
            "",
            "sys/kernel/mm/ksm/merge_across_nodes",
        ];
        let built = [&climbing, &beside, THP_DIR, &deep, &other];
        for path in elsewhere.into_iter().chain(built) {
            let content = serde_json::to_vec(&journal(path)).unwrap();
            assert!(
                parse_journal(&content)
                    .unwrap_err()
                    .contains("not a setting"),
                "{path}"
            );
        }
    }

    #[test]
    fn another_format_is_not_guessed_at() {
        let mut later = journal(MIN_FREE);
        later.version = 2;
        let content = serde_json::to_vec(&later).unwrap();
        assert!(parse_journal(&content).unwrap_err().contains("format 2"));
    }

    #[test]
    fn a_torn_journal_is_an_error_wherever_it_is_torn() {
        let whole = serde_json::to_vec(&journal(MIN_FREE)).unwrap();
        for length in 0..whole.len() {
            assert!(parse_journal(&whole[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(content in vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(parse_journal(&content).ok(), None);
        }
    }
}
