//! A directory named by a user, for new files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::rights::Rights;
use crate::machine::clock::since_1970;

/// The number of names to try before giving up.
const ATTEMPTS: usize = 8;

/// An open directory. New files are created in it even if its path leads elsewhere later.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    rights: Rights,
}

impl Folder {
    /// Opens a directory.
    ///
    /// # Errors
    /// It does not exist, or the user may not enter it.
    pub fn open(path: &Path, rights: &Rights) -> io::Result<Self> {
        let fd = rights.lend(|| Ok(openat(CWD, path, FLAGS, Mode::empty())?))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
            rights: rights.clone(),
        })
    }

    /// Creates a directory, and opens it.
    ///
    /// # Errors
    /// The name exists, or the user may not create it.
    pub fn make(path: &Path, rights: &Rights) -> io::Result<Self> {
        let (above, name) = super::sheet::parted(path)?;
        let above = Self::open(&above, rights)?;
        let fd = rights.lend(|| {
            mkdirat(&above.fd, &name, Mode::from(0o777))?;
            let flags = FLAGS | OFlags::NOFOLLOW;
            Ok(openat(&above.fd, &name, flags, Mode::empty())?)
        })?;
        Ok(Self {
            fd,
            path: path.to_owned(),
            rights: rights.clone(),
        })
    }

    /// Creates a directory and its missing parents, and opens it.
    ///
    /// # Errors
    /// The user may not create a directory there.
    pub fn make_all(path: &Path, rights: &Rights) -> io::Result<Self> {
        rights.lend(|| fs::create_dir_all(path))?;
        Self::open(path, rights)
    }

    /// Returns its path, as named by the user.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file.
    ///
    /// # Errors
    /// The name exists, or the user may not create it.
    pub fn create(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.rights.lend(|| Ok(self.create_new(name.as_ref())?))
    }

    fn create_new(&self, name: &Path) -> Result<File, Errno> {
        let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.fd, name, new, Mode::from(0o666)).map(File::from)
    }

    /// Opens an existing file for reading and writing. Does not follow a link.
    ///
    /// # Errors
    /// It does not exist, is not a regular file, or may not be written.
    pub fn open_file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.rights.lend(|| {
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let held = super::kind::hold_at(self.as_fd(), name.as_ref(), OFlags::NOFOLLOW)?;
            match super::kind::why_no_file(&held.metadata()?) {
                Some(why) => Err(super::kind::refused(why)),
                None => Ok(File::from(openat(
                    &self.fd,
                    name.as_ref(),
                    flags,
                    Mode::empty(),
                )?)),
            }
        })
    }

    /// Replaces a file atomically, with this mode regardless of the umask: a reader sees either the old or the new one.
    /// Whatever has the name is replaced and not followed.
    ///
    /// # Errors
    /// The disk is full, the name is that of a directory, or the user may not write here.
    pub fn replace(&self, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.rights.lend(|| {
            let (unfinished, mut file) = self.create_unfinished(name)?;
            let written = file
                .write_all(bytes)
                .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
                .and_then(|()| Ok(renameat(&self.fd, &unfinished, &self.fd, name)?));
            if written.is_err() {
                let _ = unlinkat(&self.fd, &unfinished, AtFlags::empty());
            }
            written
        })
    }

    /// Creates a file under an unpredictable name.
    fn create_unfinished(&self, name: &str) -> io::Result<(String, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mut last = Errno::EXIST;
        for _ in 0..ATTEMPTS {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let now = since_1970().subsec_nanos();
            let own = format!(
                "{}{}-{count}-{now:08x}",
                unfinished(name),
                std::process::id()
            );
            match self.create_new(Path::new(&own)) {
                Ok(file) => return Ok((own, file)),
                Err(error) => last = error,
            }
            if last != Errno::EXIST {
                break;
            }
        }
        Err(last.into())
    }

    /// Removes the unfinished files of killed writers of a file, if this user owns them.
    pub fn sweep(&self, name: &str) {
        let start = unfinished(name);
        let _ = self.rights.lend(|| {
            for own in self.names()?.iter().filter(|own| own.starts_with(&start)) {
                let writer = own[start.len()..].split('-').next().unwrap_or_default();
                let lives = writer.parse::<u32>().is_ok_and(lives);
                let found = statat(&self.fd, own.as_str(), AtFlags::SYMLINK_NOFOLLOW)?;
                if !lives && found.st_uid == self.rights.uid() {
                    unlinkat(&self.fd, own.as_str(), AtFlags::empty())?;
                }
            }
            Ok(())
        });
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let listed = openat(
            &self.fd,
            ".",
            OFlags::RDONLY | (FLAGS - OFlags::PATH),
            Mode::empty(),
        )?;
        let entries = Dir::new(listed)?.take(MOST_NAMES);
        Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned))
            .collect())
    }

    /// Removes a file. A link is removed, not its target.
    ///
    /// # Errors
    /// It does not exist, or the user may not remove it.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        self.rights
            .lend(|| Ok(unlinkat(&self.fd, name.as_ref(), AtFlags::empty())?))
    }

    /// Returns true if a name refers to this file.
    #[must_use]
    pub fn has(&self, name: impl AsRef<Path>, file: &File) -> bool {
        let found = self
            .rights
            .lend(|| Ok(statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?));
        let own = file.metadata();
        found.is_ok_and(|it| own.is_ok_and(|own| (it.st_dev, it.st_ino) == (own.dev(), own.ino())))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The directory need not be readable.
const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The maximum number of names read in a directory.
const MOST_NAMES: usize = 10_000;

/// Returns the prefix of the names of unfinished files. The suffix differs from that of the file, so that no one
/// confuses them.
fn unfinished(name: &str) -> String {
    format!("{name}.new-")
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, mknodat};

    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn whatever_is_planted_is_replaced_and_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for planted in ["link", "dangling", "pipe", "file"] {
            let path = parent.path().join(format!("of-{planted}"));
            fs::create_dir(&path).unwrap();
            let place = path.join("x");
            match planted {
                "link" => symlink(&victim, &place).unwrap(),
                "dangling" => symlink(parent.path().join("none"), &place).unwrap(),
                "pipe" => mknodat(CWD, &place, FileType::Fifo, Mode::RUSR, 0).unwrap(),
                _ => fs::write(&place, "old").unwrap(),
            }
            let folder = Folder::open(&path, &Rights::own()).unwrap();
            folder.replace("x", b"new", 0o644).unwrap();
            assert_eq!(fs::read(&place).unwrap(), b"new", "{planted}");
            assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o644);
            assert_eq!(names(&path), ["x"], "{planted}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(!parent.path().join("none").exists());
    }

    #[test]
    fn a_folder_under_the_name_is_an_error_and_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("x")).unwrap();
        let folder = Folder::open(parent.path(), &Rights::own()).unwrap();
        assert!(folder.replace("x", b"new", 0o644).is_err());
        assert_eq!(names(parent.path()), ["x"]);
    }

    #[test]
    fn what_the_dead_left_is_swept_and_all_else_stays() {
        let parent = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let living = format!("x.new-{own}-0-00000000");
        for name in [
            "x",
            "x.new-4194305-0-00000000",
            &living,
            "y.new-4194305-0-0",
        ] {
            fs::write(parent.path().join(name), "").unwrap();
        }
        let folder = Folder::open(parent.path(), &Rights::own()).unwrap();
        folder.sweep("x");
        assert_eq!(names(parent.path()), ["x", &living, "y.new-4194305-0-0"]);
    }

    #[test]
    fn files_are_made_in_the_folder_that_was_opened() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let folder = Folder::make(&path, &Rights::own()).unwrap();
        assert!(Folder::make(&path, &Rights::own()).is_err());
        fs::rename(&path, parent.path().join("b")).unwrap();
        symlink("/proc", &path).unwrap();
        folder.create("f").unwrap().write_all(b"x").unwrap();
        assert!(folder.create("f").is_err());
        symlink("/etc/passwd", parent.path().join("b/link")).unwrap();
        assert!(folder.create("link").is_err());
        assert!(folder.open_file("link").is_err());
        assert_eq!(names(&parent.path().join("b")), ["f", "link"]);
    }
}
