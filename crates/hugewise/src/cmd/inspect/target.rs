//! Which processes are meant.

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{find_named, list_of_cgroup, list_processes};

use super::Arguments;
use crate::exit;

/// One process is shown in full, many in a line each.
#[derive(Debug)]
pub(super) enum Targets {
    One(u32),
    Many(Vec<u32>),
}

/// Finds them. A name that fits one process is that process; this program itself is never
/// meant by a name.
pub(super) fn find(root: &Root, arguments: &Arguments) -> Result<Targets> {
    if let Some(path) = &arguments.cgroup {
        let pids = list_of_cgroup(root, path)?;
        if pids.is_empty() {
            return Err(exit::usage(format!(
                "--cgroup {path}: no process in such a cgroup; write the path as in \
                 /proc/PID/cgroup"
            )));
        }
        return Ok(Targets::Many(pids));
    }
    if arguments.targets.is_empty() && arguments.pid.is_empty() {
        return Ok(Targets::Many(list_processes(root)?));
    }
    let mut pids = arguments.pid.clone();
    for target in &arguments.targets {
        pids.extend(meant(root, target)?);
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(match pids[..] {
        [pid] => Targets::One(pid),
        _ => Targets::Many(pids),
    })
}

fn meant(root: &Root, target: &str) -> Result<Vec<u32>> {
    if let Ok(pid) = target.parse() {
        return Ok(vec![pid]);
    }
    let own = std::process::id();
    let mut pids = find_named(root, target)?;
    pids.retain(|&pid| pid != own);
    if pids.is_empty() {
        return Err(exit::usage(format!(
            "{target}: no process has that name; use a PID or the name that ps shows"
        )));
    }
    Ok(pids)
}
