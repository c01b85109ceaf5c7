//! `memory-max=`, `memory-high=` and `numa=`: the amount and the nodes of the program's memory.

use super::{Draft, MemoryLimits};
use crate::base::units::bytes_text;

pub(super) fn reach(draft: &mut Draft<'_>) {
    let settings = &draft.policy.settings;
    let limits = MemoryLimits {
        max_bytes: settings.memory_max,
        high_bytes: settings.memory_high,
    };
    if !limits.is_none() {
        check_group(draft);
        check_limits(draft, limits);
        draft.realisation.limits = limits;
    }
    check_nodes(draft);
    draft
        .realisation
        .numa
        .clone_from(&draft.policy.settings.numa);
}

fn check_group(draft: &mut Draft<'_>) {
    let cgroup = &draft.host.cgroup;
    if cgroup.version == 0 {
        draft.obstacle(
            "this process is in no memory cgroup",
            "use a kernel with CONFIG_MEMCG, with its cgroups mounted",
        );
    } else if !cgroup.can_make {
        draft.obstacle(
            format!("no cgroup can be created next to or below {}", cgroup.path),
            "run as root, or in a delegated cgroup (systemd-run --user --scope -p Delegate=yes)",
        );
    }
}

fn check_limits(draft: &mut Draft<'_>, limits: MemoryLimits) {
    let cgroup = &draft.host.cgroup;
    if limits.high_bytes.is_some() && cgroup.version == 1 {
        draft.obstacle(
            "cgroups of version 1 have no memory.high, and their soft limit acts only when the \
             whole machine runs short",
            "use memory-max",
        );
    }
    if let (Some(high), Some(max)) = (limits.high_bytes, limits.max_bytes)
        && high >= max
    {
        draft.obstacle(
            "memory-high never acts where memory-max is not larger",
            "make memory-high smaller, or leave one of them out",
        );
    }
    let largest = limits.max_bytes.max(limits.high_bytes);
    if let (Some(wanted), Some(limit)) = (largest, draft.host.cgroup.limit_bytes)
        && wanted > limit
    {
        let limit = bytes_text(limit);
        draft.obstacle(
            format!("the cgroup of this process already limits memory to {limit}"),
            "choose a smaller limit",
        );
    }
}

/// Reports nodes that certainly do not exist; for others, the kernel reports an error when the trial starts.
fn check_nodes(draft: &mut Draft<'_>) {
    let Some(numa) = &draft.policy.settings.numa else {
        return;
    };
    let nodes = draft.host.numa_nodes;
    let beyond_one = nodes <= 1 && numa.nodes.iter().any(|&node| node > 0);
    if beyond_one || numa.nodes.len() > nodes.max(1) as usize {
        let (problem, remedy) = match nodes {
            0 | 1 => (
                "this machine has one memory node".to_owned(),
                "leave numa= out",
            ),
            _ => (
                format!("this machine has {nodes} memory nodes"),
                "name nodes of `numactl --hardware`",
            ),
        };
        draft.obstacle(problem, remedy);
    }
}
