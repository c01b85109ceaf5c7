//! A memory cgroup for one process tree.
//!
//! The process that starts the tree creates and removes the group. The keeper does so, and removes the group with the
//! tree even if the measuring program was killed. Groups left by a killed keeper are removed by the next trial.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::policy::realise::MemoryLimits;
use hugewise_experiment::run::trial::TrialCgroup;
use serde::{Deserialize, Serialize};

use super::CgroupChoice;
use crate::machine::error::Error;
use crate::machine::root::Root;
use crate::sys::cgroup::{MemoryController, read_place};

/// The path of a future group, and its limits. Nothing is created yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CgroupPlan {
    path: PathBuf,
    version: u8,
    limits: MemoryLimits,
}

impl CgroupPlan {
    /// Returns the path for a new group on this machine, or why there is none.
    pub(super) fn of(group: CgroupChoice) -> Result<Self, Missing> {
        let limits = match group {
            CgroupChoice::Leave => return Err(Missing::NotAsked),
            CgroupChoice::Make => MemoryLimits::default(),
            CgroupChoice::Limit(limits) => limits,
        };
        let root = Root::real();
        let place = own_place(&root)?;
        let own = root.path(place.folder());
        let parent = match place.version {
            1 => own,
            _ => parent_with_memory(&own)?,
        };
        sweep(&root, &parent);
        Ok(Self {
            path: parent.join(name()),
            version: place.version,
            limits,
        })
    }

    /// Returns the file names of the hard and the soft limit.
    fn limit_files(&self) -> [(&'static str, Option<u64>); 2] {
        let max = match self.version {
            1 => "memory.limit_in_bytes",
            _ => "memory.max",
        };
        [
            (max, self.limits.max_bytes),
            ("memory.high", self.limits.high_bytes),
        ]
    }

    /// Creates the group with its limits, and verifies that the limits were accepted.
    pub(super) fn make(&self) -> Result<Cgroup, Missing> {
        fs::create_dir(&self.path).map_err(|error| refused("making", &self.path, error))?;
        let made = Cgroup {
            path: self.path.clone(),
        };
        for (file, limit) in self.limit_files() {
            let Some(limit) = limit else { continue };
            let path = self.path.join(file);
            fs::write(&path, limit.to_string())
                .map_err(|error| refused("writing", &path, error))?;
            let found = read_number(&path)?;
            if found != limit {
                return Err(Missing::Unreadable {
                    error: format!(
                        "{}: {limit} was written, but it reads {found}",
                        path.display()
                    ),
                });
            }
        }
        Ok(made)
    }

    /// Opens the file through which a process joins the group by writing `0`.
    pub(super) fn door(&self) -> Result<File, String> {
        let path = self.path.join("cgroup.procs");
        let opened = File::options().write(true).open(&path);
        opened.map_err(|error| format!("opening {}: {error}", path.display()))
    }

    /// Returns true if the tree may run only in the group.
    pub(super) fn is_required(&self) -> bool {
        !self.limits.is_none()
    }
}

/// Creates the group of a tree started without a keeper, if one is requested.
///
/// # Errors
/// A sentence: the group cannot be created, and the tree may run only in it.
pub(super) fn make(group: CgroupChoice) -> Result<Option<(CgroupPlan, Cgroup)>, String> {
    let CgroupChoice::Limit(_) = group else {
        return Ok(None);
    };
    let plan = CgroupPlan::of(group).map_err(|missing| not_made(&missing))?;
    let made = plan.make().map_err(|missing| not_made(&missing))?;
    Ok(Some((plan, made)))
}

/// Explains why a tree with limits was not started.
pub(super) fn not_made(missing: &Missing) -> String {
    format!("making its cgroup: {missing}")
}

fn own_place(root: &Root) -> Result<MemoryController, Missing> {
    let place = read_place(root).map_err(|error| error.into_missing("root"))?;
    place.ok_or_else(|| Missing::NotSupported {
        what: "a memory cgroup".to_owned(),
    })
}

/// In cgroup v2 a group with processes has no children with controllers, so the new group must be a sibling of the
/// current one (or a child of the root, which is exempt).
fn parent_with_memory(own: &Path) -> Result<PathBuf, Missing> {
    let parent = match own.join("cgroup.type").exists() {
        true => own.parent().unwrap_or(own),
        false => own,
    };
    let control = parent.join("cgroup.subtree_control");
    let text = fs::read_to_string(&control).map_err(|error| refused("reading", &control, error))?;
    if text.split_whitespace().any(|name| name == "memory") {
        return Ok(parent.to_owned());
    }
    Err(Missing::NotSupported {
        what: format!("the memory controller below {}", parent.display()),
    })
}

/// Removes the groups of killed programs. Best effort: a group that still has a process cannot be removed, and an empty
/// one is harmless.
fn sweep(root: &Root, parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(maker);
        if maker.is_some_and(|pid| !root.path(format!("proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the PID in the name of a group, if the name was made by this program.
fn maker(name: &str) -> Option<u32> {
    let (pid, count) = name.strip_prefix("hugewise-")?.split_once('-')?;
    count.parse::<u32>().ok()?;
    pid.parse().ok()
}

fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("hugewise-{}-{count}", std::process::id())
}

fn refused(doing: &str, path: &Path, error: io::Error) -> Missing {
    Error::io(doing, path, error).into_missing("root, or a delegated cgroup")
}

fn read_number(path: &Path) -> Result<u64, Missing> {
    let text = fs::read_to_string(path).map_err(|error| refused("reading", path, error))?;
    text.trim().parse().map_err(|_| Missing::Unreadable {
        error: format!("{}: `{}`", path.display(), text.trim()),
    })
}

/// An existing group, from its creation to its removal.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Drop for Cgroup {
    /// The tree is dead, but the kernel removes the last process from the group a moment later.
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        let since = Instant::now();
        while let Err(error) = fs::remove_dir(&self.path) {
            if error.raw_os_error() != Some(libc::EBUSY) || since.elapsed() > PATIENCE {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Read access to the group of a running or just ended tree.
#[derive(Clone, Debug)]
pub struct TreeCgroup {
    plan: CgroupPlan,
}

impl TreeCgroup {
    /// Returns the group, if the tree is in one.
    pub(super) fn of(plan: CgroupPlan) -> Result<Self, Missing> {
        match plan.path.is_dir() {
            true => Ok(Self { plan }),
            false => Err(Missing::NotPermitted {
                grant: "root, or a delegated cgroup".to_owned(),
            }),
        }
    }

    fn number(&self, file: &str) -> Result<u64, Missing> {
        read_number(&self.plan.path.join(file))
    }

    /// Returns the peak of the group in bytes, including page cache and kernel memory.
    ///
    /// # Errors
    /// The kernel does not show it.
    pub fn peak_bytes(&self) -> Result<u64, Missing> {
        self.number(match self.plan.version {
            1 => "memory.max_usage_in_bytes",
            _ => "memory.peak",
        })
    }

    /// Returns its current limits, and whether they took effect; `None` if no limit was requested.
    #[must_use]
    pub fn read_back(&self) -> Option<TrialCgroup> {
        if !self.plan.is_required() {
            return None;
        }
        let [max, high] = self.plan.limit_files();
        let read = |(file, limit): (&str, Option<u64>)| limit.and_then(|_| self.number(file).ok());
        let limits = MemoryLimits {
            max_bytes: read(max),
            high_bytes: read(high),
        };
        let event = |file: &str, name: &str| {
            let text = fs::read_to_string(self.plan.path.join(file)).ok()?;
            entry(&text, name)
        };
        Some(match self.plan.version {
            1 => TrialCgroup {
                limits,
                at_max: self.number("memory.failcnt").ok(),
                over_high: None,
                killed: event("memory.oom_control", "oom_kill"),
            },
            _ => TrialCgroup {
                limits,
                at_max: event("memory.events", "max"),
                over_high: event("memory.events", "high"),
                killed: event("memory.events", "oom_kill"),
            },
        })
    }
}

/// Returns the number after a name at the beginning of a line.
fn entry(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, number) = lines.find(|(key, _)| *key == name)?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_name_their_maker() {
        assert_eq!(maker(&name()), Some(std::process::id()));
        for other in ["hugewise-1", "hugewise-x-0", "hugewise-1-x", "system.slice"] {
            assert_eq!(maker(other), None, "{other}");
        }
    }

    #[test]
    fn groups_of_the_dead_are_swept_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let parent = root.path("groups");
        // This number exceeds every possible PID.
        let dead = format!("hugewise-{}-0", u32::MAX);
        let living = format!("hugewise-{}-0", std::process::id());
        fs::create_dir_all(root.path(format!("proc/{}", std::process::id()))).unwrap();
        for name in [dead.as_str(), &living, "system.slice"] {
            fs::create_dir_all(parent.join(name)).unwrap();
        }
        sweep(&root, &parent);
        assert!(!parent.join(dead).exists());
        assert!(parent.join(living).exists() && parent.join("system.slice").exists());
    }

    #[test]
    fn events_are_read_by_name() {
        let events = "low 0\nhigh 12\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n";
        assert_eq!(entry(events, "max"), Some(3));
        assert_eq!(entry(events, "oom_kill"), Some(1));
        assert_eq!(entry(events, "no"), None);
    }
}
