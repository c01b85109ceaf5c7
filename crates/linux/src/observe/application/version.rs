//! The version of what runs, from its files: no program is started for it.

use hugewise_model::advise::fact::Facts;
use hugewise_model::advise::subject::{Subject, VersionSource, first_group};

use super::process::Process;
use crate::machine::root::Root;

/// Where dpkg keeps its lists, below the root of the process.
const DPKG: &str = "var/lib/dpkg";

/// The version of a subject of the machine, which is a fact.
pub(super) fn of_machine(subject: &Subject, facts: &Facts) -> Option<String> {
    let sources = subject.detect.iter().flat_map(|detect| &detect.version);
    let mut known = sources.filter_map(|source| match source {
        VersionSource::Fact { fact } => facts.text(fact).map(str::to_owned),
        _ => None,
    });
    known.next()
}

/// The version of a subject of a process; `file` is what shows it.
pub(super) fn of_process(
    root: &Root,
    subject: &Subject,
    process: &Process,
    file: &str,
    facts: &Facts,
) -> Option<String> {
    let detect = subject.detect.as_ref()?;
    let find = |source| from_source(root, source, process, file, facts);
    detect.version.iter().find_map(find)
}

fn from_source(
    root: &Root,
    source: &VersionSource,
    process: &Process,
    file: &str,
    facts: &Facts,
) -> Option<String> {
    let group = |pattern: &str, bytes: &[u8]| first_group(pattern, bytes).ok().flatten();
    match source {
        VersionSource::Package => package(root, process, file),
        VersionSource::Path { pattern } => group(pattern, file.as_bytes()),
        VersionSource::File { path, pattern } => group(
            pattern,
            &process.file(root, &beside(&process.traces.exe, path)?)?,
        ),
        VersionSource::Exe { pattern } => group(pattern, &process.file(root, file)?),
        VersionSource::Argv { pattern } => group(pattern, process.traces.argv.join(" ").as_bytes()),
        VersionSource::Environ { pattern } => {
            let variables = process.environment.as_ref()?.iter();
            let mut lines = variables.map(|(name, value)| format!("{name}={value}"));
            lines.find_map(|line| group(pattern, line.as_bytes()))
        }
        VersionSource::Fact { fact } => facts.text(fact).map(str::to_owned),
    }
}

/// A path relative to the folder of a file, without `..`.
fn beside(file: &str, path: &str) -> Option<String> {
    let (folder, _) = file.rsplit_once('/')?;
    let mut parts: Vec<_> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The version of the package of Debian that owns a file.
fn package(root: &Root, process: &Process, file: &str) -> Option<String> {
    let inside = process.pid.map(|pid| format!("proc/{pid}/root/{DPKG}"));
    let folders = inside.into_iter().chain([DPKG.to_owned()]);
    folders.into_iter().find_map(|folder| {
        let names = root.list(format!("{folder}/info")).ok()?;
        let lists = names.iter().filter_map(|name| name.strip_suffix(".list"));
        let mut owners = lists.filter(|name| {
            let list = root.read(format!("{folder}/info/{name}.list"));
            list.is_ok_and(|list| owns(&list, file))
        });
        let owner = owners.next()?;
        let status = root.read(format!("{folder}/status")).ok()?;
        version_of(&String::from_utf8_lossy(&status), owner)
    })
}

/// Whether a list names a file. Lists may still have the folder from before `/usr` was merged.
fn owns(list: &[u8], file: &str) -> bool {
    let before = file.strip_prefix("/usr").unwrap_or(file);
    let mut lines = list.split(|&byte| byte == b'\n');
    lines.any(|line| line == file.as_bytes() || line == before.as_bytes())
}

/// `name` may have its architecture behind it, as in `libc6:amd64`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_beside_a_file_is_found() {
        let java = "/usr/lib/jvm/java-17/bin/java";
        assert_eq!(
            beside(java, "../release").as_deref(),
            Some("/usr/lib/jvm/java-17/release")
        );
        assert_eq!(beside("/a/b", "c").as_deref(), Some("/a/c"));
    }

    #[test]
    fn a_version_is_that_of_the_package_and_its_architecture() {
        let status = "Package: libc6\nArchitecture: i386\nVersion: 1\n\nPackage: libc6\n\
                      Architecture: amd64\nVersion: 2.36-9\n\nPackage: redis\nVersion: 5:7.0.15-1\n";
        assert_eq!(version_of(status, "libc6:amd64").as_deref(), Some("2.36-9"));
        assert_eq!(version_of(status, "redis").as_deref(), Some("5:7.0.15-1"));
        assert!(owns(b"/.\n/bin/cat\n", "/usr/bin/cat"));
    }
}
