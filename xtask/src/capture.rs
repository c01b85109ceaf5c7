//! `xtask capture`: freezes this machine into a folder that replaces it in tests.
//!
//! Only the files and parts used by readers are copied. Names of people, programs, containers and machines are left
//! out.
//!
//! To add a host, run `cargo xtask capture NAME` on that machine and commit `fixtures/hosts/NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use hugewise_linux::machine::root::Root;
use hugewise_linux::probe::answers::{HOST_TOML, render_answers};
use hugewise_linux::probe::frozen::{FROZEN, FROZEN_CGROUP, expand};
use hugewise_linux::probe::{Environment, ask};
use hugewise_linux::sys::cgroup;

/// Freeze this machine for tests
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the frozen machine, for example `debian12-6.18-vm-user`
    name: String,
    /// Root of the machine's files
    #[arg(long, default_value = "/")]
    root: PathBuf,
    /// Folder in which the frozen machine is made
    #[arg(long, default_value = "fixtures/hosts")]
    to: PathBuf,
    /// A note about the machine, for example where it ran
    #[arg(long, default_value = "")]
    note: String,
}

/// Copies the files, queries the system calls, and writes both into the folder.
///
/// # Errors
/// The folder exists already or cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let root = Root::at(&args.root);
    let folder = args.to.join(&args.name);
    ensure!(!folder.exists(), "{} exists already", folder.display());
    for path in files(&root) {
        // A file that this user cannot read is left out: that is a fact of the machine too.
        if let Ok(content) = root.read(&path) {
            write(&folder, &without_groups(&path), &sanitise(&path, content))?;
        }
    }
    let mut answers = ask::ask(&root, Environment::default());
    answers.note.clone_from(&args.note);
    write(&folder, HOST_TOML, render_answers(&answers)?.as_bytes())
}

fn files(root: &Root) -> Vec<String> {
    let mut paths: Vec<String> = FROZEN
        .iter()
        .flat_map(|pattern| expand(root, pattern))
        .collect();
    if let Ok(Some(place)) = cgroup::read_place(root) {
        for level in cgroup::levels(&place) {
            paths.extend(FROZEN_CGROUP.iter().map(|file| format!("{level}/{file}")));
        }
    }
    paths
}

fn write(folder: &Path, relative: &str, content: &[u8]) -> Result<()> {
    let path = folder.join(relative);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    }
    fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
}

/// Keeps the part of a file that readers use.
fn sanitise(path: &str, content: Vec<u8>) -> Vec<u8> {
    let text = || String::from_utf8_lossy(&content).into_owned();
    match path {
        "proc/cmdline" => boot_line(&text()).into_bytes(),
        "proc/cpuinfo" => lines(&text(), is_cpu_field).into_bytes(),
        "proc/self/cgroup" => membership(&text()).into_bytes(),
        "proc/self/mountinfo" => lines(&text(), is_plain_mount).into_bytes(),
        "proc/stat" => lines(&text(), |line| line.starts_with("cpu ")).into_bytes(),
        "proc/sys/kernel/osrelease" => release(&text()).into_bytes(),
        "proc/sys/kernel/random/boot_id" => b"00000000-0000-0000-0000-000000000000\n".to_vec(),
        _ if path.ends_with("/libc.so.6") => banner(&content),
        _ if path.contains(".so.") => Vec::new(),
        _ => content,
    }
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    let kept = text.lines().filter(|line| keep(line));
    kept.map(|line| format!("{line}\n")).collect()
}

/// Keeps memory parameters; a boot line can contain names of disks and hosts, and secrets.
fn boot_line(text: &str) -> String {
    const KEPT: [&str; 8] = [
        "transparent",
        "thp",
        "hugepages",
        "default_hugepagesz",
        "mitigations",
        "numa",
        "page_reporting",
        "nmi_watchdog",
    ];
    let kept = text
        .split_ascii_whitespace()
        .take_while(|word| *word != "--")
        .filter(|word| KEPT.iter().any(|start| word.starts_with(start)));
    format!("{}\n", kept.collect::<Vec<_>>().join(" "))
}

fn is_cpu_field(line: &str) -> bool {
    const KEPT: [&str; 8] = [
        "processor",
        "vendor_id",
        "model name",
        "flags",
        "CPU implementer",
        "CPU part",
        "cpu\t",
        "uarch",
    ];
    line.is_empty() || KEPT.iter().any(|start| line.starts_with(start))
}

/// Returns true for mounts of cgroups, and for the tmpfs that every machine has.
fn is_plain_mount(line: &str) -> bool {
    let tmpfs = [" /dev/shm ", " /run ", " /tmp "];
    line.contains(" - cgroup") || tmpfs.iter().any(|point| line.contains(point))
}

/// Keeps the numbers of the kernel's release; the rest can identify its owner.
fn release(text: &str) -> String {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.').next();
    format!("{}\n", numbers.unwrap_or_default())
}

fn membership(text: &str) -> String {
    text.lines()
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(start, path)| format!("{start}:{}\n", anonymous(path)))
        .collect()
}

/// Returns a path of the same depth without names.
fn anonymous(path: &str) -> String {
    let parts = path
        .split('/')
        .map(|part| if part.is_empty() { "" } else { "group" });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the path of a cgroup's file under the anonymous name of its group.
fn without_groups(path: &str) -> String {
    const MOUNTS: [&str; 3] = [
        "sys/fs/cgroup/memory",
        "sys/fs/cgroup/unified",
        "sys/fs/cgroup",
    ];
    let Some((folder, file)) = path.rsplit_once('/') else {
        return path.to_owned();
    };
    match MOUNTS
        .iter()
        .find_map(|mount| Some((mount, folder.strip_prefix(mount)?)))
    {
        Some((mount, below)) => format!("{mount}{}/{file}", anonymous(below)),
        None => path.to_owned(),
    }
}

/// Returns the line of a C library with its version.
fn banner(content: &[u8]) -> Vec<u8> {
    let start = b"GNU C Library";
    let Some(at) = content
        .windows(start.len())
        .position(|window| window == start)
    else {
        return Vec::new();
    };
    let line = content[at..]
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    [line, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_behind() {
        assert_eq!(
            boot_line("root=/dev/sda transparent_hugepage=never host=me -- thp=secret"),
            "transparent_hugepage=never\n"
        );
        assert_eq!(
            membership("4:memory:/docker/abc\n0::/\n"),
            "4:memory:/group/group\n0::/\n"
        );
        assert_eq!(
            without_groups("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes"),
            "sys/fs/cgroup/memory/group/group/memory.limit_in_bytes"
        );
        assert_eq!(without_groups("proc/self/cgroup"), "proc/self/cgroup");
        assert_eq!(release("6.1.0-28-amd64\n"), "6.1.0\n");
    }

    #[test]
    fn a_library_becomes_its_banner() {
        let library = b"\x7fELF\0GNU C Library stable release version 2.36.\nmore";
        assert_eq!(
            banner(library),
            b"GNU C Library stable release version 2.36.\n"
        );
    }
}
