//! `--service`: a server instead of a command that ends.

use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::units::parse_duration;
use hugewise_experiment::run::plan::service::{
    CommandLine, Interleave, Obstacle, Ready, Service, StopSignal, Windows,
};
use hugewise_experiment::run::policy::{Policy, Text};
use hugewise_linux::machine::root::Root;
use hugewise_linux::sys::cpu;

use super::parse::parse_command_line;
use super::{InterleaveChoice, LoadUnder, Options, Processors, SERVER, Switch};
use crate::{exit, program};

const READY_TIMEOUT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(10);
/// Rounds per server start: enough for the start to cost little, few enough for several starts in an experiment.
const ROUNDS_PER_START: u32 = 2;

/// Flags of a server under load.
#[derive(Clone, Debug, Default, Args)]
pub struct ServerOptions {
    /// Server to measure instead of a command (shell line)
    ///
    /// It is started under each policy, and loaded by --load once it is --ready. Its process tree is measured, but only
    /// while the load runs. In its line and those of the load, {port} is a free port and {dir} a temporary folder,
    /// different for each started server. --interleave sets whether it runs for one trial or for several.
    #[arg(long, value_name = "LINE", value_parser = parse_command_line, help_heading = SERVER)]
    pub service: Option<CommandLine>,

    /// When it is ready: tcp:PORT, http://…, log:REGEX, …
    ///
    /// `tcp:[HOST:]PORT` accepts a connection; http://HOST:PORT/PATH answers with a status from 200
    /// to 399; log:REGEX matches what the server printed; exec:LINE succeeds, and is repeated until
    /// it does. PORT may be {port}.
    #[arg(long, value_name = "HOW", help_heading = SERVER)]
    pub ready: Option<Ready>,

    /// Load generator; the trial lasts as long as it runs
    #[arg(long, value_name = "LINE", value_parser = parse_command_line, help_heading = SERVER)]
    pub load: Option<CommandLine>,

    /// Load generator to run first, not measured
    #[arg(long, hide_short_help = true, value_name = "LINE", value_parser = parse_command_line, help_heading = SERVER)]
    pub warm_up_load: Option<CommandLine>,

    /// Time for the server to become ready [default: 60s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = parse_duration, help_heading = SERVER)]
    pub ready_timeout: Option<Duration>,

    /// Policy of the load: none, same [default: none]
    ///
    /// With `none` only the server runs under the policy; system settings apply to both.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHICH", help_heading = SERVER)]
    pub load_policy: Option<LoadUnder>,

    /// Signal that stops the server [default: SIGTERM]
    #[arg(long, hide_short_help = true, value_name = "SIGNAL", help_heading = SERVER)]
    pub stop_signal: Option<StopSignal>,

    /// Command that stops the server (instead of a signal)
    #[arg(long, hide_short_help = true, value_name = "LINE", value_parser = parse_command_line, help_heading = SERVER)]
    pub stop_command: Option<CommandLine>,

    /// Time for the server to stop before it is killed [default: 10s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = parse_duration, help_heading = SERVER)]
    pub grace: Option<Duration>,

    /// Keep the servers of all policies running: auto, yes, no [default: auto]
    ///
    /// Each server is started once for several rounds (--rounds-per-start), and each trial is one run of --load against
    /// one of them while the others idle. `auto` does so if {port} or {dir} is in the lines of the server and its load,
    /// and the servers take no more than 60 % of the available memory. With `no` each trial starts and stops its
    /// server.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHEN", help_heading = SERVER)]
    pub interleave: Option<InterleaveChoice>,

    /// Restart all servers after N rounds [default: 2]
    #[arg(long, hide_short_help = true, value_name = "N", help_heading = SERVER)]
    pub rounds_per_start: Option<NonZeroU32>,

    /// CPUs of the server, e.g. 0-3,8
    #[arg(long, hide_short_help = true, value_name = "LIST", help_heading = SERVER)]
    pub service_cpus: Option<Processors>,

    /// CPUs of the load, e.g. 4-7
    #[arg(long, hide_short_help = true, value_name = "LIST", help_heading = SERVER)]
    pub load_cpus: Option<Processors>,
}

impl Options {
    /// Completes the options with their preset, and makes the server of `--service` the command.
    ///
    /// # Errors
    ///
    /// There is a command as well as a server, or a flag needs a server.
    pub fn complete(self) -> Result<Self> {
        self.preset().with_service()
    }

    fn with_service(mut self) -> Result<Self> {
        let Some(service) = self.server.service.clone() else {
            return self.without_service();
        };
        if !self.command.is_empty() {
            return Err(exit::usage(
                "--service is the command: leave out what follows, or leave out --service",
            ));
        }
        (self.shell, self.command) = match service {
            CommandLine::Line(line) => (true, vec![line.into()]),
            CommandLine::Words(words) => (false, words.into_iter().map(Into::into).collect()),
        };
        Ok(self)
    }

    /// Refuses flags that need a server.
    fn without_service(self) -> Result<Self> {
        let given = [
            ("--ready", self.server.ready.is_some()),
            ("--load", self.server.load.is_some()),
            ("--warm-up-load", self.server.warm_up_load.is_some()),
            ("--ready-timeout", self.server.ready_timeout.is_some()),
            ("--load-policy", self.server.load_policy.is_some()),
            ("--stop-signal", self.server.stop_signal.is_some()),
            ("--stop-command", self.server.stop_command.is_some()),
            ("--grace", self.server.grace.is_some()),
            ("--service-cpus", self.server.service_cpus.is_some()),
            ("--load-cpus", self.server.load_cpus.is_some()),
            ("--interleave", self.server.interleave.is_some()),
            ("--rounds-per-start", self.server.rounds_per_start.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(self),
            Some((flag, _)) => Err(exit::usage(format!(
                "{flag} needs --service LINE instead of a command"
            ))),
        }
    }

    /// How to drive the server, if there is one.
    pub fn driven(&self, policies: &[Policy]) -> Result<Option<Service>> {
        let Some(server) = &self.server.service else {
            return Ok(None);
        };
        let Some(ready) = self.server.ready.clone() else {
            return Err(exit::usage(
                "--service needs --ready, to know when the load may begin: for example --ready \
                 tcp:{port}, with {port} in the server's line too",
            ));
        };
        let Some(load) = self.server.load.clone() else {
            return Err(exit::usage(
                "--service needs --load, a command that sends it requests and ends",
            ));
        };
        self.check_service()?;
        let service = Service {
            ready,
            ready_timeout: self.server.ready_timeout.unwrap_or(READY_TIMEOUT),
            warm_up_load: self.server.warm_up_load.clone(),
            load,
            load_policy: self.server.load_policy.map(Into::into).unwrap_or_default(),
            stop_signal: self.server.stop_signal.unwrap_or_default(),
            stop_command: self.server.stop_command.clone(),
            grace: self.server.grace.unwrap_or(GRACE),
            service_cpus: checked("--service-cpus", self.server.service_cpus.as_ref())?,
            load_cpus: checked("--load-cpus", self.server.load_cpus.as_ref())?,
            interleave: Interleave::No,
        };
        let interleave = self.interleave(&service, server, policies)?;
        Ok(Some(Service {
            interleave,
            ..service
        }))
    }

    /// Decides whether the servers of all policies run at the same time.
    fn interleave(
        &self,
        service: &Service,
        server: &CommandLine,
        policies: &[Policy],
    ) -> Result<Interleave> {
        let choice = self.server.interleave.unwrap_or(InterleaveChoice::Auto);
        let hooks = self.prepare.is_some() || self.conclude.is_some() || self.fragment.is_some();
        let rounds = self.server.rounds_per_start.map(NonZeroU32::get);
        let windows = Windows {
            rounds_per_start: rounds.unwrap_or(ROUNDS_PER_START),
            required: choice == InterleaveChoice::Yes,
        };
        let of_policies = policies.iter().find_map(hindrance);
        let obstacle = service
            .obstacle(server, policies.len(), hooks)
            .or(of_policies);
        match (choice, obstacle) {
            (InterleaveChoice::No, _) => Ok(Interleave::No),
            (InterleaveChoice::Yes, Some(obstacle)) => {
                Err(exit::usage(format!("--interleave yes: {obstacle}")))
            }
            (InterleaveChoice::Auto, Some(obstacle)) => Ok(Interleave::Hindered(obstacle)),
            (_, None) => Ok(Interleave::Windows(windows)),
        }
    }

    /// Returns true if a command of the user runs before the trials and may create the program.
    pub fn makes_programs(&self) -> bool {
        self.setup.is_some() || self.prepare.is_some()
    }

    /// Returns true if the shell can find the program, as far as can be checked in advance.
    fn is_there(&self, program: &str) -> bool {
        let at = self
            .directory
            .as_deref()
            .unwrap_or(Path::new(""))
            .join(program);
        let path = if program.contains('/') {
            at.as_os_str()
        } else {
            OsStr::new(program)
        };
        self.makes_programs() || OF_THE_SHELL.contains(&program) || program::exists(path)
    }

    /// Refuses settings that would fail in every trial.
    fn check_service(&self) -> Result<()> {
        let lines = [
            ("--service", self.server.service.as_ref()),
            ("--load", self.server.load.as_ref()),
            ("--warm-up-load", self.server.warm_up_load.as_ref()),
            ("--stop-command", self.server.stop_command.as_ref()),
        ];
        let empty = |line: &Option<&CommandLine>| line.is_some_and(CommandLine::is_empty);
        if let Some((flag, _)) = lines.iter().find(|(_, line)| empty(line)) {
            return Err(exit::usage(format!("{flag} is empty; write a command")));
        }
        for (flag, line) in lines {
            let program = line.and_then(CommandLine::program);
            if let Some(program) = program.filter(|it| !self.is_there(it)) {
                return Err(exit::usage(format!(
                    "{flag}: there is no program `{program}`"
                )));
            }
        }
        if self.server.ready_timeout == Some(Duration::ZERO) {
            return Err(exit::usage(
                "--ready-timeout 0 is too short; leave it out for 60s",
            ));
        }
        if self.exit_hold == Some(Switch::On) {
            return Err(exit::usage(
                "--exit-hold on needs a command; the memory of a server is read while the load \
                 runs",
            ));
        }
        Ok(())
    }
}

/// Words that are builtins of the shell even if no file has their name.
const OF_THE_SHELL: [&str; 12] = [
    "true", "false", "test", "[", "echo", "printf", "kill", "wait", "read", "command", "times",
    "type",
];

/// Checks that the requested processors are online.
fn checked(flag: &str, asked: Option<&Processors>) -> Result<Option<Vec<u32>>> {
    let Some(Processors(asked)) = asked else {
        return Ok(None);
    };
    let online = cpu::read_online_members(&Root::real())?;
    match asked.iter().find(|number| !online.contains(number)) {
        Some(number) if !online.is_empty() => Err(exit::usage(format!(
            "{flag}: CPU {number} is not online; {} are",
            online.len()
        ))),
        _ => Ok(Some(asked.clone())),
    }
}

/// Returns what about a policy prevents servers of all policies at once.
fn hindrance(policy: &Policy) -> Option<Obstacle> {
    let settings = &policy.settings;
    if !settings.hugetlb.is_empty() {
        return Some(Obstacle::Pool);
    }
    let sets_files = settings.text == Some(Text::File) || settings.file.is_some();
    sets_files.then_some(Obstacle::PageCache)
}
