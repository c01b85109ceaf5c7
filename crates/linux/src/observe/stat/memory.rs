//! Memory in use, and the part of it that uses huge pages.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;

use super::subject::{Cgroup, Subject};
use super::usage::UsageScope;
use crate::machine::error::{Error, Kind};
use crate::machine::root::Root;
use crate::proc::meminfo::read_meminfo;
use crate::proc::smaps_rollup::{Rollup, read_smaps_rollup};
use crate::proc::vmstat::parse_vmstat;

/// The share of time spent on reading memory: reading walks page tables under the lock of the observed process (the
/// duration is limited by [`Pace`](crate::collect::sampler::Pace)).
const BUDGET: f64 = 0.01;

/// Reads memory no more often than its cost allows.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    interval: Duration,
    /// The number of intervals to skip before the next reading.
    skip: u32,
    last_cost: Duration,
}

/// An amount of memory in bytes, and how much of it is huge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) huge_bytes: u64,
    pub(super) of_bytes: u64,
}

impl Memory {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            skip: 0,
            last_cost: Duration::ZERO,
        }
    }

    pub(super) fn read(&mut self, root: &Root, subject: &Subject) -> Result<Share, Missing> {
        match subject {
            Subject::Machine => machine(root),
            Subject::Cgroup(group) => cgroup(root, group),
            Subject::Command { keeper, .. } => self.tree(root, UsageScope::Below(*keeper)),
            Subject::Process(process) => self.tree(root, UsageScope::Tree(process.pid)),
        }
    }

    fn tree(&mut self, root: &Root, scope: UsageScope) -> Result<Share, Missing> {
        if self.skip > 0 {
            self.skip -= 1;
            return Err(Missing::not_supported(format!(
                "a reading in every interval: one takes {:?}",
                self.last_cost
            )));
        }
        let began = Instant::now();
        let share = tree(root, scope);
        self.took(began.elapsed());
        share
    }

    fn took(&mut self, cost: Duration) {
        self.last_cost = cost;
        let affordable = self.interval.mul_f64(BUDGET).as_secs_f64().max(1e-9);
        let intervals = (cost.as_secs_f64() / affordable).ceil();
        // A float to integer cast saturates.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates"
        )]
        let intervals = intervals as u32;
        self.skip = intervals.saturating_sub(1);
    }
}

fn tree(root: &Root, scope: UsageScope) -> Result<Share, Missing> {
    let mut refused = None;
    let processes = scope.processes(root);
    let sum = processes
        .iter()
        .filter_map(|&pid| match read_smaps_rollup(root, pid) {
            Ok(rollup) => Some(rollup),
            Err(error) => {
                if error.kind == Kind::NotPermitted {
                    refused = Some(error.into_missing("CAP_SYS_PTRACE, or the same user"));
                }
                None
            }
        })
        .reduce(Rollup::plus);
    match (refused, sum) {
        // Part of the tree does not represent the whole tree.
        (Some(missing), _) => Err(missing),
        (None, None) => Err(Missing::TooShort),
        (None, Some(sum)) => Ok(Share {
            huge_bytes: sum.huge_anon_bytes + sum.huge_file_bytes + sum.huge_shmem_bytes,
            of_bytes: sum.rss_bytes,
        }),
    }
}

fn machine(root: &Root) -> Result<Share, Missing> {
    let memory = read_meminfo(root).map_err(|error| error.into_missing("root"))?;
    let field = |name: &str| memory.get(name).unwrap_or(0);
    let all = memory
        .get("AnonPages")
        .ok_or_else(|| Missing::not_supported("AnonPages in /proc/meminfo"))?;
    Ok(Share {
        huge_bytes: field("AnonHugePages") + field("ShmemPmdMapped") + field("FilePmdMapped"),
        of_bytes: all.saturating_add(field("Mapped")),
    })
}

/// cgroup v2 has `anon` and `anon_thp`, v1 `rss` and `rss_huge`; both count only anonymous memory.
fn cgroup(root: &Root, group: &Cgroup) -> Result<Share, Missing> {
    let stat = read_group(root, group)?;
    let pair = |all: &str, huge: &str| {
        Some(Share {
            huge_bytes: *stat.get(huge)?,
            of_bytes: *stat.get(all)?,
        })
    };
    pair("anon", "anon_thp")
        .or_else(|| pair("rss", "rss_huge"))
        .ok_or_else(|| Missing::not_supported("anonymous huge pages in memory.stat"))
}

/// Reads `memory.stat` of a cgroup: one name and number per line, as in `/proc/vmstat`.
pub(super) fn read_group(root: &Root, group: &Cgroup) -> Result<BTreeMap<String, u64>, Missing> {
    let folder = group
        .memory
        .as_ref()
        .ok_or_else(|| Missing::not_supported("the memory controller of this cgroup"))?;
    let path = format!("{folder}/memory.stat");
    let parsed = root.read(&path).and_then(|bytes| {
        parse_vmstat(&bytes).map_err(|what| Error::malformed(&root.path(&path), what))
    });
    parsed.map_err(|error| error.into_missing("root"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dear_is_read_seldom() {
        let mut memory = Memory::new(Duration::from_secs(1));
        memory.took(Duration::from_millis(5));
        assert_eq!(memory.skip, 0);
        memory.took(Duration::from_millis(35));
        assert_eq!(memory.skip, 3);
    }

    #[test]
    fn a_group_of_either_version_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sys/fs/cgroup/memory/a");
        std::fs::create_dir_all(&path).unwrap();
        let self_folder = folder.path().join("proc/self");
        std::fs::create_dir_all(&self_folder).unwrap();
        let mount = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        std::fs::write(self_folder.join("mountinfo"), mount).unwrap();
        let root = Root::at(folder.path());
        let group = Cgroup::find(&root, "a").unwrap();
        for text in [
            "rss 400\nrss_huge 100\n",
            "anon 400\nfile 9\nanon_thp 100\n",
        ] {
            std::fs::write(path.join("memory.stat"), text).unwrap();
            let share = cgroup(&root, &group).unwrap();
            assert_eq!((share.huge_bytes, share.of_bytes), (100, 400));
        }
        std::fs::write(path.join("memory.stat"), "anon x\n").unwrap();
        assert!(matches!(
            cgroup(&root, &group),
            Err(Missing::Unreadable { .. })
        ));
    }
}
