//! An output file named by a user.

use std::fs::{File, Metadata};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat, readlinkat};
use rustix::io::Errno;

use super::folder::Folder;
use super::kind::{given, hold_at, is_open_for, open_held, refused};
use super::rights::Rights;

/// The maximum number of links followed.
const MOST_LINKS: usize = 8;

/// The number of attempts if another process changes the name at the same time.
const ATTEMPTS: usize = 8;

/// The open file; its content stays until [`Sheet::replace`].
#[derive(Debug)]
pub struct Sheet {
    file: File,
    /// Its directory and name; `None` for `/dev/fd/N`.
    place: Option<(Folder, PathBuf)>,
}

impl Sheet {
    /// Opens or creates a file to be written later. Its directory is kept open too.
    ///
    /// Follows a link only if its owner is the user of these rights, or root: nobody else can select the file.
    ///
    /// # Errors
    /// It may not be written, or is a link of another user, a directory, a block device, or a pipe without a reader.
    pub fn open(path: &Path, rights: &Rights) -> io::Result<Self> {
        if let Some(fd) = given(path) {
            return match is_open_for(&fd, OFlags::WRONLY) {
                true => Ok(Self {
                    file: File::from(fd),
                    place: None,
                }),
                false => Err(refused("it is not open for writing")),
            };
        }
        let (above, name) = parted(path)?;
        let folder = Folder::open(&above, rights)?;
        let file = rights.lend(|| open_in(folder.as_fd(), &name, rights, MOST_LINKS))?;
        Ok(Self {
            file,
            place: Some((folder, name)),
        })
    }

    /// Replaces its content by these bytes.
    ///
    /// # Errors
    /// The disk is full, or the file was removed and cannot be created again.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.begin()?.write_all(bytes)
    }

    /// Empties it, and returns it for incremental writing.
    ///
    /// # Errors
    /// The same as for [`Sheet::replace`].
    pub fn begin(&self) -> io::Result<File> {
        let Some((folder, name)) = &self.place else {
            return self.file.try_clone();
        };
        let found = self.file.metadata()?;
        if !found.is_file() {
            return self.file.try_clone();
        }
        let mut file = match found.nlink() {
            // The trial removed it, and its name may now be that of a planted link.
            0 => {
                let _ = folder.remove(name);
                folder.create(name)?
            }
            _ => self.file.try_clone()?,
        };
        file.set_len(0)?;
        file.rewind()?;
        Ok(file)
    }
}

/// Splits a path into its directory and its name.
pub(super) fn parted(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
    let name = path.file_name().filter(|_| !is_folder);
    let name = name.ok_or_else(|| refused("it is a folder"))?;
    let above = match path.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    Ok((above.to_owned(), name.into()))
}

fn open_in(folder: BorrowedFd<'_>, name: &Path, rights: &Rights, links: usize) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let held = match hold_at(folder, name, OFlags::NOFOLLOW) {
            Ok(held) => held,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match make(folder, name) {
                    // Another process created it first.
                    Err(Errno::EXIST) => continue,
                    made => return Ok(made?),
                }
            }
            Err(error) => return Err(error),
        };
        let found = held.metadata()?;
        return match found.is_symlink() {
            true => follow(folder, &held, &found, rights, links),
            false => open_found(&held, &found),
        };
    }
    Err(refused("it is removed and made again and again"))
}

/// Creates a file.
fn make(folder: BorrowedFd<'_>, name: &Path) -> Result<File, Errno> {
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, new, Mode::from(0o666)).map(File::from)
}

/// Follows a link with a trusted owner.
fn follow(
    folder: BorrowedFd<'_>,
    link: &File,
    found: &Metadata,
    rights: &Rights,
    links: usize,
) -> io::Result<File> {
    let owner = found.uid();
    if owner != rights.uid() && owner != 0 {
        return Err(refused(&format!(
            "it is a link of user {owner}, who could choose what is written over"
        )));
    }
    if links == 0 {
        return Err(refused("it leads through too many links"));
    }
    let target = readlinkat(link, "", Vec::new())?;
    let target = Path::new(std::ffi::OsStr::from_bytes(target.as_bytes()));
    if let Some(fd) = given(target).filter(|fd| is_open_for(fd, OFlags::WRONLY)) {
        return Ok(File::from(fd));
    }
    let (above, name) = parted(target)?;
    let from = if target.is_absolute() { CWD } else { folder };
    let above = openat(
        from,
        &above,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    open_in(above.as_fd(), &name, rights, links - 1)
}

/// Opens an existing file.
fn open_found(held: &File, found: &Metadata) -> io::Result<File> {
    let kind = found.file_type();
    if kind.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if kind.is_block_device() || kind.is_socket() {
        return Err(refused("it is neither a file nor a pipe"));
    }
    let opened = open_held(held, OFlags::WRONLY | OFlags::NONBLOCK);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) if kind.is_fifo() => {
            refused("it is a pipe that nobody reads; start its reader first")
        }
        _ => error,
    })?;
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, mknodat};

    use super::*;

    fn open(path: &Path) -> io::Result<Sheet> {
        Sheet::open(path, &Rights::own())
    }

    #[test]
    fn what_it_held_stays_until_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "a longer old text").unwrap();
        let sheet = open(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a longer old text");
        sheet.replace(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        sheet.replace(b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
    }

    #[test]
    fn a_link_that_is_planted_later_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("x"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        let sheet = open(&path).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        symlink(&victim, &path).unwrap();
        sheet.replace(b"result").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(folder.path().join("moved")).unwrap(), b"result");
    }

    #[test]
    fn a_file_that_was_removed_is_made_again_in_its_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a");
        fs::create_dir(&folder).unwrap();
        let sheet = open(&folder.join("x")).unwrap();
        fs::remove_file(folder.join("x")).unwrap();
        symlink("/proc/nothing", folder.join("x")).unwrap();
        fs::rename(&folder, parent.path().join("b")).unwrap();
        symlink("/proc", &folder).unwrap();
        sheet.replace(b"result").unwrap();
        assert_eq!(fs::read(parent.path().join("b/x")).unwrap(), b"result");
    }

    #[test]
    fn links_of_the_user_are_followed_and_those_of_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("target", at("link")).unwrap();
        open(&at("link")).unwrap().replace(b"1").unwrap();
        assert_eq!(fs::read(at("target")).unwrap(), b"1");
        symlink("round", at("round")).unwrap();
        assert!(open(&at("round")).is_err());
        if crate::machine::identity::effective_uid() != 0 {
            return crate::skipping::skip("links of others", "needs root to make one");
        }
        std::os::unix::fs::lchown(at("link"), Some(65_534), None).unwrap();
        assert!(open(&at("link")).is_err());
        assert_eq!(fs::read(at("target")).unwrap(), b"1");
    }

    #[test]
    fn a_pipe_needs_a_reader_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(open(&path).is_err());
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || fs::read(path).unwrap())
        };
        let sheet = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            open(&path).ok()
        });
        sheet.expect("the reader is there").replace(b"x").unwrap();
        assert_eq!(reader.join().unwrap(), b"x");
        assert!(open(folder.path()).is_err());
        open(Path::new("/dev/null")).unwrap().replace(b"x").unwrap();
    }
}
