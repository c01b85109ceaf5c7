//! The processes whose memory is switched together.

use std::rc::Rc;

use anyhow::Result;
use hugewise_linux::live::{Member, ProcessorTime, SplitMeans, find_split};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::collapse::Unusable;
use hugewise_linux::probe::read_page_bytes;
use hugewise_linux::proc::process::read_command_line;
use hugewise_linux::sys::thp::read_thp;
use hugewise_text::wrap::plain;

use super::Arguments;
use crate::{cgroup_name, exit};

/// A process, or those of a cgroup.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its processes.
    pub members: Vec<Rc<Member>>,
    /// Their processor time.
    pub cpu: ProcessorTime,
    /// The cgroup, if it was named.
    pub cgroup: Option<String>,
    /// The command line of the first.
    pub command: Vec<String>,
    /// Bytes of a base page.
    pub page_bytes: u64,
    /// Bytes of a huge page.
    pub huge_bytes: u64,
}

impl Unit {
    /// Finds the processes that were named, and opens them.
    pub(super) fn find(root: &Root, arguments: &Arguments) -> Result<Self> {
        let (pids, cpu) = found(root, arguments)?;
        let unit = Self::open(root, &pids)?;
        Ok(Self {
            cpu,
            cgroup: arguments.cgroup.clone(),
            ..unit
        })
    }

    /// Opens processes.
    pub(super) fn open(root: &Root, pids: &[u32]) -> Result<Self> {
        let page_bytes = read_page_bytes(root)?;
        let thp = read_thp(root);
        let huge_bytes = thp.map_err(|_| {
            exit::refused(
                "this kernel has no transparent huge pages, so no memory can be made huge",
            )
        });
        let huge_bytes = huge_bytes?.pmd_bytes;
        // Whose process it is decides before what this kernel can do.
        let open = |pid: &u32, means: &SplitMeans| {
            Member::open(*pid, page_bytes, huge_bytes, means.clone()).map_err(|it| refused(&it))
        };
        for pid in pids {
            open(pid, &SplitMeans::Cold)?;
        }
        let means = find_split(root, page_bytes, huge_bytes).map_err(exit::refused)?;
        let members = pids.iter().map(|it| Ok(Rc::new(open(it, &means)?)));
        let first = pids.first().copied().unwrap_or_default();
        Ok(Self {
            members: members.collect::<Result<_>>()?,
            cpu: ProcessorTime::Processes(pids.to_vec()),
            cgroup: None,
            command: command(root, first),
            page_bytes,
            huge_bytes,
        })
    }

    /// The process ids.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|it| it.pid()).collect()
    }

    /// Its name in a sentence: `redis-server (process 12)`.
    pub(super) fn name(&self) -> String {
        let program = self
            .command
            .first()
            .map_or("", |it| it.rsplit('/').next().unwrap_or(it));
        match (&self.cgroup, self.pids().as_slice()) {
            (Some(group), _) => format!("cgroup {}", plain(group)),
            (None, [pid]) => format!("{} (process {pid})", plain(program)),
            (None, _) => plain(program),
        }
    }
}

fn found(root: &Root, arguments: &Arguments) -> Result<(Vec<u32>, ProcessorTime)> {
    if let Some(name) = &arguments.cgroup {
        let pids = cgroup_name::processes(root, name)?;
        let group = cgroup_name::find(root, name)?;
        let cpu = match group.folder_of_time(root) {
            Some(folder) => ProcessorTime::Cgroup(folder),
            None => ProcessorTime::Processes(pids.clone()),
        };
        return Ok((pids, cpu));
    }
    let pid = arguments.pid.or(arguments.process).unwrap_or_default();
    Ok((vec![pid], ProcessorTime::Processes(vec![pid])))
}

/// The words of a command line. Programs may write a line of their own there, which is one word.
fn command(root: &Root, pid: u32) -> Vec<String> {
    let bytes = root.read(format!("proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<String> = text.split('\0').map(|it| it.trim().to_owned()).collect();
    let words: Vec<String> = words.into_iter().filter(|it| !it.is_empty()).collect();
    match words.as_slice() {
        [] => vec![read_command_line(root, pid)],
        [line] => line.split_whitespace().map(str::to_owned).collect(),
        _ => words,
    }
}

fn refused(unusable: &Unusable) -> anyhow::Error {
    match unusable {
        Unusable::NoProcess { pid } => exit::no_process(*pid),
        other => exit::refused(other),
    }
}
