//! A private directory that lives until a process tree has ended and its files were read.
//!
//! The keeper creates and removes it, so it disappears with the tree even if the measuring program was killed. The
//! keeper notices that from its socket, whose only other end that program holds. Directories left by a killed keeper
//! are removed by the next experiment.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::machine::identity::Identity;

const PREFIX: &str = "hugewise-";

/// Returns the name of a new directory below `parent`. It contains this PID, so that others can recognise an abandoned
/// directory, and the time, which makes it unique.
#[must_use]
pub fn scratch_name(parent: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.subsec_nanos());
    parent.join(format!(
        "{PREFIX}{}-{count}-{nanos:08x}",
        std::process::id()
    ))
}

/// Removes the directories of dead processes below `parent` that belong to `owner`. Best effort: the others are
/// harmless.
pub fn sweep_scratch(parent: &Path, owner: u32) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let orphaned = maker(&entry.file_name()).is_some_and(|pid| !is_alive(pid));
        // The metadata of the entry, never that of a link's target.
        let ours = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == owner);
        if orphaned && ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the PID in a name, if the name was made by this program.
fn maker(name: &OsStr) -> Option<i32> {
    let mut parts = name.to_str()?.strip_prefix(PREFIX)?.split('-');
    let pid = parts.next()?.parse().ok().filter(|&pid| pid > 0)?;
    parts.next()?.parse::<u32>().ok()?;
    let nanos = parts.next()?;
    let hex = nanos.len() == 8 && nanos.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex && parts.next().is_none()).then_some(pid)
}

fn is_alive(pid: i32) -> bool {
    // SAFETY: signal 0 sends nothing.
    let answer = unsafe { libc::kill(pid, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// The directory, from its creation to its removal.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates it with access only for its owner. An existing one belongs to another process and is an error.
    pub(super) fn make(path: &Path, identity: Option<&Identity>) -> Result<Self, String> {
        let refused = |error: io::Error| format!("making the folder {}: {error}", path.display());
        DirBuilder::new()
            .mode(0o700)
            .create(path)
            .map_err(refused)?;
        let made = Self {
            path: path.to_owned(),
        };
        if let Some(owner) = identity {
            chown(path, Some(owner.uid), Some(owner.gid)).map_err(refused)?;
        }
        Ok(made)
    }
}

impl Drop for Scratch {
    /// The tree is dead, but a load generator that also uses the directory may die a moment later.
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        let since = Instant::now();
        while let Err(error) = fs::remove_dir_all(&self.path) {
            if error.kind() == io::ErrorKind::NotFound || since.elapsed() > PATIENCE {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_name_their_maker() {
        let own = scratch_name(Path::new("/tmp"));
        let pid = i32::try_from(std::process::id()).unwrap();
        assert_eq!(maker(own.file_name().unwrap()), Some(pid));
        for other in [
            "hugewise-1",
            "hugewise-1-0",
            "hugewise-1-0-0000000g",
            "hugewise-0-0-00000000",
            "hugewise--1-0-00000000",
            "hugewise-1-0-00000000-0",
        ] {
            assert_eq!(maker(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn folders_of_the_dead_are_swept_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let owner = rustix::process::geteuid().as_raw();
        // This number exceeds every possible PID.
        let dead = parent
            .path()
            .join(format!("hugewise-{}-0-0badcafe", i32::MAX));
        let living = scratch_name(parent.path());
        let linked = parent
            .path()
            .join(format!("hugewise-{}-1-0badcafe", i32::MAX));
        let other = parent.path().join("other");
        for folder in [&dead, &living, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
        }
        std::os::unix::fs::symlink(&other, &linked).unwrap();
        sweep_scratch(parent.path(), owner.wrapping_add(1));
        assert!(dead.exists(), "it is another's");
        sweep_scratch(parent.path(), owner);
        assert!(!dead.exists());
        assert!(living.join("file").exists() && other.join("file").exists());
    }

    #[test]
    fn a_folder_that_is_there_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("x");
        let made = Scratch::make(&path, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(Scratch::make(&path, None).is_err());
        assert!(path.exists());
        fs::write(path.join("file"), "x").unwrap();
        drop(made);
        assert!(!path.exists());
    }
}
