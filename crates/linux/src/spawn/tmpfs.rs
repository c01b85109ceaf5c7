//! A private tmpfs over a mounted one, in a mount namespace of the workload.
//!
//! The namespace, and with it the tmpfs and its files, ends with the last process in it. Root needs no more than the
//! namespace. Other users also get a user namespace, in which their own user and group keep their numbers.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugewise_experiment::run::policy::Tmpfs;

use super::calls::errno;
use crate::machine::root::Root;
use crate::proc::mounts::{Mount, parse_mounts};

/// A tmpfs ready to be mounted.
#[derive(Debug)]
pub(super) struct PrivateTmpfs {
    target: CString,
    flags: libc::c_ulong,
    /// The options with the owner of the covered mount, and with the present user as its owner.
    options: [CString; 2],
    /// Lines for `/proc/self/uid_map` and `gid_map`.
    maps: [CString; 2],
}

/// Why a policy cannot mount its tmpfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTmpfs {
    /// The path is no directory.
    NoDirectory,
    /// The path is a directory, but no mount point.
    NoMountPoint,
    /// Another file system is mounted there.
    OtherKind(String),
    /// The kernel does not let this user mount it.
    Refused(String),
}

/// Mounts the tmpfs in a process that ends at once.
///
/// # Errors
/// The obstacle.
pub fn try_tmpfs(tmpfs: &Tmpfs) -> Result<(), NoTmpfs> {
    covered(tmpfs)?;
    let refused = |error: io::Error| NoTmpfs::Refused(error.to_string());
    let mount = PrivateTmpfs::prepare(tmpfs).map_err(NoTmpfs::Refused)?;
    // SAFETY: the child makes system calls only, and leaves at once.
    match unsafe { libc::fork() } {
        -1 => Err(refused(io::Error::last_os_error())),
        0 => {
            let code = if mount.enter() == 0 { 0 } else { errno() };
            // SAFETY: `_exit` runs nothing of the parent.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the place is valid, and the child is ours.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            match (waited, libc::WEXITSTATUS(status)) {
                (-1, _) => Err(refused(io::Error::last_os_error())),
                (_, 0) => Ok(()),
                (_, errno) => Err(refused(io::Error::from_raw_os_error(errno))),
            }
        }
    }
}

/// Returns the option `huge=` of the tmpfs that a process sees at the path of the policy; `None` if it sees none.
pub(crate) fn seen_by(root: &Root, tmpfs: &Tmpfs, pid: u32) -> Option<String> {
    let mounts = root.read(format!("proc/{pid}/mountinfo")).ok()?;
    let mount = last_at(&mounts, tmpfs.path()).filter(|it| it.kind == "tmpfs")?;
    // The kernel shows none for `never`.
    Some(mount.option("huge").unwrap_or("never").to_owned())
}

/// Only the last of several mounts at one point can be reached.
fn last_at(mounts: &[u8], point: &str) -> Option<Mount> {
    let mut mounts = parse_mounts(mounts).into_iter();
    mounts.rfind(|it| it.point == point)
}

fn covered(tmpfs: &Tmpfs) -> Result<Mount, NoTmpfs> {
    let path = tmpfs.path();
    if !Path::new(path).is_dir() {
        return Err(NoTmpfs::NoDirectory);
    }
    let mounts = Root::real().read("proc/self/mountinfo").unwrap_or_default();
    match last_at(&mounts, path) {
        None => Err(NoTmpfs::NoMountPoint),
        Some(mount) if mount.kind != "tmpfs" => Err(NoTmpfs::OtherKind(mount.kind)),
        Some(mount) => Ok(mount),
    }
}

impl PrivateTmpfs {
    /// Takes size, mode, owner and flags from the mount that it will cover.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn prepare(tmpfs: &Tmpfs) -> Result<Self, String> {
        let path = tmpfs.path();
        let mount = covered(tmpfs).map_err(|_| format!("no tmpfs is mounted at {path}"))?;
        let target = CString::new(path).map_err(|error| error.to_string())?;
        let folder = std::fs::metadata(path).map_err(|error| format!("{path}: {error}"))?;
        let limits = Limits::of(&target).map_err(|error| format!("{path}: {error}"))?;
        // SAFETY: neither call has preconditions.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let huge = tmpfs.huge();
        let options = |uid: u32, gid: u32| {
            let Limits { bytes, inodes } = limits;
            let mode = folder.mode() & 0o7777;
            let all = format!(
                "huge={huge},size={bytes},nr_inodes={inodes},mode={mode:o},uid={uid},gid={gid}"
            );
            let nodes = mount.option("mpol").map(|nodes| format!(",mpol={nodes}"));
            CString::new(all + &nodes.unwrap_or_default()).map_err(|error| error.to_string())
        };
        let map = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
        Ok(Self {
            options: [options(folder.uid(), folder.gid())?, options(uid, gid)?],
            flags: flags(&mount),
            maps: [map(uid), map(gid)],
            target,
        })
    }

    /// Mounts it for this process and its children; returns -1 if the kernel refuses. Makes system calls only, so it
    /// can be called between fork and exec.
    pub(super) fn enter(&self) -> libc::c_int {
        // SAFETY: unshare has no preconditions.
        let options = match unsafe { libc::unshare(libc::CLONE_NEWNS) } {
            0 => &self.options[0],
            _ if errno() == libc::EPERM => {
                if self.enter_as_user() == -1 {
                    return -1;
                }
                &self.options[1]
            }
            _ => return -1,
        };
        // Changes of the machine's mounts still arrive; the own ones stay inside.
        let inside = libc::MS_REC | libc::MS_SLAVE;
        if mount([c"none", c"/", c"none"], inside, c"") == -1 {
            return -1;
        }
        mount([c"tmpfs", &self.target, c"tmpfs"], self.flags, options)
    }

    /// Enters a user namespace with a mount namespace. The groups of the process stay; they have no numbers there.
    fn enter_as_user(&self) -> libc::c_int {
        // SAFETY: unshare has no preconditions.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } == -1 {
            return -1;
        }
        let [user, group] = &self.maps;
        let writes = [
            (c"/proc/self/setgroups", c"deny"),
            (c"/proc/self/uid_map", user.as_c_str()),
            (c"/proc/self/gid_map", group.as_c_str()),
        ];
        match writes.iter().all(|(path, text)| write(path, text) == 0) {
            true => 0,
            false => -1,
        }
    }
}

/// Limits of a tmpfs; 0 means none, as in its options.
#[derive(Clone, Copy)]
struct Limits {
    bytes: u64,
    inodes: u64,
}

impl Limits {
    fn of(path: &CStr) -> io::Result<Self> {
        // SAFETY: statvfs is a plain structure of integers, for which zeroes are valid.
        let mut found: libc::statvfs64 = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends in NUL, and the place is valid for the answer.
        if unsafe { libc::statvfs64(path.as_ptr(), &raw mut found) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            bytes: found.f_blocks.saturating_mul(found.f_frsize),
            inodes: found.f_files,
        })
    }
}

/// Translates options of a mount into flags of mount(2).
fn flags(mount: &Mount) -> libc::c_ulong {
    let known = [
        ("ro", libc::MS_RDONLY),
        ("nosuid", libc::MS_NOSUID),
        ("nodev", libc::MS_NODEV),
        ("noexec", libc::MS_NOEXEC),
        ("noatime", libc::MS_NOATIME),
        ("nodiratime", libc::MS_NODIRATIME),
        ("relatime", libc::MS_RELATIME),
    ];
    let set = known.iter().filter(|(name, _)| mount.has_option(name));
    set.fold(0, |all, (_, flag)| all | flag)
}

/// Calls mount(2) with a source, a target and a type. Makes one system call.
fn mount([source, target, kind]: [&CStr; 3], flags: libc::c_ulong, options: &CStr) -> libc::c_int {
    // SAFETY: all strings end in NUL and outlive the call.
    unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    }
}

/// Writes a text to a file; returns -1 on failure. Makes system calls only.
fn write(path: &CStr, text: &CStr) -> libc::c_int {
    let bytes = text.to_bytes();
    // SAFETY: the path ends in NUL, and as many bytes are written as there are. The descriptor is ours.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file == -1 {
            return -1;
        }
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        // A successful close leaves the error number.
        libc::close(file);
        if written == -1 { -1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_the_last_mount_are_read_from_the_table() {
        let table = b"59 58 0:23 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw,size=1k\n\
                      60 59 0:27 / /dev/shm rw,noexec,relatime - tmpfs tmpfs rw,huge=advise\n\
                      61 59 8:1 / /a ro - ext4 /dev/vda rw\n";
        let last = last_at(table, "/dev/shm").unwrap();
        assert_eq!(last.option("huge"), Some("advise"));
        assert_eq!(flags(&last), libc::MS_NOEXEC | libc::MS_RELATIME);
        assert_eq!(flags(&last_at(table, "/a").unwrap()), libc::MS_RDONLY);
        assert_eq!(last_at(table, "/b"), None);
    }

    #[test]
    fn a_path_without_a_tmpfs_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: String| try_tmpfs(&path.parse().unwrap()).unwrap_err();
        let path = folder.path().display();
        assert_eq!(at(format!("{path}:never")), NoTmpfs::NoMountPoint);
        assert_eq!(at(format!("{path}/none:never")), NoTmpfs::NoDirectory);
        assert_eq!(
            at("/proc:never".to_owned()),
            NoTmpfs::OtherKind("proc".to_owned())
        );
    }
}
