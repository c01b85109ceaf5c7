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
use super::{Launch, wire::fault};
use crate::machine::descriptors::give_back;
use crate::machine::error::Result;

/// Runs a workload with our own standard streams, without measuring, and waits for it.
///
/// This is for a policy whose settings must be put back afterwards; where nothing has to be
/// put back, [`super::exec`] is better, because then nobody stands in between. `signal` is asked
/// all the time for a signal that is to be passed on.
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

/// Has the child set its memory nodes and the switch of huge pages, and join its cgroup, which goes
/// with what is returned.
fn settle(command: &mut Command, launch: &Launch) -> Result<Option<Cgroup>> {
    let refused = |what: String| fault("starting the command", what);
    let (plan, cgroup) = cgroup::make(launch.group).map_err(refused)?.unzip();
    let door = plan.as_ref().map(CgroupPlan::door).transpose();
    let mut door = door.map_err(refused)?;
    let (prctl, nodes) = (launch.prctl, launch.numa.as_ref().map(Nodes::of));
    let enter = move || {
        if let Some(door) = &mut door {
            door.write_all(b"0")?;
        }
        let nodes = nodes.as_ref().map_or(0, Nodes::set);
        match (nodes, set_thp(prctl)) {
            (0, 0) => Ok(()),
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
            // SAFETY: the child is not reaped yet, so the number is still its own.
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
