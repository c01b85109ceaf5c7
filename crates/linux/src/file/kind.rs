//! The kind of a file, found out without opening it: opening a pipe waits, and opening a device may act.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, open, openat};

/// Returns the error of a file that this program does not open.
pub(super) fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Returns a handle of a path, without opening it.
pub(super) fn hold(path: &Path) -> io::Result<File> {
    hold_at(CWD, path, OFlags::empty())
}

/// Opens a handle of a name in a directory; with [`OFlags::NOFOLLOW`] that of a link, not of its target.
pub(super) fn hold_at(folder: BorrowedFd<'_>, name: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | more;
    Ok(File::from(openat(folder, name, flags, Mode::empty())?))
}

/// Opens the file of a handle, even if another file has its name now.
pub(super) fn open_held(held: &File, flags: OFlags) -> io::Result<File> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(File::from(open(&path, flags, Mode::empty())?))
}

/// Returns why this is no regular file; `None` for a regular one.
pub(super) fn why_no_file(found: &Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    Some(match kind {
        _ if kind.is_file() => return None,
        _ if kind.is_dir() => "it is a folder, not a file",
        _ if kind.is_fifo() => "it is a pipe, not a file",
        _ if kind.is_socket() => "it is a socket, not a file",
        _ => "it is a device, not a file",
    })
}

/// Returns the open descriptor of this process that a path means, as `/dev/stdout` and `/dev/fd/63` do.
pub(super) fn given(path: &Path) -> Option<OwnedFd> {
    let path = path.to_str()?;
    let number = match path {
        "/dev/stdin" => 0,
        "/dev/stdout" => 1,
        "/dev/stderr" => 2,
        _ => {
            let number = ["/dev/fd/", "/proc/self/fd/"]
                .iter()
                .find_map(|folder| path.strip_prefix(folder))?;
            number.parse().ok()?
        }
    };
    let held = format!("/proc/self/fd/{number}");
    std::fs::symlink_metadata(held).ok()?;
    // SAFETY: the descriptor is open, as its link shows, and is only duplicated.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().ok()
}

/// Returns true if a descriptor is open for this access.
pub(super) fn is_open_for(fd: impl AsFd, mode: OFlags) -> bool {
    let flags = fcntl_getfl(fd).unwrap_or(OFlags::PATH);
    let access = flags & OFlags::RWMODE;
    !flags.contains(OFlags::PATH) && (access == mode || access == OFlags::RDWR)
}
