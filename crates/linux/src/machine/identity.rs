use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde::{Deserialize, Serialize};

use crate::machine::error::{Error, Kind, Result};

/// User and groups of the workload.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// `HOME`.
    pub home: PathBuf,
    /// `USER` and `LOGNAME`.
    pub name: String,
}

/// Returns the effective user ID of this process.
#[must_use]
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns true if the program runs as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns true if this process may create files in a directory.
#[must_use]
pub fn may_write(folder: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, folder, wanted, AtFlags::EACCESS).is_ok()
}

/// Returns everything that a login of this user would set: IDs, supplementary groups, home and name.
///
/// Uses the name service (getpwuid_r), because a user of a directory server is not in `/etc/passwd`.
///
/// # Errors
/// There is no such user, or the name service failed.
pub fn of_user(uid: u32) -> Result<Identity> {
    let mut buffer = vec![0_u8; 16 * 1024];
    // SAFETY: passwd is a plain C structure for which all zeroes are a valid value.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: entry, buffer and found outlive the call, and the length is the buffer's own.
    let status = unsafe {
        libc::getpwuid_r(
            uid,
            &raw mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut found,
        )
    };
    if status != 0 {
        return Err(unknown(uid, Some(io::Error::from_raw_os_error(status))));
    }
    if found.is_null() {
        return Err(unknown(uid, None));
    }
    // SAFETY: getpwuid_r succeeded, so both point to strings with an end inside `buffer`, which
    // lives until the end of this function.
    let (name, home) = unsafe { (CStr::from_ptr(entry.pw_name), CStr::from_ptr(entry.pw_dir)) };
    Ok(Identity {
        uid,
        gid: entry.pw_gid,
        groups: groups_of(name, entry.pw_gid),
        home: PathBuf::from(OsStr::from_bytes(home.to_bytes())),
        name: name.to_string_lossy().into_owned(),
    })
}

fn groups_of(name: &CStr, gid: u32) -> Vec<u32> {
    let mut count: libc::c_int = 64;
    loop {
        let mut groups = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: groups has room for `count` entries and name has its end.
        let status =
            unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let stored = usize::try_from(count).unwrap_or(0);
        if status >= 0 {
            groups.truncate(stored);
            return groups;
        }
        if stored <= groups.len() {
            return vec![gid];
        }
    }
}

fn unknown(uid: u32, source: Option<io::Error>) -> Error {
    Error {
        kind: Kind::Other(format!("there is no user with id {uid}")),
        doing: "looking up the user".to_owned(),
        path: None,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_everywhere() {
        let root = of_user(0).expect("root has an entry");
        assert_eq!((root.uid, root.name.as_str()), (0, "root"));
        assert!(root.groups.contains(&root.gid));
    }

    #[test]
    fn a_user_that_does_not_exist_is_an_error() {
        let error = of_user(4_000_000_000).expect_err("nobody has this id");
        assert!(error.to_string().contains("4000000000"), "{error}");
    }
}
