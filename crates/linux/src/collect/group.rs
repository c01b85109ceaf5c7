//! A memory cgroup for one trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use hugewise_model::base::missing::Missing;

use crate::machine::error::Error;
use crate::machine::root::Root;
use crate::spawn::Group;
use crate::sys::cgroup::{Place, read_place};

/// A cgroup that holds one trial, and is removed when dropped.
#[derive(Debug)]
pub(super) struct TrialGroup {
    path: PathBuf,
    peak: &'static str,
}

/// Makes a group and puts the suspended main process into it; its children will be born there.
pub(super) fn make(root: &Root, group: Group, main: u32) -> Result<TrialGroup, Missing> {
    if group == Group::Leave {
        return Err(Missing::NotAsked);
    }
    let place = own_place(root)?;
    let own = root.path(place.folder());
    let (parent, peak) = match place.version {
        1 => (own, "memory.max_usage_in_bytes"),
        _ => (parent_with_memory(&own)?, "memory.peak"),
    };
    sweep(root, &parent);
    let group = TrialGroup {
        path: parent.join(name()),
        peak,
    };
    fs::create_dir(&group.path).map_err(|error| refused("making", &group.path, error))?;
    let members = group.path.join("cgroup.procs");
    fs::write(&members, main.to_string()).map_err(|error| refused("joining", &members, error))?;
    Ok(group)
}

fn own_place(root: &Root) -> Result<Place, Missing> {
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

fn refused(doing: &str, path: &Path, error: std::io::Error) -> Missing {
    Error::io(doing, path, error).into_missing("root, or a delegated cgroup")
}

impl TrialGroup {
    /// The group's peak, page cache and kernel memory included.
    pub(super) fn peak_bytes(&self) -> Result<u64, Missing> {
        let path = self.path.join(self.peak);
        let text = fs::read_to_string(&path).map_err(|error| refused("reading", &path, error))?;
        text.trim().parse().map_err(|_| Missing::Unreadable {
            error: format!("{}: `{}`", path.display(), text.trim()),
        })
    }
}

impl Drop for TrialGroup {
    /// The tree is dead, but the kernel lets go of the last process a moment later.
    fn drop(&mut self) {
        for _ in 0..50 {
            match fs::remove_dir(&self.path) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    thread::sleep(Duration::from_millis(2));
                }
                _ => return,
            }
        }
    }
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
}
