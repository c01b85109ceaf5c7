//! The target of `faults`: a command that it starts, or a running process.

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_experiment::run::policy::realise::Reach;
use hugewise_linux::machine::error::{Error, Kind};
use hugewise_linux::machine::identity;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::faults::{LEAST_GRANT, TaskSet};
use hugewise_linux::proc::status::read_status;
use hugewise_linux::spawn::{self, AtExit, ExitRequest, Launch, StartResult, Suspended};

use super::Arguments;
use crate::experiment::file_cache;
use crate::experiment::plan::realise_one;
use crate::experiment::workload::Workload;
use crate::{cgroup_name, exit, invoker, program};

/// Starts the command, stopped right after its exec.
pub(super) fn start(arguments: &Arguments, host: &Host) -> Result<Suspended> {
    program::check_observed(&arguments.command)?;
    let launch = launch(arguments, host)?;
    match spawn::start(&launch, &ExitRequest::default())? {
        StartResult::Suspended(suspended) => Ok(suspended),
        StartResult::NotStarted(sentence) => Err(exit::trial_failed(sentence)),
    }
}

fn launch(arguments: &Arguments, host: &Host) -> Result<Launch> {
    let mut launch = Launch {
        identity: invoker::identity()?,
        stdin: arguments.stdin.clone(),
        output: if arguments.output.quiet {
            spawn::Output::Discard
        } else {
            spawn::Output::Show
        },
        // The memory is not read at exit, and a tracer would cost time.
        at_exit: AtExit::Pass,
        ..Launch::new(arguments.command.clone())
    };
    if let Some(policy) = &arguments.policy {
        let workload = Workload::alone(launch.command, policy);
        workload.check(std::slice::from_ref(policy))?;
        launch.command = workload.under(&policy.settings);
        launch = launch.under(&realise_one(host, policy, Reach::Process)?);
        file_cache::prepare_once(policy, host)?;
    }
    Ok(launch)
}

/// The running threads of a process and its children, or of a cgroup.
pub(super) fn running(arguments: &Arguments, root: &Root) -> Result<Option<TaskSet>> {
    if let Some(path) = &arguments.cgroup {
        let pids = cgroup_name::processes(root, path)?;
        return Ok(Some(TaskSet::of_all(root, pids)));
    }
    let crowd = arguments.pid.map(|pid| {
        TaskSet::of(root, pid).map_err(|error| match error.kind {
            Kind::NotFound => exit::no_process(pid),
            _ => error.into(),
        })
    });
    crowd.transpose()
}

/// Describes the target.
pub(super) fn subject(arguments: &Arguments) -> String {
    if let Some(pid) = arguments.pid {
        return format!("process {pid}");
    }
    if let Some(path) = &arguments.cgroup {
        return format!("cgroup {path}");
    }
    let words = arguments.command.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Adds advice for the user to a permission error.
pub(super) fn advised(error: Error, pid: Option<u32>) -> anyhow::Error {
    let gone = error
        .source
        .as_ref()
        .is_some_and(|source| source.raw_os_error() == Some(NO_SUCH_PROCESS));
    match (error.kind.clone(), pid) {
        (_, Some(pid)) if gone => exit::usage(format!("process {pid} has ended")),
        (Kind::NotPermitted, Some(pid)) if is_of_another_user(pid) => exit::refused(format!(
            "process {pid} is another user's, and watching it needs CAP_PERFMON: \
             sudo hugewise faults -p {pid}"
        )),
        (Kind::NotPermitted, _) => exit::refused(format!("{error}; needs {LEAST_GRANT}")),
        (Kind::NotFound, _) => exit::refused(format!("{error}; this kernel has no perf events")),
        _ => anyhow::Error::from(error).context("nothing was watched"),
    }
}

fn is_of_another_user(pid: u32) -> bool {
    let status = read_status(&Root::real(), pid);
    status.is_ok_and(|status| status.uid != identity::effective_uid())
}

/// `ESRCH`, the same on every architecture.
const NO_SUCH_PROCESS: i32 = 3;
