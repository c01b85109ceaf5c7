use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use hugewise_experiment::run::trial::Outcome;

use super::cgroup::{self, Cgroup, CgroupPlan};
use super::hook::become_identity;
use super::placement::Nodes;
use super::thp_switch::set_thp;
use super::tmpfs::PrivateTmpfs;
use super::{Launch, wire::fault};
use crate::machine::descriptors::give_back;
use crate::machine::error::Result;

/// Runs a workload with the standard streams of this process, without measuring, and waits for it.
///
/// For a policy whose settings must be restored afterwards; otherwise [`super::exec`] is better, because then no
/// process remains in between. `signal` is polled for a signal to forward.
///
/// # Errors
/// It could not be started.
pub fn run_plain(launch: &Launch, signal: impl Fn() -> Option<i32>) -> Result<Outcome> {
    let program = launch.program();
    let starting = |error: io::Error| {
        fault(
            "starting",
            format!("`{}`: {error}", program.to_string_lossy()),
        )
    };
    let mut command = Command::new(program);
    command
        .args(launch.command.iter().skip(1))
        .envs(launch.environment.iter().cloned());
    if let Some(directory) = &launch.directory {
        command.current_dir(directory);
    }
    give_back(&mut command);
    let _cgroup = settle(&mut command, launch)?;
    if let Some(identity) = &launch.identity {
        become_identity(&mut command, identity);
    }
    let mut child = command.spawn().map_err(starting)?;
    Ok(outcome(wait(&mut child, signal).map_err(starting)?))
}

/// Makes the child set its memory nodes and its THP switch, mount its tmpfs, and join its cgroup, which is removed when the returned
/// value is dropped.
fn settle(command: &mut Command, launch: &Launch) -> Result<Option<Cgroup>> {
    let refused = |what: String| fault("starting the command", what);
    let (plan, cgroup) = cgroup::make(launch.group).map_err(refused)?.unzip();
    let door = plan.as_ref().map(CgroupPlan::door).transpose();
    let mut door = door.map_err(refused)?;
    let (prctl, nodes) = (launch.prctl, launch.numa.as_ref().map(Nodes::of));
    let tmpfs = launch.tmpfs.as_ref().map(PrivateTmpfs::prepare);
    let tmpfs = tmpfs.transpose().map_err(refused)?;
    let enter = move || {
        if let Some(door) = &mut door {
            door.write_all(b"0")?;
        }
        let nodes = nodes.as_ref().map_or(0, Nodes::set);
        let mounted = || tmpfs.as_ref().map_or(0, PrivateTmpfs::enter);
        match (nodes, set_thp(prctl)) {
            (0, 0) if mounted() == 0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure allocates nothing and makes system calls only.
    unsafe { command.pre_exec(enter) };
    Ok(cgroup)
}

fn wait(child: &mut Child, signal: impl Fn() -> Option<i32>) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Some(signal) = signal()
            && let Ok(pid) = i32::try_from(child.id())
        {
            // SAFETY: the child is not reaped yet, so its PID cannot have been reused.
            unsafe { libc::kill(pid, signal) };
        }
        thread::sleep(Duration::from_millis(10));
    }
}

pub(super) fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Signalled {
            signal: signal.unwrap_or(0),
        },
    }
}
