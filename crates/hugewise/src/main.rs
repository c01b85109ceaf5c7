//! hugewise: do huge pages and prefaulting help a program on this machine or hurt it, by how
//! much, at what risk, why, and what should be set?

mod cli;
mod cmd;
mod command;
mod exit;
mod experiment;
mod interrupt;
mod invoker;
mod output;
mod places;
mod progress;
mod recorder;
mod rounds;
mod say;

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use crate::cli::{Cli, Verb};
use crate::exit::Exit;
use crate::say::{chain, say};

fn main() -> ExitCode {
    // The keeper is this same program in a process of its own; it must stay small, so nothing
    // may come before it.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == "__keep")
    {
        return hugewise_linux::spawn::keeper_main();
    }
    ask_for_reports_of_panics();
    let cli = Cli::parse();
    match dispatch(cli.verb) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            say(chain(&error));
            exit::of(&error).into()
        }
    }
}

fn dispatch(verb: Verb) -> Result<ExitCode> {
    let exit = match verb {
        Verb::Run(arguments) => cmd::run::run(*arguments)?,
        Verb::Report(arguments) => cmd::report::run(&arguments)?,
        Verb::Exec(arguments) => return cmd::exec::run(&arguments),
        Verb::Doctor(arguments) => cmd::doctor::run(&arguments)?,
        Verb::Man => {
            clap_mangen::Man::new(Cli::command()).render(&mut io::stdout())?;
            Exit::Done
        }
        Verb::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "hugewise", &mut io::stdout());
            Exit::Done
        }
    };
    Ok(exit.into())
}

/// A reader that has seen enough is no failure of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// A panic is a mistake of this program: guards put the machine back while it unwinds, and the
/// user is asked to tell us.
fn ask_for_reports_of_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        usual(info);
        say("this is a mistake in hugewise itself; please report it with the lines above");
    }));
}
