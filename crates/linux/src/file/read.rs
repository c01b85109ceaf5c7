//! Reading.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::kind::{given, hold, is_open_for, open_held, refused, why_no_file};
use super::rights::Rights;

/// The most of a configuration file.
pub const CONFIGURATION: u64 = 1 << 20;

/// Opens a regular file. Nothing else is opened, and nothing is waited for.
///
/// # Errors
/// There is none, it is something else, or it may not be read.
pub fn open_regular(path: &Path) -> io::Result<File> {
    Ok(open_described(path)?.0)
}

fn open_described(path: &Path) -> io::Result<(File, Metadata)> {
    let held = hold(path)?;
    let found = held.metadata()?;
    match why_no_file(&found) {
        None => Ok((open_held(&held, OFlags::RDONLY | OFlags::NONBLOCK)?, found)),
        Some(why) => Err(refused(why)),
    }
}

/// All bytes of a regular file.
///
/// # Errors
/// As [`open_regular`]; or it has more bytes than `most`.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, found) = open_described(path)?;
    if found.len() > most {
        return Err(too_large(most));
    }
    read_within(file, most)
}

/// All bytes of what is open.
///
/// # Errors
/// It has more bytes than `most`, or cannot be read.
pub fn read_within(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(too_large(most)),
        false => Ok(bytes),
    }
}

/// The first line of a regular file, with its end; at most `most` bytes of it.
///
/// # Errors
/// As [`open_regular`].
pub fn read_first_line(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let file = BufReader::new(open_regular(path)?);
    file.take(most).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Opens a file or a pipe that a user named. A device is refused: `/dev/zero` and its like have no end.
///
/// # Errors
/// There is none, it is a device, or the user may not read it.
pub fn open_named(path: &Path, rights: &Rights) -> io::Result<File> {
    if let Some(fd) = given(path).filter(|fd| is_open_for(fd, OFlags::RDONLY)) {
        let file = File::from(fd);
        refuse_device(&file.metadata()?)?;
        return match file.metadata()?.is_file() {
            true => open_held(&file, OFlags::RDONLY),
            false => Ok(file),
        };
    }
    rights.lend(|| {
        let held = hold(path)?;
        refuse_device(&held.metadata()?)?;
        open_held(&held, OFlags::RDONLY)
    })
}

fn refuse_device(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    match kind.is_char_device() || kind.is_block_device() {
        true => Err(refused("it is a device, not a file")),
        false => Ok(()),
    }
}

fn too_large(most: u64) -> io::Error {
    let size = match most >> 20 {
        0 => format!("{most} bytes"),
        mib => format!("{mib} MiB"),
    };
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is larger than {size}"),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(at("pipe"), at("to-pipe")).unwrap();
        for name in ["pipe", "socket", "zero", "to-pipe", "."] {
            let error = read_regular(&at(name), 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
            assert!(read_first_line(&at(name), 10).is_err(), "{name}");
        }
        fs::write(at("file"), "0123456789").unwrap();
        assert_eq!(read_regular(&at("file"), 10).unwrap(), b"0123456789");
        assert_eq!(
            read_regular(&at("file"), 9).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(read_first_line(&at("file"), 4).unwrap(), b"0123");
    }

    #[test]
    fn the_kernels_own_files_have_no_length_and_are_read() {
        let status = read_regular(Path::new("/proc/self/status"), CONFIGURATION).unwrap();
        assert!(status.starts_with(b"Name:"));
    }

    #[test]
    fn a_device_that_a_user_names_is_refused() {
        let error = open_named(Path::new("/dev/zero"), &Rights::own()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
