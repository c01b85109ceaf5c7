//! A memory cgroup for one tree of processes.
//!
//! Who starts the tree makes it and removes it: the keeper, so that it goes with the tree even when
//! the measuring program was killed. What a killed keeper left, the next trial sweeps up.

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

/// Where a group will be, and its limits. Nothing is made yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CgroupPlan {
    path: PathBuf,
    version: u8,
    limits: MemoryLimits,
}

impl CgroupPlan {
    /// The place of a new group of this machine, and why there is none.
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

    /// The file of the hard limit and that of the soft one.
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

    /// Makes the group with its limits, and sees that they hold.
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

    /// The file by which a process joins: it writes `0`.
    pub(super) fn door(&self) -> Result<File, String> {
        let path = self.path.join("cgroup.procs");
        let opened = File::options().write(true).open(&path);
        opened.map_err(|error| format!("opening {}: {error}", path.display()))
    }

    /// Whether the tree may only run in it.
    pub(super) fn is_required(&self) -> bool {
        !self.limits.is_none()
    }
}

/// The group of a tree that is started without a keeper, where it is to have one.
///
/// # Errors
/// A sentence: it cannot be made, and the tree may only run in it.
pub(super) fn make(group: CgroupChoice) -> Result<Option<(CgroupPlan, Cgroup)>, String> {
    let CgroupChoice::Limit(_) = group else {
        return Ok(None);
    };
    let plan = CgroupPlan::of(group).map_err(|missing| not_made(&missing))?;
    let made = plan.make().map_err(|missing| not_made(&missing))?;
    Ok(Some((plan, made)))
}

/// Why a tree that was to be limited does not start.
pub(super) fn not_made(missing: &Missing) -> String {
    format!("making its cgroup: {missing}")
}

fn own_place(root: &Root) -> Result<MemoryController, Missing> {
    let place = read_place(root).map_err(|error| error.into_missing("root"))?;
    place.ok_or_else(|| Missing::NotSupported {
        what: "a memory cgroup".to_owned(),
    })
}

/// In version 2 a group with processes has no children with controllers, so that ours must
/// stand beside the one we are in (or below the root, which is exempt).
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

/// Removes the groups of programs that were killed before they could. Best effort: a group
/// that still has a process refuses, and an empty one does no harm.
fn sweep(root: &Root, parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(maker);
        if maker.is_some_and(|pid| !root.path(format!("proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The process that made a group of this name, where it is one of ours.
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

/// A group that is there, from its making to its removal.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Drop for Cgroup {
    /// The tree is dead, but the kernel lets go of the last process a moment later.
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

/// The group of a tree that runs or has just ended, to be read.
#[derive(Clone, Debug)]
pub struct TreeCgroup {
    plan: CgroupPlan,
}

impl TreeCgroup {
    /// The group, if its tree is in one.
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

    /// The group's peak in bytes, page cache and kernel memory included.
    ///
    /// # Errors
    /// The kernel does not show it.
    pub fn peak_bytes(&self) -> Result<u64, Missing> {
        self.number(match self.plan.version {
            1 => "memory.max_usage_in_bytes",
            _ => "memory.peak",
        })
    }

    /// Its limits as they are now, and whether they acted; `None` where none was asked for.
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

/// The number behind a name at the beginning of a line.
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
        // No process can have the largest number.
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
