//! Finds the version of an application from its files, without starting it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use hugewise_advise::fact::Facts;
use hugewise_advise::subject::{Subject, VersionSource, beside, first_group};

use super::package;
use super::process::Process;
use crate::machine::root::Root;

/// Caches the versions found in files, by device, file and source. Many processes share one C library, and searching it
/// is the most expensive step.
#[derive(Debug, Default)]
pub(super) struct Found(RefCell<BTreeMap<(u64, u64, String), Option<String>>>);

impl Found {
    /// Returns the version found in this file before, or calls `find`.
    fn or_find(
        &self,
        file: Option<(u64, u64)>,
        source: &VersionSource,
        find: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let Some((device, number)) = file else {
            return find();
        };
        let key = (device, number, format!("{source:?}"));
        if let Some(version) = self.0.borrow().get(&key) {
            return version.clone();
        }
        let version = find();
        self.0.borrow_mut().insert(key, version.clone());
        version
    }
}

/// Returns the version of a subject of the machine, which is stored as a fact.
pub(super) fn of_machine(subject: &Subject, facts: &Facts) -> Option<String> {
    let sources = subject.detect.iter().flat_map(|detect| &detect.version);
    let mut known = sources.filter_map(|source| match source {
        VersionSource::Fact { fact } => facts.text(fact).map(str::to_owned),
        _ => None,
    });
    known.next()
}

/// Returns the version of a subject of a process; `file` is the file that reveals it.
pub(super) fn of_process(
    root: &Root,
    subject: &Subject,
    process: &Process,
    file: &str,
    facts: &Facts,
    known: &Found,
) -> Option<String> {
    let detect = subject.detect.as_ref()?;
    let identity = || process.identity(root, file);
    let find = |source: &VersionSource| match source {
        VersionSource::Package | VersionSource::Exe { .. } => {
            known.or_find(identity(), source, || {
                from_source(root, source, process, file, facts)
            })
        }
        _ => from_source(root, source, process, file, facts),
    };
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
        VersionSource::Package => package::version(root, process, file),
        VersionSource::Python { name } => of_python(root, process, file, name),
        VersionSource::Path { pattern } => group(pattern, file.as_bytes()),
        VersionSource::File { path, pattern } => group(
            pattern,
            &process.file(root, &beside(&process.traces.exe, path)?)?,
        ),
        VersionSource::Exe { pattern } => group(pattern, &process.program(root, file)?),
        VersionSource::Argv { pattern } => group(pattern, process.traces.argv.join(" ").as_bytes()),
        VersionSource::Environ { pattern } => {
            let variables = process.environment.as_ref()?.iter();
            let mut lines = variables.map(|(name, value)| format!("{name}={value}"));
            lines.find_map(|line| group(pattern, line.as_bytes()))
        }
        VersionSource::Fact { fact } => facts.text(fact).map(str::to_owned),
    }
}

/// Returns the version of the Python package that a library belongs to. The package's metadata directory is next to the
/// package, in a directory above the library.
fn of_python(root: &Root, process: &Process, file: &str, name: &str) -> Option<String> {
    const MOST_ABOVE: usize = 6;
    let above = Path::new(file).ancestors().skip(1).take(MOST_ABOVE);
    let mut folders = above.filter_map(Path::to_str);
    folders.find_map(|folder| {
        let entries = process
            .places(folder)
            .find_map(|place| root.list(place).ok())?;
        entries.iter().find_map(|entry| version_in(entry, name))
    })
}

/// Returns the version in the name of a directory, ignoring case.
fn version_in(entry: &str, name: &str) -> Option<String> {
    let (package, version) = entry.strip_suffix(".dist-info")?.split_once('-')?;
    package
        .eq_ignore_ascii_case(name)
        .then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_python_names_its_version() {
        let version = |entry: &str| version_in(entry, "numpy");
        assert_eq!(version("numpy-2.4.6.dist-info").as_deref(), Some("2.4.6"));
        assert_eq!(
            version("NumPy-1.26.0rc1.dist-info").as_deref(),
            Some("1.26.0rc1")
        );
        assert_eq!(version("numpy_financial-1.0.dist-info"), None);
        assert_eq!(version("numpy"), None);
    }
}
