//! Installs the library with which dynamic programs advise their own memory. The code of the library is in
//! `preload/library.rs`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::file::folder::Folder;
use crate::file::read::read_regular;
use crate::file::rights::Rights;
use crate::machine::error::{Error, Result};
use crate::machine::identity::{effective_uid, may_write};
use crate::proc::process::ADVICE_LIBRARY;

/// The library, compiled by `build.rs`; empty if there is none for this processor.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.so"));

/// Directories owned by root, so that only root can create names, but open to everybody, because the workload may
/// belong to another user.
const OF_ROOT: [&str; 2] = ["/var/lib/hugewise", "/run/hugewise"];

/// Folders for temporary files.
const FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Everybody may read it, and only the owner may write it.
const MODE: u32 = 0o755;

/// Returns the path for this user's copy: in the first directory that is writable, has no foreign file of that name,
/// and allows executable mappings. `None` if there is no such directory, or no library.
#[must_use]
pub fn place() -> Option<PathBuf> {
    let name = format!(
        "{ADVICE_LIBRARY}{}-{}.so",
        env!("CARGO_PKG_VERSION"),
        effective_uid()
    );
    let own = OF_ROOT.iter().filter(|_| effective_uid() == 0);
    let own = own.map(Path::new).filter(|folder| is_roots(folder));
    let shared = FOLDERS
        .iter()
        .map(Path::new)
        .filter(|folder| is_fit(folder));
    let mut places = own.chain(shared).map(|folder| folder.join(&name));
    let free = places.find(|place| is_free(place))?;
    (!LIBRARY.is_empty()).then_some(free)
}

/// Returns true if this user may use a name.
fn is_free(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(found) => found.is_file() && found.uid() == effective_uid(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns true if a directory is owned by root and allows executable mappings, or can be created.
fn is_roots(folder: &Path) -> bool {
    let found = fs::symlink_metadata(folder);
    let is_sticky = found.as_ref().is_ok_and(|it| it.mode() & 0o1000 != 0);
    match found {
        Ok(found) => found.is_dir() && found.uid() == 0 && !is_sticky && is_fit(folder),
        Err(_) => folder.parent().is_some_and(is_fit),
    }
}

/// Returns true if files of this user are safe in a directory, and can be mapped as code.
fn is_fit(folder: &Path) -> bool {
    const OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = fs::metadata(folder).map(|it| it.permissions().mode());
    let mount = statvfs(folder).map(|it| it.f_flag);
    may_write(folder)
        && mode.is_ok_and(|mode| mode & OTHERS == 0 || mode & STICKY != 0)
        && mount.is_ok_and(|flags| !flags.contains(StatVfsMountFlags::NOEXEC))
}

/// Installs the library at a path returned by [`place`]. It is not removed, because the program may outlive the process
/// that started it.
///
/// # Errors
/// The file cannot be written.
pub fn install(path: &Path) -> Result<()> {
    if is_installed(path) {
        return Ok(());
    }
    let doing = "writing the library to preload";
    write(path).map_err(|error| Error::io(doing, path, error))
}

/// Returns true if the file belongs to this user, has the right content, and cannot be written by others.
fn is_installed(path: &Path) -> bool {
    let is_ours = fs::symlink_metadata(path)
        .is_ok_and(|it| it.is_file() && it.uid() == effective_uid() && it.mode() & 0o777 == MODE);
    let most = LIBRARY.len() as u64;
    is_ours && read_regular(path, most).is_ok_and(|content| content == LIBRARY)
}

/// Replaces a file atomically.
fn write(path: &Path) -> io::Result<()> {
    let above = path.parent().unwrap_or(Path::new("/"));
    if !above.is_dir() {
        DirBuilder::new().mode(MODE).create(above)?;
        // Regardless of the umask.
        fs::set_permissions(above, fs::Permissions::from_mode(MODE))?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = Folder::open(above, &Rights::own())?;
    folder.sweep(&name);
    folder.replace(&name, LIBRARY, MODE)
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
    fn a_name_that_is_taken_is_not_free() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("none", at("link")).unwrap();
        fs::write(at("own"), "").unwrap();
        assert!(is_free(&at("none")) && is_free(&at("own")));
        assert!(!is_free(&at("folder")) && !is_free(&at("link")));
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
