//! Whose rights decide whether a file is opened, and whose it is when it is made.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{DumpableBehavior, dumpable_behavior, getgroups, set_dumpable_behavior};
use rustix::thread::set_thread_groups;

use crate::machine::identity::{Identity, effective_uid};
use crate::machine::root::Root;

/// The user whose rights the kernel asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The other user, if there is one.
    user: Option<User>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

impl Rights {
    /// Returns the rights of this process.
    #[must_use]
    pub fn own() -> Self {
        Self::default()
    }

    /// Returns the rights of the invoking user, if there is one.
    #[must_use]
    pub fn of(identity: Option<&Identity>) -> Self {
        let user = identity.map(|who| User {
            uid: who.uid,
            gid: who.gid,
            groups: who.groups.clone(),
        });
        Self { user }
    }

    /// Returns the rights of the user who started a process; `None` if it has ended.
    ///
    /// Its real user counts: a set-user-ID program names files for its caller. Only root can lend rights; other users, and readers of
    /// a frozen machine, keep their own.
    #[must_use]
    pub fn of_process(root: &Root, pid: u32) -> Option<Self> {
        let status = root.read(format!("proc/{pid}/status")).ok()?;
        if effective_uid() != 0 || !root.is_real() {
            return Some(Self::own());
        }
        let user = parse_user(&String::from_utf8_lossy(&status))?;
        Some(Self { user: Some(user) })
    }

    /// Returns their user.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.user.as_ref().map_or_else(effective_uid, |it| it.uid)
    }

    /// Returns true if they are another user's.
    #[must_use]
    pub fn are_lent(&self) -> bool {
        self.user
            .as_ref()
            .is_some_and(|user| user.uid != effective_uid())
    }

    /// Acts with these rights, in this thread.
    ///
    /// # Errors
    /// The error of `act`, or the kernel does not let this process act for another user.
    pub fn lend<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.user {
            Some(user) if self.are_lent() => {
                let _lent = Lent::to(user)?;
                act()
            }
            _ => act(),
        }
    }
}

impl Rights {
    /// Has a program run as the user whose rights these are.
    pub fn give_to(&self, command: &mut Command) {
        let Some(user) = self.user.clone().filter(|_| self.are_lent()) else {
            return;
        };
        let become_user = move || {
            // SAFETY: the array holds as many groups as are announced; plain system calls, as is right between fork and exec.
            let done = unsafe {
                libc::setgroups(user.groups.len(), user.groups.as_ptr()) == 0
                    && libc::setgid(user.gid) == 0
                    && libc::setuid(user.uid) == 0
            };
            done.then_some(()).ok_or_else(io::Error::last_os_error)
        };
        // SAFETY: the closure allocates nothing and makes system calls only.
        unsafe { command.pre_exec(become_user) };
    }
}

/// The ids of `/proc/PID/status`.
fn parse_user(status: &str) -> Option<User> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let first = |name: &str| -> Option<u32> {
        let mut ids = field(name)?.split_whitespace();
        ids.next()?.parse().ok()
    };
    let groups = field("Groups:").unwrap_or_default().split_whitespace();
    Some(User {
        uid: first("Uid:")?,
        gid: first("Gid:")?,
        groups: groups.filter_map(|group| group.parse().ok()).collect(),
    })
}

/// The ids of this thread as they were, which it gets back. If the kernel refused that, the thread would have fewer rights, not more.
struct Lent {
    uid: u32,
    gid: u32,
    groups: Vec<rustix::process::Gid>,
    dumpable: Option<DumpableBehavior>,
}

impl Lent {
    fn to(user: &User) -> io::Result<Self> {
        let before = Self {
            uid: set_file_user(NOBODY_AT_ALL),
            gid: set_file_group(NOBODY_AT_ALL),
            groups: getgroups()?,
            dumpable: dumpable_behavior().ok(),
        };
        let groups: Vec<_> = user
            .groups
            .iter()
            .map(|&id| rustix::process::Gid::from_raw(id))
            .collect();
        // Dropping the guard restores the old IDs, also after an error.
        set_thread_groups(&groups)?;
        set_file_group(user.gid);
        set_file_user(user.uid);
        let is = (set_file_user(NOBODY_AT_ALL), set_file_group(NOBODY_AT_ALL));
        match is == (user.uid, user.gid) {
            true => Ok(before),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "the kernel does not let this process open files as user {}",
                    user.uid
                ),
            )),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        set_file_user(self.uid);
        set_file_group(self.gid);
        let _ = set_thread_groups(&self.groups);
        // The kernel takes it away from a process that changes its ids.
        if let Some(dumpable) = self.dumpable {
            let _ = set_dumpable_behavior(dumpable);
        }
    }
}

/// No id: the kernel changes nothing, and returns the present one.
const NOBODY_AT_ALL: u32 = u32::MAX;

/// Sets the user for this thread's file access; returns the previous one.
fn set_file_user(uid: u32) -> u32 {
    // SAFETY: setfsuid takes any number, and concerns only this thread.
    unsafe { libc::setfsuid(uid) }.cast_unsigned()
}

/// The same for the group.
fn set_file_group(gid: u32) -> u32 {
    // SAFETY: setfsgid takes any number, and concerns only this thread.
    unsafe { libc::setfsgid(gid) }.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::skipping::skip;

    fn nobody() -> Rights {
        let user = User {
            uid: 65_534,
            gid: 65_534,
            groups: vec![65_534],
        };
        Rights { user: Some(user) }
    }

    #[test]
    fn a_set_user_id_program_names_files_for_its_caller() {
        let status = "Name:\tsu\nUid:\t1000\t0\t0\t0\nGid:\t100\t100\t100\t100\nGroups:\t4 24 \n";
        let expected = User {
            uid: 1000,
            gid: 100,
            groups: vec![4, 24],
        };
        assert_eq!(parse_user(status), Some(expected));
        assert_eq!(parse_user("Uid:\tx\n"), None);
    }

    #[test]
    fn lent_rights_are_those_of_the_user_and_end() {
        if effective_uid() != 0 {
            return skip("lent_rights…", "needs root to act for somebody else");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "x").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o660)).unwrap();
        let refused = nobody().lend(|| fs::read(&secret));
        assert_eq!(
            refused.unwrap_err().kind(),
            io::ErrorKind::PermissionDenied,
            "root's group is not lent"
        );
        let made = folder.path().join("made");
        nobody().lend(|| fs::write(&made, "x")).unwrap();
        let made = fs::metadata(&made).unwrap();
        assert_eq!((made.uid(), made.gid()), (65_534, 65_534));
        assert_eq!(fs::read(&secret).unwrap(), b"x");
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
    }
}
