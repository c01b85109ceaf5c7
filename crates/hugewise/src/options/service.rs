//! `--service`: a server in the place of a command that ends.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hugewise_linux::root::Root;
use hugewise_linux::sys::cpu;
use hugewise_model::plan::service::{CommandLine, Service};

use super::{Options, Processors, Switch};
use crate::{exit, program};

const READY_TIMEOUT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(10);

impl Options {
    /// The options with the server in the place of the command, where there is one.
    ///
    /// # Errors
    ///
    /// A command beside a server, or what only a server could have.
    pub fn complete(mut self) -> Result<Self> {
        let Some(service) = self.service.clone() else {
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

    /// Refuses what only a server could have.
    fn without_service(self) -> Result<Self> {
        let given = [
            ("--ready", self.ready.is_some()),
            ("--load", self.load.is_some()),
            ("--warm-up-load", self.warm_up_load.is_some()),
            ("--ready-timeout", self.ready_timeout.is_some()),
            ("--load-policy", self.load_policy.is_some()),
            ("--stop-signal", self.stop_signal.is_some()),
            ("--stop-command", self.stop_command.is_some()),
            ("--grace", self.grace.is_some()),
            ("--service-cpus", self.service_cpus.is_some()),
            ("--load-cpus", self.load_cpus.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(self),
            Some((flag, _)) => Err(exit::usage(format!(
                "{flag} needs --service LINE instead of a command"
            ))),
        }
    }

    /// How the server is driven, where there is one.
    pub fn driven(&self) -> Result<Option<Service>> {
        if self.service.is_none() {
            return Ok(None);
        }
        let Some(ready) = self.ready.clone() else {
            return Err(exit::usage(
                "--service needs --ready, to know when the load may begin: for example --ready \
                 tcp:{port}, with {port} in the server's line too",
            ));
        };
        let Some(load) = self.load.clone() else {
            return Err(exit::usage(
                "--service needs --load, a command that sends it requests and ends",
            ));
        };
        self.check_service()?;
        Ok(Some(Service {
            ready,
            ready_timeout: self.ready_timeout.unwrap_or(READY_TIMEOUT),
            warm_up_load: self.warm_up_load.clone(),
            load,
            load_policy: self.load_policy.map(Into::into).unwrap_or_default(),
            stop_signal: self.stop_signal.unwrap_or_default(),
            stop_command: self.stop_command.clone(),
            grace: self.grace.unwrap_or(GRACE),
            service_cpus: checked("--service-cpus", self.service_cpus.as_ref())?,
            load_cpus: checked("--load-cpus", self.load_cpus.as_ref())?,
        }))
    }

    /// The words that are executed: the command, or a shell with its line.
    pub fn words(&self) -> Vec<OsString> {
        let shell = ["/bin/sh", "-c"].map(OsString::from);
        let shell = shell.into_iter().filter(|_| self.shell);
        shell.chain(self.command.iter().cloned()).collect()
    }

    /// Whether a line of the user's own comes before the trials, and may make what they run.
    pub fn makes_programs(&self) -> bool {
        self.setup.is_some() || self.prepare.is_some()
    }

    /// Whether the shell finds it, as far as can be known beforehand.
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

    /// Refuses what would fail in every trial.
    fn check_service(&self) -> Result<()> {
        let lines = [
            ("--service", self.service.as_ref()),
            ("--load", self.load.as_ref()),
            ("--warm-up-load", self.warm_up_load.as_ref()),
            ("--stop-command", self.stop_command.as_ref()),
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
        if self.ready_timeout == Some(Duration::ZERO) {
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

/// Words that a shell knows by itself, though no file has their name.
const OF_THE_SHELL: [&str; 12] = [
    "true", "false", "test", "[", "echo", "printf", "kill", "wait", "read", "command", "times",
    "type",
];

/// Processors that are there.
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
