//! A cgroup by its path, for `--cgroup`.

use anyhow::Result;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{list_cgroups, list_of_cgroup};
use hugewise_linux::observe::stat::subject::Cgroup;
use hugewise_text::suggest::nearest;

use crate::exit;

/// Finds the cgroup with that path.
pub fn find(root: &Root, path: &str) -> Result<Cgroup> {
    Cgroup::find(root, path).map_err(|error| match error.kind {
        Kind::NotFound => exit::usage(format!(
            "--cgroup {path}: there is no such cgroup; {}",
            alike(root, path)
        )),
        _ => error.into(),
    })
}

/// The processes in the cgroup with that path and in its descendants; at least one.
pub fn processes(root: &Root, path: &str) -> Result<Vec<u32>> {
    let pids = list_of_cgroup(root, path)?;
    if pids.is_empty() {
        find(root, path)?;
        return Err(exit::usage(format!("--cgroup {path}: no process is in it")));
    }
    Ok(pids)
}

/// A hint with similar paths: users leave out the parent folders.
fn alike(root: &Root, path: &str) -> String {
    fn name(path: &str) -> &str {
        path.rsplit('/').next().unwrap_or(path)
    }
    let groups = list_cgroups(root).unwrap_or_default();
    let near = nearest(name(path), groups.iter().map(|group| name(group)));
    let near = near.and_then(|near| groups.iter().find(|group| name(group) == near));
    near.map_or_else(
        || "/proc/PID/cgroup names that of a process".to_owned(),
        |near| format!("did you mean `{}`?", near.trim_start_matches('/')),
    )
}
