//! Finds the version of the package that owns a file, from the dpkg lists or the rpm database.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::process::Process;
use crate::file::reader::Reader;
use crate::file::rights::Rights;
use crate::machine::root::Root;

/// The directory of the dpkg lists, relative to the root of the process.
const DPKG: &str = "var/lib/dpkg";

/// The directories of the rpm database, relative to the root of the process.
const RPM: [&str; 2] = ["var/lib/rpm", "usr/lib/sysimage/rpm"];

/// File names of the rpm database: SQLite, ndb and Berkeley DB.
const DATABASES: [&str; 3] = ["rpmdb.sqlite", "Packages.db", "Packages"];

/// The maximum number of lists read per machine, and of bytes; a container may have any number.
const MOST_LISTS: u32 = 10_000;
const MOST_BYTES: u64 = 256 << 20;
/// The maximum size of one list, in bytes.
const LARGEST: u64 = 64 << 20;

/// The version of the package that owns a file, as the process sees it, which may be in a container.
pub(super) fn version(root: &Root, process: &Process, file: &str) -> Option<String> {
    let inside = process.pid.map(|pid| format!("proc/{pid}/root/"));
    let roots = inside.into_iter().chain([String::new()]);
    let mut roots = roots.collect::<Vec<_>>().into_iter();
    let rights = process.rights();
    roots.find_map(|own| {
        by_dpkg(root, &own, file, rights).or_else(|| by_rpm(root, &own, file, rights))
    })
}

fn by_dpkg(root: &Root, own: &str, file: &str, rights: &Rights) -> Option<String> {
    let reader = Reader::new(rights.clone(), MOST_LISTS, MOST_BYTES);
    let read = |name: String| {
        let found = reader.read(&root.path(format!("{own}{DPKG}/{name}")), LARGEST);
        Some(found.ok()?.bytes)
    };
    let names = reader.list(&root.path(format!("{own}{DPKG}/info"))).ok()?;
    let lists = names.iter().filter_map(|name| name.strip_suffix(".list"));
    let mut owners = lists.filter(|name| {
        let list = read(format!("info/{name}.list"));
        list.is_some_and(|list| owns(&list, file))
    });
    let owner = owners.next()?;
    let status = read("status".to_owned())?;
    version_of(&String::from_utf8_lossy(&status), owner)
}

/// Returns true if a list contains a file. Lists may still use the directory names from before `/usr` was merged.
fn owns(list: &[u8], file: &str) -> bool {
    let before = file.strip_prefix("/usr").unwrap_or(file);
    let mut lines = list.split(|&byte| byte == b'\n');
    lines.any(|line| line == file.as_bytes() || line == before.as_bytes())
}

/// The name may be followed by an architecture, as in `libc6:amd64`.
fn version_of(status: &str, name: &str) -> Option<String> {
    let (name, architecture) = name.split_once(':').unwrap_or((name, ""));
    let field = |paragraph: &str, field: &str| -> Option<String> {
        let mut lines = paragraph.lines();
        lines.find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
    };
    let mut paragraphs = status.split("\n\n");
    let own = paragraphs.find(|paragraph| {
        field(paragraph, "Package:").as_deref() == Some(name)
            && (architecture.is_empty()
                || field(paragraph, "Architecture:").as_deref() == Some(architecture))
    })?;
    field(own, "Version:")
}

/// The database has several binary formats, so rpm reads it, running as the user of the process. It is run only if
/// there is a database.
fn by_rpm(root: &Root, own: &str, file: &str, rights: &Rights) -> Option<String> {
    let mut folders = RPM.iter().map(|folder| root.path(format!("{own}{folder}")));
    let folder = folders.find(|folder| DATABASES.iter().any(|name| folder.join(name).is_file()))?;
    let mut question = Command::new("rpm");
    question
        .arg("--dbpath")
        .arg(folder)
        .args([
            "-qf",
            "--queryformat",
            "%{VERSION}-%{RELEASE}\n",
            "--",
            file,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    rights.give_to(&mut question);
    answer(question)
}

/// Returns the first line that a program prints, if it succeeds in time.
fn answer(mut question: Command) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(10);
    const LOOK: Duration = Duration::from_millis(5);
    let mut asked = question.spawn().ok()?;
    let began = Instant::now();
    let status = loop {
        match asked.try_wait() {
            Ok(None) if began.elapsed() < PATIENCE => thread::sleep(LOOK),
            Ok(Some(status)) => break status,
            _ => {
                let _ = asked.kill();
                let _ = asked.wait();
                return None;
            }
        }
    };
    let mut text = String::new();
    asked.stdout.take()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next().filter(|_| status.success());
    line.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_package_and_its_architecture() {
        let status = "Package: libc6\nArchitecture: i386\nVersion: 1\n\nPackage: libc6\n\
                      Architecture: amd64\nVersion: 2.36-9\n\nPackage: redis\nVersion: 5:7.0.15-1\n";
        assert_eq!(version_of(status, "libc6:amd64").as_deref(), Some("2.36-9"));
        assert_eq!(version_of(status, "redis").as_deref(), Some("5:7.0.15-1"));
        assert!(owns(b"/.\n/bin/cat\n", "/usr/bin/cat"));
    }
}
