//! Subjects of an observation: the target of their counters, and the files of their memory.

use std::fs::File;
use std::sync::Arc;

use hugewise_base::missing::Missing;

use super::usage::UsageScope;
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::perf::count::CountScope;
use crate::proc::mounts::{Mount, parse_mounts};
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::tree;
use crate::sys::cpu;

/// The subject of an observation.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A process that will exec a command, below its keeper.
    Command {
        /// The process.
        main: u32,
        /// Its keeper, which inherits its orphans.
        keeper: u32,
    },
    /// A running process, with its descendants.
    Process(CountedProcess),
    /// A cgroup.
    Cgroup(Cgroup),
    /// The whole machine.
    Machine,
}

/// A process and its start time, because PIDs are reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedProcess {
    /// Its PID.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    started_ticks: u64,
}

impl CountedProcess {
    /// Finds a process.
    ///
    /// # Errors
    /// No process has this PID.
    pub fn find(root: &Root, pid: u32) -> Result<Self> {
        let stat = read_pid_stat(root, pid)?;
        Ok(Self {
            pid,
            comm: stat.command,
            started_ticks: stat.started_ticks,
        })
    }

    /// Returns true if it is still running; a zombie is not.
    #[must_use]
    pub fn runs(&self, root: &Root) -> bool {
        read_pid_stat(root, self.pid)
            .is_ok_and(|stat| stat.started_ticks == self.started_ticks && !stat.is_dead())
    }
}

/// A cgroup, in its hierarchies with the perf_event and memory controllers.
#[derive(Clone, Debug)]
pub struct Cgroup {
    /// The name given by the user.
    pub name: String,
    /// Its directory for perf_event_open, relative to the root of the machine.
    perf: Option<String>,
    /// Its directory with `memory.stat`, relative to the root of the machine.
    pub(super) memory: Option<String>,
}

impl Cgroup {
    /// Finds a cgroup by its path below a mount (`system.slice/mysql.service`) or its full path
    /// (`/sys/fs/cgroup/system.slice/mysql.service`).
    ///
    /// # Errors
    /// The mounts could not be read, or no hierarchy contains the group.
    pub fn find(root: &Root, name: &str) -> Result<Self> {
        let mounts = parse_mounts(&root.read("proc/self/mountinfo")?);
        let mounts: Vec<Mount> = mounts
            .into_iter()
            .filter(|mount| mount.kind.starts_with("cgroup"))
            .collect();
        let below = below(name, &mounts);
        let folder = |mount: &&Mount| {
            let path = format!("{}/{below}", mount.point.trim_matches('/'));
            root.path(&path).is_dir().then_some(path)
        };
        let of = |controller: &str| {
            let first = mounts.iter().filter(|mount| mount.has_option(controller));
            let second = mounts.iter().filter(|mount| mount.kind == "cgroup2");
            first.chain(second).find_map(|mount| folder(&mount))
        };
        let (perf, memory) = (of("perf_event"), of("memory"));
        if perf.is_none() && memory.is_none() {
            return Err(Error::io(
                "looking for the cgroup",
                &root.path("sys/fs/cgroup").join(&below),
                std::io::ErrorKind::NotFound.into(),
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            perf,
            memory,
        })
    }
}

impl Cgroup {
    /// Returns the directory whose `cpu.stat` has the processor time of its processes, relative to the root.
    #[must_use]
    pub fn folder_of_time(&self, root: &Root) -> Option<String> {
        let has_time = |folder: &&String| root.path(folder).join("cpu.stat").is_file();
        let mut folders = self.perf.iter().chain(&self.memory);
        folders.find(has_time).cloned()
    }

    /// Opens its directory for perf_event_open.
    ///
    /// # Errors
    /// It has no directory that perf_event_open accepts, or the directory may not be opened.
    pub fn open(&self, root: &Root) -> std::result::Result<File, Missing> {
        let folder = self
            .perf
            .as_ref()
            .ok_or_else(|| Missing::not_supported("the perf_event controller of this cgroup"))?;
        let path = root.path(folder);
        File::open(&path).map_err(|error| Error::io("opening", &path, error).into_missing("root"))
    }
}

/// Returns the path of a cgroup below its mount.
fn below(name: &str, mounts: &[Mount]) -> String {
    let longest = mounts
        .iter()
        .filter_map(|mount| {
            let rest = name.strip_prefix(mount.point.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        })
        .min_by_key(|rest| rest.len());
    longest.unwrap_or(name).trim_matches('/').to_owned()
}

impl Subject {
    /// Returns the target for which counters are opened.
    ///
    /// # Errors
    /// The cgroup has no directory that perf_event_open accepts, or the directory may not be opened.
    pub fn target(&self, root: &Root) -> std::result::Result<CountScope, Missing> {
        match self {
            Self::Command { main, .. } => Ok(CountScope::AtExec(*main)),
            Self::Process(process) => Ok(CountScope::Tasks(tree::read_threads(
                root,
                &UsageScope::Tree(process.pid).processes(root),
            ))),
            Self::Machine => Ok(CountScope::Cpus(online(root))),
            Self::Cgroup(group) => Ok(CountScope::Cgroup(
                Arc::new(group.open(root)?),
                online(root),
            )),
        }
    }

    /// Returns the processes whose resource usage is observed; `None` if usage is not that of single processes.
    #[must_use]
    pub fn usage_scope(&self) -> Option<UsageScope> {
        match self {
            Self::Command { keeper, .. } => Some(UsageScope::Below(*keeper)),
            Self::Process(process) => Some(UsageScope::Tree(process.pid)),
            Self::Cgroup(_) | Self::Machine => None,
        }
    }
}

fn online(root: &Root) -> Vec<u32> {
    let members = cpu::read_online_members(root).unwrap_or_default();
    if members.is_empty() { vec![0] } else { members }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::pid_stat::line_of;

    fn mount(point: &str, kind: &str, options: &str) -> Mount {
        Mount {
            device: (0, 0),
            root: "/".to_owned(),
            point: point.to_owned(),
            kind: kind.to_owned(),
            options: options.to_owned(),
        }
    }

    #[test]
    fn a_cgroup_is_named_by_either_path() {
        let mounts = [
            mount("/sys/fs/cgroup/memory", "cgroup", "rw,memory"),
            mount("/sys/fs/cgroup", "cgroup2", "rw"),
        ];
        for name in [
            "/a/b",
            "a/b",
            "/sys/fs/cgroup/memory/a/b",
            "/sys/fs/cgroup/a/b/",
        ] {
            assert_eq!(below(name, &mounts), "a/b", "{name}");
        }
        assert_eq!(below("/sys/fs/cgroup", &mounts), "");
        assert_eq!(below("/sys/fs/cgroupx", &mounts), "sys/fs/cgroupx");
    }

    #[test]
    fn hierarchies_are_found_each_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "proc/self",
            "sys/fs/cgroup/memory/a",
            "sys/fs/cgroup/unified/a",
        ] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        std::fs::write(folder.path().join("proc/self/mountinfo"), mounts).unwrap();
        let root = Root::at(folder.path());
        let found = Cgroup::find(&root, "/a").unwrap();
        assert_eq!(found.perf.as_deref(), Some("sys/fs/cgroup/unified/a"));
        assert_eq!(found.memory.as_deref(), Some("sys/fs/cgroup/memory/a"));
        assert!(Cgroup::find(&root, "/b").is_err());
    }

    #[test]
    fn a_number_that_was_used_again_is_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let write = |state, born| {
            std::fs::create_dir_all(folder.path().join("proc/7")).unwrap();
            let line = line_of(7, "a b", state, &[(22, born)]);
            std::fs::write(folder.path().join("proc/7/stat"), line).unwrap();
        };
        write('S', 100);
        let process = CountedProcess::find(&root, 7).unwrap();
        assert_eq!(process.comm, "a b");
        assert!(process.runs(&root));
        write('Z', 100);
        assert!(!process.runs(&root));
        write('S', 200);
        assert!(!process.runs(&root));
        assert!(CountedProcess::find(&root, 8).is_err());
    }
}
