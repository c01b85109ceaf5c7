//! `hugewise exec`: run a command under one policy, without measuring.

mod code;
#[cfg(feature = "attribute")]
mod sites;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_experiment::run::policy::realise::{Reach, Realisation};
use hugewise_experiment::run::policy::{Policy, left_to_chance};
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::apply::executable::read_executable;
use hugewise_linux::machine;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::{Purpose, Turn};
use hugewise_linux::spawn::{self, Launch};

use crate::experiment::plan::realise_one;
use crate::experiment::predicted_drops::cannot_preload;
use crate::experiment::workload::Workload;
use crate::experiment::{file_cache, own_mount};
use crate::interrupt::Relay;
use crate::stderr::message;
use crate::turn::{self, Wait};
use crate::{exit, invoker, paths, program};

/// How each kind of policy is kept active.
const LASTING: &str = "\
The policy holds for this command alone, and with --system while it runs. To last:
  malloc=, env.NAME, options of a      put the variable or the option where the
    runtime (java.…, go.…), args=      command starts
  thp=never, thp=madvise               of a service: MemoryTHP=disable or madvise in
                                       its unit (systemd 260)
  collapse=, text=, sites=, file=,     start the command by `hugewise exec`
    and thp=always without root
  tmpfs=PATH:MODE                      mount option huge=MODE of PATH, in /etc/fstab
  a setting of the machine, FILE       as root, until reboot: echo VALUE > FILE; for good
                                       a line of /etc/tmpfiles.d/hugewise.conf:
                                       w FILE - - - - VALUE
`hugewise run --system --dry-run` names FILE and VALUE; `hugewise advise --write DIR`
writes such files.";

/// How long each kind of policy lasts.
const ENDINGS: &str = "\
With thp=always by a tracer, hugewise traces the command to its end: if hugewise
is killed, so is the command. With collapse=after:TIME it only waits once TIME
is over: if it is killed then, the command goes on.

Exit codes:  that of the command; 128 + N if signal N ended it; 126 if it could
             not be run, 127 if there is none; 4 if the policy is not possible
             on this machine, 6 if another experiment has it";

/// Flags of `exec`.
#[derive(Debug, Args)]
#[command(after_help = ENDINGS, after_long_help = format!("{LASTING}\n\n{ENDINGS}"))]
pub struct Arguments {
    /// Policy to run under, as in `run`
    #[arg(long, value_name = "POLICY", default_value = "as-is")]
    policy: Policy,

    /// Make the sites of FILE huge, which `attribute --sites` wrote
    #[cfg(feature = "attribute")]
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    sites: Option<std::path::PathBuf>,

    /// Allow a policy that changes system settings while the command runs
    #[arg(long)]
    system: bool,

    /// Wait for another experiment: at most TIME, or no
    #[arg(long, hide_short_help = true, value_name = "TIME|no")]
    wait: Option<Wait>,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the verb. Returns the command's own exit status, or 128 plus the signal number.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    #[cfg(feature = "attribute")]
    let arguments = sites::chosen(arguments)?;
    carry_out(&arguments)
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode> {
    let policies = std::slice::from_ref(&arguments.policy);
    workload(arguments).check(policies)?;
    let root = Root::real();
    let reach = if arguments.system {
        Reach::System
    } else {
        Reach::Process
    };
    let host = paths::host(&root)?;
    let realisation = realise_one(&host, &arguments.policy, reach)?;
    let launch = launch(arguments, &realisation)?;
    if !program::exists(launch.program()) {
        let name = launch.program().to_string_lossy();
        message(format_args!("there is no program `{name}`"));
        return Ok(ExitCode::from(NOT_FOUND));
    }
    own_mount::check_hidden_from(&arguments.policy, launch.program())?;
    file_cache::prepare_once(&arguments.policy, &host)?;
    paths::install_library(&realisation)?;
    match idle(&arguments.policy, &realisation, launch.program()) {
        Some(reason) => message(reason),
        None => warn(arguments, &realisation, &host),
    }
    code::make_huge(&host, &realisation, &launch)?;
    if realisation.files.is_empty() {
        if launch.is_traced() || !realisation.limits.is_none() {
            return exit_code(run_beside(&launch, &Relay::catch()?));
        }
        message(spawn::exec(&launch));
        return Ok(ExitCode::from(NOT_EXECUTABLE));
    }
    let (turn, realisation) = turn::take_with(Purpose::Change, arguments.wait, || {
        realise_one(&paths::host(&root)?, &arguments.policy, reach)
    })?;
    while_applied(&root, turn, &realisation, &launch)
}

/// Warns if the policy may not have the requested effect.
fn warn(arguments: &Arguments, realisation: &Realisation, host: &Host) {
    if let Some(doubt) = left_to_chance(&arguments.policy, host) {
        message(format_args!("{}: {doubt}", arguments.policy));
    }
    if arguments.system && !realisation.tracer.is_none() {
        message(format_args!(
            "--system needs root: {} is reached by tracing the program instead",
            arguments.policy
        ));
    }
}

/// Explains why a policy does nothing for a program, as far as its file shows.
fn idle(policy: &Policy, realisation: &Realisation, program: &OsStr) -> Option<String> {
    let file = read_executable(&program::file(program, None)?)?;
    let path = program.to_string_lossy();
    let why = cannot_preload(&file, realisation, &path);
    let why = why.or_else(|| file.cannot_obey(&policy.settings, &path))?;
    Some(format!("{policy} does nothing here: {why}"))
}

/// The exit codes of env(1) and of shells for a command that could not be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Applies machine-wide settings while the command runs; this process waits and restores them. Other experiments may
/// measure in that time, but not change settings.
fn while_applied(
    root: &Root,
    turn: Turn,
    realisation: &Realisation,
    launch: &Launch,
) -> Result<ExitCode> {
    let relay = Relay::catch()?;
    let mut machine = paths::begin(root, turn.settings, &[realisation])?;
    let outcome = {
        let _applied = machine.apply(realisation)?;
        drop(turn.measuring);
        run_beside(launch, &relay)
    };
    for left in machine.finish()? {
        message(left);
    }
    exit_code(outcome)
}

/// Runs the command as a child of this process, which forwards signals to it.
fn run_beside(launch: &Launch, relay: &Relay) -> machine::error::Result<Outcome> {
    if !launch.is_traced() {
        return spawn::run_plain(launch, || relay.next());
    }
    let (outcome, tracing) = spawn::run_traced(launch, || relay.next())?;
    for sentence in &tracing.beyond {
        message(sentence);
    }
    if tracing.clashes.iter().any(|it| it.is_about_tracing()) {
        message("without a tracer: --policy thp=always,means=preload");
    }
    Ok(outcome)
}

fn exit_code(outcome: machine::error::Result<Outcome>) -> Result<ExitCode> {
    Ok(match outcome {
        Err(error) => {
            message(error);
            ExitCode::from(NOT_EXECUTABLE)
        }
        Ok(outcome) => ended(outcome)?,
    })
}

fn ended(outcome: Outcome) -> Result<ExitCode> {
    Ok(match outcome {
        Outcome::Exited { code } => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Outcome::Signalled { signal } => {
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
        }
        other => return Err(exit::refused(other)),
    })
}

fn workload(arguments: &Arguments) -> Workload {
    Workload::alone(arguments.command.clone(), &arguments.policy)
}

fn launch(arguments: &Arguments, realisation: &Realisation) -> Result<Launch> {
    let command = workload(arguments).under(&arguments.policy.settings);
    let launch = Launch {
        identity: invoker::identity()?,
        ..Launch::new(command)
    };
    Ok(launch.under(realisation))
}
