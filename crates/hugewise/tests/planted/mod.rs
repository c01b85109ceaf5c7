//! Files and processes of other users: an unprivileged workload, another process or a foreign folder can put a link, a
//! pipe or anything else where root writes and reads.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Case, HUGEWISE, NOBODY, is_root, one_at_a_time, skip, wait_until};

mod others;
mod reading;
mod sources;
mod writing;

/// The content of root's files that nobody else can write or read.
const SECRET: &str = "root:SECRETHASH:1:2:3\n";

/// Makes a file of root that nobody else can write or read.
fn secret(path: &Path) {
    fs::write(path, SECRET).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("its mode");
}

/// Makes a folder of the unprivileged user.
fn folder_of_nobody(path: &Path) {
    fs::create_dir(path).expect("a folder");
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("its owner");
}

/// Makes a script that everybody can execute.
fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    /// A shell under another name, as the unprivileged user, that waits with these words in its command line.
    fn named(case: &Case, name: &str, word: &str) -> Self {
        let program = case.path(name);
        if !program.exists() {
            fs::copy("/bin/sh", &program).expect("a copy");
        }
        let mut command = Command::new(&program);
        command
            .args(["-c", "read line", word])
            .stdin(Stdio::piped());
        command.uid(NOBODY).gid(NOBODY).stdout(Stdio::null());
        Self(command.spawn().expect("a process"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a shell line in a mount namespace with separate folders for locks, journals and temporary files; `None` if
/// that is not possible.
fn apart(case: &Case, line: &str) -> Option<Command> {
    let prepare = "mkdir -p /run/lock /run/hugewise /var/lib/hugewise && mount -t tmpfs -o mode=1777 tmpfs /run/lock \
        && mount -t tmpfs -o mode=755 tmpfs /run/hugewise && mount -t tmpfs -o mode=755 tmpfs /var/lib/hugewise";
    let can = Command::new("unshare").args(["-m", "true"]).status();
    if !is_root() || !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    case.surround(&mut command);
    command
        .args(["-m", "--propagation", "private", "sh", "-c"])
        .arg(format!("{prepare} || exit 99\n{line}"))
        .env("H", HUGEWISE);
    Some(command)
}
