//! A model of the TLB in place of counters, fed by a trace of the command.

use anyhow::Result;
use hugewise_linux::error::Kind;
use hugewise_linux::memory_trace::{self, Ended, Prints, Traced, Wanted};
use hugewise_linux::root::Root;
use hugewise_linux::tlb::{named, read_tlb};
use hugewise_model::observe::faults::Map;
use hugewise_model::observe::simulation::{
    Access, Accesses, AsMapped, Column, Cut, FORMAT, Kind as AccessKind, Mapped, Paging, Processor,
    Simulation, Tracer,
};
use hugewise_model::run::trial::Outcome;
use hugewise_model::text::{to_markdown, to_text};

use super::Arguments;
use crate::cli::{Format, Output};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::say::say;
use crate::{command, invoker, output, places};

/// The default of --cpu: this processor.
const OWN: &str = "own";

/// Runs the command under the tracer and reports the counts of the model.
pub(super) fn run(root: &Root, arguments: &Arguments) -> Result<Exit> {
    if arguments.command.is_empty() {
        return Err(exit::usage(
            "--simulate needs a command; write: hugewise stat --simulate -- COMMAND",
        ));
    }
    command::check_program_of(&arguments.command)?;
    output::check_file(&arguments.output)?;
    let processor = processor(root, arguments.cpu.as_deref().unwrap_or(OWN))?;
    let paging = paging(root)?;
    let tracer = tracer()?;
    let interrupt = Interrupt::catch()?;
    if !arguments.output.quiet {
        say(format_args!(
            "running under {tracer}, which is slow; at most {} accesses",
            arguments.max_accesses
        ));
    }
    let mut model = Model::new(&processor, paging);
    let ended = trace(arguments, &interrupt, |access, traced| {
        model.access(access, || traced.mappings(root));
        model
            .as_mapped
            .access(access, || traced.page_now(root, access.address));
    })?;
    if model.seen.total() == 0 && ended.cut == Cut::Whole {
        return Err(exit::trial_failed(format!(
            "{tracer} gave no trace of the command; add --show to see what it says"
        )));
    }
    let exit = exit_of(&ended);
    let simulation = model.finished(arguments, processor, tracer, ended);
    show(&simulation, &arguments.output)?;
    Ok(exit)
}

fn processor(root: &Root, name: &str) -> Result<Processor> {
    if name == OWN {
        let tlb = read_tlb(root).map_err(|missing| {
            let names = named::names().join(", ");
            exit::refused(format!(
                "this processor: {missing}; name one: --cpu {names}"
            ))
        })?;
        return Ok(Processor {
            tlb,
            walk_cache: None,
        });
    }
    named::processor(name).ok_or_else(|| {
        let names = named::names().join(", ");
        exit::usage(format!("--cpu {name}: there are {OWN}, {names}"))
    })
}

fn paging(root: &Root) -> Result<Paging> {
    let bytes = places::host(root)?.page_bytes;
    Paging::of_base_page(bytes).ok_or_else(|| {
        exit::refused(format!(
            "no page tables are known for pages of {bytes} bytes"
        ))
    })
}

fn tracer() -> Result<String> {
    memory_trace::probe().map_err(|error| match error.kind {
        Kind::NotFound => exit::refused(
            "--simulate needs valgrind, which is not on the PATH; on Debian: apt install valgrind",
        ),
        _ => error.into(),
    })
}

fn trace(
    arguments: &Arguments,
    interrupt: &Interrupt,
    each: impl FnMut(Access, &Traced),
) -> Result<Ended> {
    let identity = invoker::identity()?;
    let wanted = Wanted {
        command: &arguments.command,
        identity: identity.as_ref(),
        prints: if arguments.show {
            Prints::Show
        } else {
            Prints::Discard
        },
        most: arguments.max_accesses,
    };
    Ok(memory_trace::collect(&wanted, interrupt.flag(), each)?)
}

fn exit_of(ended: &Ended) -> Exit {
    match (ended.cut, &ended.outcome) {
        (Cut::Interrupted, _) => Exit::Interrupted,
        (Cut::AtMost, _) | (Cut::Whole, Some(Outcome::Exited { code: 0 })) => Exit::Done,
        (Cut::Whole, _) => Exit::TrialFailed,
    }
}

/// The simulated TLBs and the accesses that they got.
struct Model {
    columns: Vec<Column>,
    mapped: Mapped,
    as_mapped: AsMapped,
    /// Walks of one access, by column.
    walks: Vec<u64>,
    seen: Accesses,
    base_page_bytes: u64,
}

impl Model {
    fn new(processor: &Processor, paging: Paging) -> Self {
        let sizes = paging.sizes().into_iter();
        let columns: Vec<Column> = sizes
            .map(|size| Column::new(processor, paging, size))
            .collect();
        Self {
            mapped: Mapped::new(paging.base_bytes(), columns.len()),
            as_mapped: AsMapped::new(processor, paging),
            walks: vec![0; columns.len()],
            columns,
            seen: Accesses::default(),
            base_page_bytes: paging.base_bytes(),
        }
    }

    fn access(&mut self, access: Access, look_up: impl FnOnce() -> Vec<Map>) {
        match access.kind {
            AccessKind::Fetch => self.seen.fetches += 1,
            AccessKind::Load => self.seen.loads += 1,
            AccessKind::Store => self.seen.stores += 1,
        }
        self.mapped.see(access);
        let mut walked = false;
        for (column, walks) in self.columns.iter_mut().zip(&mut self.walks) {
            *walks = column.access(access);
            walked |= *walks > 0;
        }
        if walked {
            self.mapped.walked(access.address, &self.walks, look_up);
        }
    }

    fn finished(
        self,
        arguments: &Arguments,
        processor: Processor,
        tracer: String,
        ended: Ended,
    ) -> Simulation {
        let words = arguments.command.iter();
        Simulation {
            format: FORMAT.to_owned(),
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            tracer: Tracer { name: tracer },
            processor,
            base_page_bytes: self.base_page_bytes,
            accesses: self.seen,
            cut: ended.cut,
            columns: self.columns.iter().map(Column::counts).collect(),
            mappings: self.mapped.rows(),
            as_mapped: self.as_mapped.counts(),
            outcome: ended.outcome,
        }
    }
}

fn show(simulation: &Simulation, output: &Output) -> Result<()> {
    let style = output::style(output);
    let json = || anyhow::Ok(serde_json::to_string_pretty(simulation)? + "\n");
    let printed = output::print(&match output.format {
        Format::Text => to_text(&simulation.document(), &style),
        Format::Json => json()?,
        Format::Csv => simulation.csv(),
        Format::Markdown => to_markdown(&simulation.document(), style.verbose),
    });
    if let Some(path) = &output.json {
        output::write_file(path, &json()?)?;
    }
    printed
}
