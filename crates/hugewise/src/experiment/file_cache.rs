//! `file=`: the state of the named files in the page cache before each trial.
//!
//! All policies of an experiment share the page cache. So each trial begins with the eviction and a new reading of every
//! file that any policy names: as its own policy says, or else by read(2). The trial itself never reads from the disk.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::policy::realise::Unreachable;
use hugewise_experiment::run::policy::{FileMode, FilePages, Policy};
use hugewise_experiment::run::record::Header;
use hugewise_experiment::run::trial::{CachedFiles, Mark, Trial};
use hugewise_linux::apply::page_cache::{FileReading, available_bytes, cache, evict, makes_huge};
use hugewise_linux::file::rights::Rights;
use hugewise_linux::machine::identity::Identity;

use crate::{exit, invoker};

/// Block size if the kernel has no huge pages.
const USUAL_BLOCK: u64 = 2 << 20;

/// The files that the policies of a plan name.
#[derive(Debug)]
pub struct FileCaches {
    patterns: Vec<String>,
    rights: Rights,
    block_bytes: u64,
}

impl FileCaches {
    /// Those of a plan; none for most.
    pub fn of(header: &Header, identity: Option<&Identity>) -> Self {
        Self::named_by(&header.plan.policies, &header.host, identity)
    }

    /// Those of some policies.
    pub fn named_by(policies: &[Policy], host: &Host, identity: Option<&Identity>) -> Self {
        let named = policies.iter().filter_map(|it| it.settings.file.as_ref());
        let mut patterns: Vec<String> = named.map(|it| it.path().to_owned()).collect();
        patterns.sort();
        patterns.dedup();
        Self {
            patterns,
            rights: Rights::of(identity),
            block_bytes: host.pmd_bytes().unwrap_or(USUAL_BLOCK),
        }
    }

    /// Evicts and reads all files for a trial of a policy. Returns how they are cached; `None` if there are none.
    pub fn prepare(&self, policy: &Policy) -> std::result::Result<Option<CachedFiles>, String> {
        let mut all: Option<CachedFiles> = None;
        for pattern in &self.patterns {
            let own = policy.settings.file.as_ref();
            let own = own.filter(|it| it.path() == pattern);
            let reading = match own.map(FilePages::mode) {
                None => FileReading::Plain,
                Some(FileMode::Huge) => FileReading::Huge,
                Some(FileMode::Small) => FileReading::Small,
            };
            let files = matching(pattern);
            if files.is_empty() {
                return Err(format!("no file matches {pattern}"));
            }
            let found = cache(&files, &self.rights, reading, self.block_bytes)?;
            let sum = all.get_or_insert_default();
            sum.bytes += found.bytes;
            sum.huge_bytes += found.huge_bytes;
        }
        Ok(all)
    }

    /// Evicts the files again, so that nobody inherits their folios.
    pub fn release(&self) {
        for pattern in &self.patterns {
            evict(&matching(pattern), &self.rights);
        }
    }
}

/// Evicts and reads the files of a policy for one command. They keep their pages until the kernel evicts them.
///
/// # Errors
/// A file cannot be read.
pub fn prepare_once(policy: &Policy, host: &Host) -> Result<()> {
    let identity = invoker::identity()?;
    let policies = std::slice::from_ref(policy);
    let caches = FileCaches::named_by(policies, host, identity.as_ref());
    caches.prepare(policy).map_err(exit::refused)?;
    Ok(())
}

/// Notes in a trial how its files were cached. Marks it if the policy asked for something else.
pub fn note(trial: &mut Trial, policy: &Policy, cached: Option<CachedFiles>) {
    trial.read_back.file_cache = cached;
    let (Some(wanted), Some(found)) = (&policy.settings.file, cached) else {
        return;
    };
    let (huge, all) = (bytes_text(found.huge_bytes), bytes_text(found.bytes));
    let is_so = match wanted.mode() {
        FileMode::Huge => found.huge_bytes > 0,
        FileMode::Small => found.huge_bytes == 0,
    };
    if !is_so {
        trial.marks.push(Mark::NotApplied {
            detail: format!(
                "{wanted}: {huge} of {all} in the page cache is huge; another process may map it"
            ),
        });
    }
}

/// Returns the obstacle to `file=`, if there is one. Tries it with the first huge page of the largest file.
///
/// # Errors
/// The obstacle.
pub fn check(policy: &Policy, host: &Host) -> std::result::Result<(), Unreachable> {
    let Some(wanted) = &policy.settings.file else {
        return Ok(());
    };
    let block = host.pmd_bytes().unwrap_or(USUAL_BLOCK);
    obstacle(wanted, block).map_or(Ok(()), |(problem, remedy)| {
        Err(Unreachable {
            policy: policy.name.clone(),
            problem,
            remedy: remedy.to_owned(),
        })
    })
}

fn obstacle(wanted: &FilePages, block: u64) -> Option<(String, &'static str)> {
    const NAME: &str = "name a regular file that this user can read";
    let path = wanted.path();
    let files = matching(path);
    let sizes = files.iter().map(|file| (size(file), file));
    let Some((largest, file)) = sizes.max() else {
        return Some((format!("no file matches {path}"), NAME));
    };
    let all: u64 = files.iter().map(|file| size(file)).sum();
    if largest < block {
        let block = bytes_text(block);
        return Some((
            format!("no file at {path} is as large as a huge page ({block})"),
            "name larger files",
        ));
    }
    let room = available_bytes().unwrap_or(u64::MAX) / 2;
    if all > room {
        let (all, room) = (bytes_text(all), bytes_text(room));
        return Some((
            format!("{path} has {all}, and half of the available memory is {room}"),
            "name fewer or smaller files",
        ));
    }
    let identity = invoker::identity().ok()?;
    let shown = file.display();
    match makes_huge(file, &Rights::of(identity.as_ref()), block) {
        Err(error) => Some((format!("{shown}: {error}"), NAME)),
        Ok(false) if wanted.mode() == FileMode::Huge => Some((
            format!("the kernel makes no large folio for {shown}"),
            "use a file that no process maps, on XFS, ext4 (Linux 6.16) or another file system with \
             large folios",
        )),
        Ok(_) => None,
    }
}

/// The effect on the files, as a doubt about the policy.
pub fn doubt(policy: &Policy) -> Option<String> {
    let path = policy.settings.file.as_ref()?.path();
    Some(format!(
        "{path} is evicted from the page cache before and after each trial, and read again before \
         it; other policies read it by read(2)"
    ))
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |it| it.len())
}

/// The files at a path; `*` and `?` in its last part match any characters, but no leading dot.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_file() || !name.contains(['*', '?']) {
        return Vec::from_iter(path.is_file().then(|| path.to_owned()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let at = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entries = std::fs::read_dir(at).into_iter().flatten().flatten();
    let fits = |other: &str| !other.starts_with('.') && matches(name.as_bytes(), other.as_bytes());
    let names = entries.map(|entry| entry.file_name());
    let names = names.filter(|other| fits(&other.to_string_lossy()));
    let files = names.map(|name| folder.join(name));
    let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Does a name match a pattern with `*` and `?`?
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|taken| matches(rest, &name[taken..])),
        (Some((b'?', rest)), Some((_, behind))) => matches(rest, behind),
        (Some((one, rest)), Some((other, behind))) => one == other && matches(rest, behind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_in_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.bin", "b.bin", ".c.bin", "a.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        let found = |pattern: &str| -> Vec<String> {
            let pattern = folder.path().join(pattern);
            let found = matching(&pattern.to_string_lossy()).into_iter();
            let names = found.map(|it| it.file_name().map(|it| it.to_string_lossy().into_owned()));
            names.flatten().collect()
        };
        assert_eq!(found("*.bin"), ["a.bin", "b.bin"]);
        assert_eq!(found("a.*"), ["a.bin", "a.txt"]);
        assert_eq!(found("?.txt"), ["a.txt"]);
        assert_eq!(found("a.bin"), ["a.bin"]);
        assert!(found("none").is_empty() && found("*.none").is_empty());
    }
}
