//! hugewise: do huge pages and prefaulting help a program on this machine or hurt it, by how
//! much, at what risk, why, and what should be set?

mod cgroup_name;
mod cli;
mod cmd;
mod collapse_facts;
mod exit;
mod experiment;
mod file;
#[cfg(feature = "http")]
mod http;
mod interrupt;
mod invoker;
mod left_over;
mod options;
mod output;
mod paths;
mod process_name;
mod program;
mod recording;
mod stderr;
mod target;
mod turn;
mod verified;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

use crate::cli::Verb;
use crate::exit::Exit;
use crate::stderr::{chain, message, message_lines};
use anyhow::Result;
use hugewise_base::parquet;
use hugewise_linux::apply::first_touch::{TOUCHER_WORD, toucher_main};
#[cfg(feature = "live")]
use hugewise_linux::live;
use hugewise_linux::machine::descriptors;
use hugewise_linux::spawn::{KEEPER_WORD, keeper_main};
use hugewise_linux::undo::{GUARDIAN_WORD, guardian_main};

fn main() -> ExitCode {
    // The keeper, the guardian and the memory toucher are this same program in other processes. The keeper must stay
    // small, so nothing may run before it.
    let first = std::env::args_os().nth(1);
    match first.as_deref().and_then(OsStr::to_str) {
        Some(KEEPER_WORD) => return keeper_main(),
        Some(TOUCHER_WORD) => return toucher_main(),
        Some(GUARDIAN_WORD) => return guardian_main(),
        #[cfg(feature = "live")]
        Some(live::KEEPER_WORD) => return live::keeper_main(),
        _ => {}
    }
    ask_for_reports_of_panics();
    descriptors::raise();
    match cli::parse(std::env::args_os().collect()).and_then(|cli| dispatch(cli.verb)) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            message_lines(chain(&error));
            exit::of(&error).into()
        }
    }
}

fn dispatch(verb: Verb) -> Result<ExitCode> {
    // Quiet verbs print no result of their own, or only on request. For the others a closed stdout would waste the
    // measurement.
    if !verb.is_quiet() {
        output::check_stdout()?;
    }
    let exit = match verb {
        Verb::Run(arguments) => cmd::run::run(*arguments)?,
        Verb::History(arguments) => cmd::history::run(&arguments)?,
        #[cfg(feature = "live")]
        Verb::Live(arguments) => cmd::live::run(&arguments)?,
        #[cfg(feature = "bench")]
        Verb::Bench(arguments) => cmd::bench::run(&arguments)?,
        Verb::Report(arguments) => cmd::report::run(&arguments)?,
        Verb::Stat(arguments) => cmd::stat::run(&arguments)?,
        #[cfg(feature = "tlb")]
        Verb::Misses(arguments) => cmd::misses::run(&arguments)?,
        #[cfg(feature = "tlb")]
        Verb::Simulate(arguments) => cmd::simulate::run(&arguments)?,
        Verb::Trace(arguments) => cmd::trace::run(&arguments)?,
        Verb::Inspect(arguments) => cmd::inspect::run(&arguments)?,
        Verb::Faults(arguments) => cmd::faults::run(&arguments)?,
        #[cfg(feature = "attribute")]
        Verb::Attribute(arguments) => cmd::attribute::run(&arguments)?,
        Verb::Exec(arguments) => return cmd::exec::run(arguments),
        Verb::Collapse(arguments) => cmd::collapse::run(&arguments)?,
        #[cfg(feature = "advise")]
        Verb::Advise(arguments) => cmd::advise::run(&arguments)?,
        Verb::Doctor(arguments) => cmd::doctor::run(&arguments)?,
        #[cfg(feature = "monitor")]
        Verb::Export(arguments) => cmd::export::run(&arguments)?,
        #[cfg(feature = "fleet")]
        Verb::Fleet(arguments) => cmd::fleet::run(&arguments)?,
        #[cfg(feature = "monitor")]
        Verb::Watch(arguments) => cmd::watch::run(&arguments)?,
        Verb::Man(arguments) => {
            cmd::man::run(&arguments, cli::command())?;
            Exit::Done
        }
        Verb::Completions(arguments) => {
            cmd::completions::run(&arguments, cli::command())?;
            Exit::Done
        }
    };
    Ok(exit.into())
}

/// A closed stdout, such as a pipe into `head`, is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// A panic is a bug in this program. Guards restore the settings while it unwinds (the guardian does so if it aborts),
/// and the user is asked to report it.
fn ask_for_reports_of_panics() {
    std::panic::set_hook(Box::new(move |info| {
        if parquet::reads() {
            if cfg!(panic = "abort") {
                message("a Parquet file is broken: its lengths do not fit its bytes");
            }
            return;
        }
        stderr::line(info);
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            stderr::line(trace);
        }
        message("this is a bug in hugewise; please report it with the lines above");
    }));
}
