//! Targets of counters, and the reasons why a target cannot be observed.

use std::fs::File;
use std::io;
use std::sync::Arc;

use hugewise_base::missing::Missing;
use hugewise_observe::stat::Mode;

use crate::perf::fit::missing;
use crate::perf::open::{CountFrom, CountTarget};
use crate::probe::Grants;

/// The target of all groups.
#[derive(Clone, Debug)]
pub enum CountScope {
    /// Running threads, and all their future children.
    Tasks(Vec<u32>),
    /// A process about to exec a command; counting begins at its exec.
    AtExec(u32),
    /// Everything on these processors.
    Cpus(Vec<u32>),
    /// A cgroup, on these processors.
    Cgroup(Arc<File>, Vec<u32>),
}

pub(super) fn observed(target: &CountScope, group: usize) -> Vec<(CountTarget, CountFrom)> {
    match target {
        CountScope::Tasks(threads) => threads
            .iter()
            .map(|&thread| (CountTarget::Task(thread), CountFrom::Switched))
            .collect(),
        CountScope::AtExec(pid) => {
            let start = if group == 0 {
                CountFrom::AtExec
            } else {
                CountFrom::Switched
            };
            vec![(CountTarget::Task(*pid), start)]
        }
        CountScope::Cpus(cpus) => cpus
            .iter()
            .map(|&cpu| (CountTarget::Cpu(cpu), CountFrom::Switched))
            .collect(),
        CountScope::Cgroup(folder, cpus) => cpus
            .iter()
            .map(|&cpu| {
                (
                    CountTarget::Cgroup(Arc::clone(folder), cpu),
                    CountFrom::Switched,
                )
            })
            .collect(),
    }
}

/// Returns true if a thread has ended since it was listed, a processor was removed, or it belongs to another source.
pub(super) fn is_elsewhere(error: &io::Error, target: &CountScope) -> bool {
    match target {
        CountScope::Tasks(_) | CountScope::AtExec(_) => error.raw_os_error() == Some(libc::ESRCH),
        CountScope::Cpus(_) | CountScope::Cgroup(..) => {
            matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENOENT))
        }
    }
}

pub(super) fn refused(
    error: &io::Error,
    mode: Mode,
    target: &CountScope,
    grants: &Grants,
) -> Missing {
    let denied = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    match target {
        CountScope::Cpus(_) | CountScope::Cgroup(..) if denied => {
            Missing::not_permitted(grants.perf_machine())
        }
        _ => missing(error, mode, grants),
    }
}
