//! Locks of the whole machine: `flock` on files.
//!
//! Anyone who can open a file can lock it; the error names the holder. The file is never removed: otherwise two
//! processes could lock two files of the same name.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor, open};
use rustix::io::{Errno, retry_on_intr};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;

/// Name of the file in its directory.
pub const LOCK_FILE: &str = "hugewise.lock";

/// The number of attempts to open a file that disappears at the same time.
const ATTEMPTS: usize = 8;

/// The lock, held until this is dropped or the process ends. Children do not inherit it.
#[derive(Debug)]
pub struct Hold {
    _file: File,
    path: PathBuf,
}

impl Hold {
    /// Returns the locked file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The users who can open a lock, and so hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Every user.
    All = 0o644,
    /// Its owner.
    Owner = 0o600,
}

/// Returns the directory for the lock of this machine: `/run/lock`, or `/tmp` if it does not exist.
#[must_use]
pub fn default_dir() -> PathBuf {
    let run = Path::new("/run/lock");
    if run.is_dir() { run } else { Path::new("/tmp") }.to_owned()
}

/// Takes the lock in `dir` available to every user, without waiting for it.
///
/// # Errors
/// [`Kind::Busy`] if another process holds it. The name is not that of a regular file, or the file cannot be opened.
pub fn hold(dir: &Path) -> Result<Hold> {
    hold_file(dir.join(LOCK_FILE), Access::All)
}

/// Takes the lock on a file, without waiting for it.
pub(super) fn hold_file(path: PathBuf, access: Access) -> Result<Hold> {
    for _ in 0..ATTEMPTS {
        let Some(file) = open_or_create(&path, access)? else {
            continue;
        };
        check_regular(&file, &path)?;
        take(&file, &path)?;
        if still_has_its_name(&file, &path) {
            return Ok(Hold { _file: file, path });
        }
    }
    Err(other(&path, "it is removed and created again and again"))
}

/// Opens the file, or creates it if it does not exist; `None` if another process created it first.
///
/// In a world-writable sticky directory, `O_CREAT` on another user's file is refused (`fs.protected_regular`), and a
/// planted link must not be followed. So the file is opened without creating, or created with `O_EXCL`.
fn open_or_create(path: &Path, access: Access) -> Result<Option<File>> {
    // Without O_NONBLOCK a planted FIFO would hang the program.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match open(path, flags, Mode::empty()) {
        Ok(fd) => return Ok(Some(File::from(fd))),
        Err(Errno::NOENT) => {}
        Err(Errno::LOOP) => return Err(other(path, "it is a symbolic link")),
        Err(error) => return Err(Error::io("locking", path, error.into())),
    }
    let mode = access as u32;
    match open(
        path,
        flags | OFlags::CREATE | OFlags::EXCL,
        Mode::from(mode),
    ) {
        Ok(fd) => with_mode(File::from(fd), path, mode).map(Some),
        Err(Errno::EXIST) => Ok(None),
        Err(error) => Err(Error::io("creating", path, error.into())),
    }
}

/// Regardless of the umask, permitted users must be able to open it.
fn with_mode(file: File, path: &Path, mode: u32) -> Result<File> {
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(|error| Error::io("setting the mode of", path, error))?;
    Ok(file)
}

fn check_regular(file: &File, path: &Path) -> Result<()> {
    let metadata = file
        .metadata()
        .map_err(|error| Error::io("locking", path, error))?;
    if metadata.is_file() {
        return Ok(());
    }
    Err(other(path, "it is not a regular file"))
}

fn take(file: &File, path: &Path) -> Result<()> {
    match retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(Error {
            kind: Kind::Busy {
                holder: read_holder(&Root::real(), file),
            },
            doing: "locking".to_owned(),
            path: Some(path.to_owned()),
            source: None,
        }),
        Err(error) => Err(Error::io("locking", path, error.into())),
    }
}

/// Returns true if the name still refers to the locked file.
fn still_has_its_name(file: &File, path: &Path) -> bool {
    let identity = |found: io::Result<Metadata>| found.ok().map(|it| (it.dev(), it.ino()));
    identity(path.symlink_metadata()) == identity(file.metadata())
}

fn other(path: &Path, what: &str) -> Error {
    Error {
        kind: Kind::Other(what.to_owned()),
        doing: "locking".to_owned(),
        path: Some(path.to_owned()),
        source: None,
    }
}

/// Returns the process that holds one of root's locks, which need not be readable.
pub(super) fn holder_of(path: &Path) -> Option<u32> {
    let found = path.symlink_metadata().ok()?;
    // Anyone who can put a file or a link there can choose the apparent holder.
    let is_roots = found.is_file() && found.uid() == 0;
    is_roots.then(|| holder(&Root::real(), &found)).flatten()
}

fn read_holder(root: &Root, file: &File) -> Option<u32> {
    holder(root, &file.metadata().ok()?)
}

fn holder(root: &Root, metadata: &Metadata) -> Option<u32> {
    let device = (major(metadata.dev()), minor(metadata.dev()));
    parse_holder(&root.read("proc/locks").ok()?, device, metadata.ino())
}

/// Returns the process that holds a `flock` on the inode, from `/proc/locks` (`lock_get_status`, fs/locks.c):
/// `1: FLOCK  ADVISORY  WRITE 4711 00:19:1017 0 EOF`.
///
/// Also `None` if the holder is in another PID namespace, which appears as 0 or −1.
#[must_use]
pub fn parse_holder(locks: &[u8], device: (u32, u32), inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", device.0, device.1);
    String::from_utf8_lossy(locks).lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [_, "FLOCK", _, _, pid, at, ..] if at == file => {
                pid.parse().ok().filter(|&pid| pid > 0)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::*;

    const LOCKS: &[u8] = b"1: POSIX  ADVISORY  WRITE 10 00:19:7 0 EOF\n\
        2: FLOCK  ADVISORY  WRITE 20 08:01:7 0 EOF\n\
        3: FLOCK  ADVISORY  WRITE 30 00:19:7 0 EOF\n\
        3: -> FLOCK  ADVISORY  WRITE 40 00:19:9 0 EOF\n\
        4: FLOCK  ADVISORY  WRITE -1 00:19:8 0 EOF\n";

    #[test]
    fn the_holder_is_found_by_device_and_inode() {
        assert_eq!(parse_holder(LOCKS, (0, 0x19), 7), Some(30));
        assert_eq!(parse_holder(LOCKS, (8, 1), 7), Some(20));
        assert_eq!(parse_holder(LOCKS, (0, 0x19), 8), None, "another namespace");
        assert_eq!(
            parse_holder(LOCKS, (0, 0x19), 9),
            None,
            "waits, does not hold"
        );
        assert_eq!(parse_holder(b"", (0, 0), 0), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200), inode: u64) {
            let _ = parse_holder(&bytes, (0, 0), inode);
        }
    }
}
