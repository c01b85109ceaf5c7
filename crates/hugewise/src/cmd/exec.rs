//! `hugewise exec`: runs a command under one policy, without measuring.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use hugewise_linux::root::Root;
use hugewise_linux::spawn::{self, Launch};
use hugewise_model::run::policy::realise::{Reach, Realisation, realise};
use hugewise_model::run::policy::{Policy, environment};
use hugewise_model::run::trial::Outcome;

use crate::interrupt::Relay;
use crate::say::say;
use crate::{command, exit, invoker, places, runtimes};

/// Flags of `exec`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes:  that of the command; 128+N if signal N ended it; 126 if it cannot be\n\
                  \x20            executed, 127 if it does not exist; 4 if this machine cannot apply\n\
                  \x20            the policy"
)]
pub struct Arguments {
    /// The policy, as in `run`
    #[arg(long, value_name = "POLICY", default_value = "as-is")]
    policy: Policy,

    /// Allow a policy to change machine-wide settings while the command runs; they are restored after
    #[arg(long)]
    system: bool,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the verb. It exits with the status of the command, or 128 and the number of its signal.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let policies = std::slice::from_ref(&arguments.policy);
    runtimes::check_placeholders(&arguments.command, policies)?;
    let root = Root::real();
    let host = places::host(&root)?;
    let reach = if arguments.system {
        Reach::System
    } else {
        Reach::Process
    };
    let realisation = realise(&arguments.policy, &host, reach).map_err(|obstacles| {
        let obstacles: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
        exit::refused(obstacles.join("\n"))
    })?;
    let launch = launch(arguments, &realisation)?;
    if !command::exists(launch.program()) {
        let name = launch.program().to_string_lossy();
        say(format_args!("there is no program `{name}`"));
        return Ok(ExitCode::from(NOT_FOUND));
    }
    if realisation.files.is_empty() {
        say(spawn::exec(&launch));
        return Ok(ExitCode::from(NOT_EXECUTABLE));
    }
    while_applied(&root, &realisation, &launch)
}

/// The exit codes of env(1) and of shells for a command that could not be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Machine-wide settings last as long as the command: this process waits and restores them.
fn while_applied(root: &Root, realisation: &Realisation, launch: &Launch) -> Result<ExitCode> {
    let hold = places::hold()?;
    let relay = Relay::catch()?;
    let mut machine = places::begin(root, hold, &[realisation])?;
    let outcome = {
        let _applied = machine.apply(realisation)?;
        spawn::run_plain(launch, || relay.next())
    };
    for left in machine.finish()? {
        say(left);
    }
    Ok(match outcome {
        Err(error) => {
            say(error);
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

fn launch(arguments: &Arguments, realisation: &Realisation) -> Result<Launch> {
    Ok(Launch {
        environment: environment(&realisation.environment, |name| std::env::var(name).ok()),
        prctl: realisation.prctl,
        identity: invoker::identity()?,
        ..Launch::new(runtimes::filled(
            arguments.command.clone(),
            &arguments.policy.settings,
        ))
    })
}
