//! The library by which dynamic programs advise their own memory: where it lies, and how it gets
//! there. What it does is in `preload/library.rs`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::machine::error::{Error, Result};
use crate::machine::identity::{effective_uid, may_write};
use crate::proc::process::ADVICE_LIBRARY;

/// The library, as `build.rs` compiled it; empty where there is none for this processor.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.so"));

/// Folders for temporary files. The workload may belong to somebody else, so that none of ours
/// alone will do.
const FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Everybody may read it, and nobody else may write it.
const MODE: u32 = 0o755;

/// The path for this user's copy: in the first folder for temporary files that can be written and
/// whose files can be executed. `None` where there is no such folder, or no library.
#[must_use]
pub fn place() -> Option<PathBuf> {
    let name = format!(
        "{ADVICE_LIBRARY}{}-{}.so",
        env!("CARGO_PKG_VERSION"),
        effective_uid()
    );
    let mut folders = FOLDERS.iter().map(Path::new);
    let folder = folders.find(|folder| is_fit(folder))?;
    (!LIBRARY.is_empty()).then(|| folder.join(name))
}

/// Whether files of ours stay ours in a folder, and may be mapped as code.
fn is_fit(folder: &Path) -> bool {
    const OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = fs::metadata(folder).map(|it| it.permissions().mode());
    let mount = statvfs(folder).map(|it| it.f_flag);
    may_write(folder)
        && mode.is_ok_and(|mode| mode & OTHERS == 0 || mode & STICKY != 0)
        && mount.is_ok_and(|flags| !flags.contains(StatVfsMountFlags::NOEXEC))
}

/// Puts the library at a path that [`place`] gave. It stays there: whoever runs a program by it
/// may end before the program does.
///
/// # Errors
/// The file cannot be written.
pub fn install(path: &Path) -> Result<()> {
    if is_installed(path) {
        return Ok(());
    }
    let part = path.with_extension(format!("so.{}", std::process::id()));
    let written = write(&part).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        Error::io("writing the library to preload", path, error)
    })
}

/// Whether the file is ours, as it must be, and cannot be written by others.
fn is_installed(path: &Path) -> bool {
    let is_ours = fs::symlink_metadata(path)
        .is_ok_and(|it| it.is_file() && it.uid() == effective_uid() && it.mode() & 0o777 == MODE);
    is_ours && fs::read(path).is_ok_and(|content| content == LIBRARY)
}

/// A new file: one that somebody else has put there is an error.
fn write(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(MODE).open(path)?;
    file.write_all(LIBRARY)?;
    // Whatever the umask says.
    file.set_permissions(fs::Permissions::from_mode(MODE))
}

#[cfg(test)]
mod tests {
    use object::{Object, ObjectSymbol};

    use super::*;

    #[test]
    fn the_library_needs_no_other() {
        let file = object::File::parse(LIBRARY).unwrap();
        let needed: Vec<_> = file
            .dynamic_symbols()
            .filter(ObjectSymbol::is_undefined)
            .collect();
        assert!(!needed.is_empty());
        for symbol in needed.iter().filter(|it| it.name() != Ok("")) {
            assert!(symbol.is_weak(), "{symbol:?}");
        }
    }

    #[test]
    fn a_copy_is_made_anew_where_it_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.so");
        install(&path).unwrap();
        assert!(is_installed(&path));
        fs::write(&path, "something else").unwrap();
        assert!(!is_installed(&path));
        install(&path).unwrap();
        assert!(is_installed(&path));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_installed(&path), "others could write it");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_is_where_code_can_be_mapped() {
        if let Some(path) = place() {
            assert!(!path.to_string_lossy().contains([':', ' ']));
            install(&path).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let open = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode));
        open(0o777).unwrap();
        assert!(!is_fit(folder.path()), "others could exchange the file");
        assert!(!is_fit(&folder.path().join("nowhere")));
    }
}
