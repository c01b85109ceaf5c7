//! A memory cgroup for one trial.
//!
//! Off by default: in a group of its own a workload pays for charging its pages, which it may
//! not pay where it usually runs (the root group is not charged), and two policies with
//! different numbers of pages would pay differently.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use hugewise_model::observation::Missing;

use crate::proc::cgroup::read_memory_cgroup;
use crate::root::Root;
use crate::spawn::Group;

/// The group of a trial, removed when it goes out of scope.
#[derive(Debug)]
pub(super) struct OwnGroup(Result<Made, Missing>);

#[derive(Debug)]
struct Made {
    folder: PathBuf,
    peak_file: &'static str,
}

impl OwnGroup {
    /// Puts the main process, before its exec, into a fresh group below ours.
    pub(super) fn join(root: &Root, main: u32, wanted: Group) -> Self {
        Self(match wanted {
            Group::Leave => Err(Missing::NotAsked),
            Group::Make => make(root, main),
        })
    }

    /// The most that was charged to it, in bytes.
    pub(super) fn peak_bytes(&self) -> Result<u64, Missing> {
        let made = self.0.as_ref().map_err(Clone::clone)?;
        let path = made.folder.join(made.peak_file);
        let unreadable = |error: String| Missing::Unreadable {
            error: format!("{}: {error}", path.display()),
        };
        let text = fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
        text.trim()
            .parse()
            .map_err(|_| unreadable(format!("`{}` is not a number", text.trim())))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        if let Ok(made) = &self.0 {
            // The tree is dead, so it is empty; should a process have survived, the folder
            // stays, which does no harm.
            let _ = fs::remove_dir(&made.folder);
        }
    }
}

fn make(root: &Root, main: u32) -> Result<Made, Missing> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (version, own) = read_memory_cgroup(root).ok_or_else(|| Missing::NotSupported {
        what: "a memory cgroup".to_owned(),
    })?;
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = root
        .path(own)
        .join(format!("hugewise-{}-{nth}", std::process::id()));
    fs::create_dir(&folder).map_err(|_| not_permitted())?;
    let made = Made {
        folder,
        peak_file: if version == 1 {
            "memory.max_usage_in_bytes"
        } else {
            "memory.peak"
        },
    };
    let entered = made.folder.join(made.peak_file).exists()
        && fs::write(made.folder.join("cgroup.procs"), main.to_string()).is_ok();
    if entered {
        Ok(made)
    } else {
        let _ = fs::remove_dir(&made.folder);
        Err(Missing::NotSupported {
            what: "a memory cgroup below our own (is the memory controller delegated?)".to_owned(),
        })
    }
}

fn not_permitted() -> Missing {
    Missing::NotPermitted {
        grant: "write access to the memory cgroup".to_owned(),
    }
}
