//! The processes that the arguments name.

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::list_processes;

use super::Arguments;
use crate::process_name::named;
use crate::{cgroup_name, exit};

/// One process is shown in full, several with one line each.
#[derive(Debug)]
pub(super) enum Targets {
    One(u32),
    Many(Vec<u32>),
}

/// Finds the processes. A name that matches one process selects it; a name never matches this program.
pub(super) fn find(root: &Root, arguments: &Arguments) -> Result<Targets> {
    if let Some(path) = &arguments.cgroup {
        return Ok(Targets::Many(cgroup_name::processes(root, path)?));
    }
    if arguments.targets.is_empty() && arguments.pid.is_empty() {
        return Ok(Targets::Many(list_processes(root)?));
    }
    let mut pids = Vec::new();
    for target in arguments.pid.iter().chain(&arguments.targets) {
        let meant = named(root, target).map_err(|why| exit::usage(format!("{target}: {why}")))?;
        pids.extend(meant);
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(match pids[..] {
        [pid] => Targets::One(pid),
        _ => Targets::Many(pids),
    })
}
