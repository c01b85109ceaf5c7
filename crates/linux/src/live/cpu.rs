//! The processor time of a process or a cgroup, and what else it used.

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::observe::stat::activity::processor_time;
use crate::proc::pid_stat::read_pid_stat;

/// Whose processor time is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessorTime {
    /// Processes, all their threads, those that ended too.
    Processes(Vec<u32>),
    /// All processes of a cgroup of version 2, by its folder relative to the root.
    Cgroup(String),
}

/// The use of processes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUsage {
    /// Faults served without I/O.
    pub minor_faults: u64,
    /// Resident pages.
    pub resident_pages: u64,
}

impl ProcessorTime {
    /// Reads the time used so far, in seconds.
    ///
    /// # Errors
    /// A process has ended, or the file of the cgroup cannot be read.
    pub fn read(&self, root: &Root) -> Result<f64> {
        match self {
            Self::Processes(pids) => {
                let times = pids.iter().map(|pid| processor_time(*pid));
                let total: u64 = times.sum::<Result<u64>>()?;
                Ok(total as f64 / 1e9)
            }
            Self::Cgroup(folder) => {
                let path = format!("{folder}/cpu.stat");
                let text = root.read_trimmed(&path)?;
                let usage = text
                    .lines()
                    .find_map(|line| line.strip_prefix("usage_usec "));
                let usage = usage.and_then(|it| it.trim().parse::<f64>().ok());
                usage
                    .map(|it| it / 1e6)
                    .ok_or_else(|| Error::malformed(&root.path(&path), "there is no usage_usec"))
            }
        }
    }
}

impl CpuUsage {
    /// Reads what processes used; one that has ended counts nothing.
    #[must_use]
    pub fn read(root: &Root, pids: &[u32]) -> Self {
        let read = pids.iter().filter_map(|pid| read_pid_stat(root, *pid).ok());
        read.fold(Self::default(), |sum, it| Self {
            minor_faults: sum.minor_faults + it.own.minor_faults,
            resident_pages: sum.resident_pages + it.resident_pages,
        })
    }
}
