//! Reads the main process while it is stopped at its end.

use std::collections::BTreeMap;
use std::fs::File;
use std::thread;
use std::time::Duration;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Process;
use serde::{Deserialize, Serialize};

use super::folios::{self, PageSizes};
use super::page_scan;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::process::{read_advice, read_process};
use crate::proc::smaps_rollup::{Rollup, read_smaps_rollup};
use crate::proc::status::{Status, read_status};
use crate::sys::thp::read_pmd_bytes;

/// Optional readings of the main process at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct ExitRequest {
    /// Page sizes, if its anonymous memory is to be counted by folio size.
    pub folios: Option<PageSizes>,
}

/// The main process at its end.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ExitReading {
    /// `smaps_rollup`.
    pub rollup: Result<Rollup, Missing>,
    /// `VmHWM`: its largest resident set since exec.
    pub peak_rss_bytes: Result<u64, Missing>,
    /// True if it had waited for children; unknown counts as true.
    pub had_children: bool,
    /// Address space that maps the huge zero page.
    pub huge_zero_bytes: Result<u64, Missing>,
    /// Executable memory mapped by PMDs.
    pub huge_code_bytes: Result<u64, Missing>,
    /// Anonymous memory by folio size in KiB, without memory mapped by a PMD.
    pub folio_bytes: Result<BTreeMap<u64, u64>, Missing>,
    /// Its program, libraries and advice.
    pub process: Option<Process>,
}

/// The first thread ended before the others: its mappings at that time differ from those at the end of the process.
pub(super) fn left_early() -> Missing {
    Missing::NotSupported {
        what: "the end of a process whose first thread ends before the others".to_owned(),
    }
}

/// Reads a running process from outside, as it would be read at its end.
///
/// # Errors
/// It has ended or may not be read.
pub fn read_living(pid: u32, question: &ExitRequest) -> Result<ExitReading, Missing> {
    let status = status_of(&Root::real(), pid)?;
    Ok(read_with(pid, &status, question))
}

/// Reads a process stopped at its end.
///
/// # Errors
/// Only the first thread is ending.
pub(super) fn read_exit(pid: u32, question: &ExitRequest) -> Result<ExitReading, Missing> {
    let root = Root::real();
    let status = last_thread_status(&root, pid)?;
    Ok(read_with(pid, &status, question))
}

fn read_with(pid: u32, status: &Status, question: &ExitRequest) -> ExitReading {
    let root = Root::real();
    let maps = root.read(format!("proc/{pid}/maps")).unwrap_or_default();
    let pagemap = page_scan::open(pid);
    let scan = |question: &dyn Fn(&File) -> Result<u64, Missing>| match &pagemap {
        Ok(pagemap) => question(pagemap),
        Err(missing) => Err(missing.clone()),
    };
    let rollup =
        read_smaps_rollup(&root, pid).map_err(|error| error.into_missing("CAP_SYS_PTRACE"));
    ExitReading {
        peak_rss_bytes: status.peak_rss_bytes.ok_or(Missing::TooShort),
        had_children: read_pid_stat(&root, pid).map_or(true, |stat| stat.children.minor_faults > 0),
        huge_zero_bytes: scan(&|pagemap| page_scan::huge_zero_bytes(pagemap, &maps)),
        huge_code_bytes: scan(&|pagemap| huge_code_bytes(&root, pid, pagemap)),
        folio_bytes: match (question.folios, &pagemap) {
            (None, _) => Err(Missing::NotAsked),
            (Some(_), Err(missing)) => Err(missing.clone()),
            (Some(sizes), Ok(pagemap)) => folios::count(pagemap, &maps, sizes),
        },
        process: process(&root, pid, &rollup),
        rollup,
    }
}

fn huge_code_bytes(root: &Root, pid: u32, pagemap: &File) -> Result<u64, Missing> {
    const RUN: u32 = 4;
    let mappings = maps::read(root, pid).into_iter();
    let code = mappings.filter(|it| it.protection & RUN != 0 && it.name != "[vsyscall]");
    let counts = code.map(|it| page_scan::huge_bytes(pagemap, it.start..it.end));
    counts.sum()
}

fn status_of(root: &Root, pid: u32) -> Result<Status, Missing> {
    read_status(root, pid).map_err(|error| error.into_missing("CAP_SYS_PTRACE"))
}

/// Returns the status when no other thread is left. In exit_group(2) the other threads are being killed and disappear
/// within a moment. They remain if only the first thread exits, or if another thread calls exec.
fn last_thread_status(root: &Root, pid: u32) -> Result<Status, Missing> {
    for _ in 0..20 {
        let status = status_of(root, pid)?;
        if status.threads <= 1 {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(left_early())
}

/// Reads the identity of the process, and its advice.
fn process(root: &Root, pid: u32, rollup: &Result<Rollup, Missing>) -> Option<Process> {
    let anon_bytes = rollup.as_ref().map_or(0, |rollup| rollup.anon_bytes);
    let process = read_process(root, pid, anon_bytes)?;
    Some(Process {
        advice: read_advice(root, pid, read_pmd_bytes(root).ok()),
        ..process
    })
}
