//! `hugewise simulate`: a model of the TLB that replaces hardware counters, fed by a trace of the command.

use std::ffi::OsString;

use anyhow::Result;
use clap::Args;
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::memory_trace;
use hugewise_linux::observe::memory_trace::{CommandOutput, TraceEnd, TraceRequest, TracedProcess};
use hugewise_linux::probe::read_page_bytes;
use hugewise_tlb::simulation::{Cut, MemoryAccess};

use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::stderr::message;
use crate::target::PrintFlags;
use crate::{invoker, program};

mod model;
mod processor;

use model::Model;

/// Flags of `simulate`.
#[derive(Debug, Args)]
#[command(
    mut_arg("verbose", |it| it.help("Show all mappings, and what the model leaves out")),
    after_help = "The command runs under valgrind, which is slow; no hardware counters are needed."
)]
pub struct Arguments {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Processor: own, haswell, jaguar, neoverse-n1, skylake [default: own]
    #[arg(long, value_name = "NAME")]
    cpu: Option<String>,

    /// End the command after N accesses, instruction fetches included
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000_000,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_accesses: u64,

    #[command(flatten)]
    prints: PrintFlags,

    #[command(flatten)]
    output: Output,
}

/// Runs the command under the tracer and reports the counts of the model.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = &Root::real();
    if arguments.command.is_empty() {
        return Err(exit::usage(
            "no command to simulate; write: hugewise simulate -- COMMAND",
        ));
    }
    program::check(&arguments.command)?;
    output::check_file(&arguments.output)?;
    let processor = processor::named(root, arguments.cpu.as_deref())?;
    let page_bytes = read_page_bytes(root)?;
    let paging = processor::paging(page_bytes)?;
    let tracer = tracer()?;
    let interrupt = Interrupt::catch()?;
    if !arguments.output.quiet {
        message(format_args!(
            "running under {tracer} (slow); at most {} accesses",
            arguments.max_accesses
        ));
    }
    let mut model = Model::new(&processor, paging);
    let ended = trace(arguments, &interrupt, |access, traced| {
        model.access(access, || traced.mappings(root));
        model
            .as_mapped
            .access(access, || traced.page_now(root, access.address, page_bytes));
    })?;
    if model.is_empty() && ended.cut == Cut::Whole {
        return Err(exit::trial_failed(format!(
            "{tracer} produced no trace of the command; add --output show to see its messages"
        )));
    }
    let exit = exit_of(&ended);
    let words = arguments.command.iter();
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let simulation = model.finished(words.collect(), processor, tracer, ended);
    output::show(
        &arguments.output,
        &simulation,
        || simulation.document(),
        || simulation.csv(),
    )?;
    Ok(exit)
}

fn tracer() -> Result<String> {
    memory_trace::probe().map_err(|error| match error.kind {
        Kind::NotFound => exit::refused(
            "simulate needs valgrind: not found on the PATH; on Debian: apt install valgrind",
        ),
        _ => error.into(),
    })
}

fn trace(
    arguments: &Arguments,
    interrupt: &Interrupt,
    each: impl FnMut(MemoryAccess, &TracedProcess),
) -> Result<TraceEnd> {
    let identity = invoker::identity()?;
    let wanted = TraceRequest {
        command: &arguments.command,
        identity: identity.as_ref(),
        prints: if arguments.prints.is_shown() {
            CommandOutput::Show
        } else {
            CommandOutput::Discard
        },
        most: arguments.max_accesses,
    };
    Ok(memory_trace::collect(&wanted, interrupt.flag(), each)?)
}

fn exit_of(ended: &TraceEnd) -> Exit {
    match (ended.cut, &ended.outcome) {
        (Cut::Interrupted, _) => Exit::Interrupted,
        (Cut::AtMost, _) | (Cut::Whole, Some(Outcome::Exited { code: 0 })) => Exit::Done,
        (Cut::Whole, _) => Exit::TrialFailed,
    }
}
