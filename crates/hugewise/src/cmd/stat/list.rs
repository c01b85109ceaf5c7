//! `--list`: the events of this processor, whether they can be counted here, and what the
//! kernel's own readings need.

use std::fmt::Write as _;

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan;
use hugewise_linux::perf::events::sources::Source;
use hugewise_linux::perf::fit::general;
use hugewise_linux::perf::open::Kernel;
use hugewise_linux::probe::Grants;
use hugewise_model::base::missing::Missing;
use hugewise_model::observe::stat::{KernelReading, Mode, kind};
use hugewise_model::text::wrap::wrapped;
use serde::Serialize;

use crate::exit::{self, Exit};
use crate::output::{self, Format, Output};

/// What there is to count.
#[derive(Debug, Serialize)]
struct List {
    format: &'static str,
    processors: Vec<Processor>,
    /// What counting in kernel mode, and of other users and the machine, needs.
    needs: Needs,
    readings: Vec<Reading>,
}

#[derive(Debug, Serialize)]
struct Needs {
    own_user_mode: String,
    own_kernel_mode: String,
    machine: String,
}

#[derive(Debug, Serialize)]
struct Processor {
    source: String,
    family: Option<&'static str>,
    title: Option<&'static str>,
    /// Cycles and instructions, which the kernel knows by itself.
    general: Vec<General>,
    events: Vec<Event>,
}

#[derive(Debug, Serialize)]
struct General {
    kind: &'static str,
    counts: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
}

#[derive(Debug, Serialize)]
struct Event {
    kind: &'static str,
    counts: &'static str,
    name: &'static str,
    code: String,
    file: &'static str,
    not: &'static str,
    usual: bool,
    /// In which modes it counts here.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
}

#[derive(Debug, Serialize)]
struct Reading {
    name: &'static str,
    doc: &'static str,
    needs: &'static str,
}

/// Prints the list.
pub(super) fn run(root: &Root, output: &Output) -> Result<Exit> {
    let list = list(root)?;
    output::emit(output, |format| match format {
        Format::Json => output::json(&list),
        Format::Text => text(&list, output::style(output).width),
        Format::Csv | Format::Markdown => Err(exit::usage("--list prints text or json")),
    })?;
    Ok(Exit::Done)
}

fn list(root: &Root) -> Result<List> {
    let grants = Grants::read(root);
    let sources = plan::sources(root).map_err(|missing| anyhow::anyhow!("{missing}"))?;
    let readings = KernelReading::ALL.iter();
    Ok(List {
        format: "hugewise-stat-list 1",
        processors: sources
            .iter()
            .map(|source| processor(root, source))
            .collect(),
        needs: Needs {
            own_user_mode: grants.perf_user(),
            own_kernel_mode: grants.perf_kernel(),
            machine: grants.perf_machine(),
        },
        readings: readings
            .map(|reading| Reading {
                name: reading.name(),
                doc: &reading.metric().doc,
                needs: reading.needs(),
            })
            .collect(),
    })
}

fn processor(root: &Root, source: &Source) -> Processor {
    let family = source.family;
    let events = family.map_or(&[][..], |family| &family.events[..]);
    let one = |event: &'static hugewise_linux::perf::events::Event| {
        let family = family?;
        let known = kind::find(&event.kind)?;
        let tried = plan::try_event(root, &Kernel, source, event);
        Some(Event {
            kind: known.name,
            counts: known.doc,
            name: &event.name,
            code: event.code(family.arch()),
            file: &event.source,
            not: &event.not,
            usual: family.is_usual(event),
            mode: tried.as_ref().ok().copied(),
            missing: tried.err(),
        })
    };
    let general = general(source).into_iter().filter_map(|chosen| {
        let known = kind::find(&chosen.kind)?;
        let tried = plan::try_code(root, &Kernel, source, chosen.code);
        Some(General {
            kind: known.name,
            counts: known.doc,
            mode: tried.as_ref().ok().copied(),
            missing: tried.err(),
        })
    });
    Processor {
        general: general.collect(),
        source: source.name.clone(),
        family: family.map(|family| family.name.as_str()),
        title: family.map(|family| family.title.as_str()),
        events: events.iter().filter_map(one).collect(),
    }
}

fn text(list: &List, width: usize) -> Result<String> {
    let mut text = String::new();
    for processor in &list.processors {
        describe(processor, width, &mut text)?;
    }
    let needs = &list.needs;
    for line in [
        format!(
            "Counting needs hardware counters; kernel mode: {}.",
            needs.own_kernel_mode
        ),
        format!(
            "Counting the whole machine or a cgroup needs {}.",
            needs.machine
        ),
    ] {
        paragraph(&line, width, &mut text)?;
    }
    writeln!(text, "\nCounted by the kernel itself:")?;
    for reading in &list.readings {
        let needs = match reading.needs {
            "nothing" => String::new(),
            needs => format!("; needs {needs}"),
        };
        let line = format!("{:<30}{}{needs}", reading.name, reading.doc);
        columns(&line, 30, width, &mut text)?;
    }
    Ok(text)
}

fn describe(processor: &Processor, width: usize, text: &mut String) -> Result<()> {
    let source = &processor.source;
    let line = match processor.title {
        Some(title) => {
            format!("{title}, event source {source}; * is counted by default.")
        }
        None => format!("No event table for this processor (event source {source})."),
    };
    paragraph(&line, width, text)?;
    let nothing = processor.general.iter().all(|one| {
        one.missing
            .as_ref()
            .is_some_and(|why| *why == Missing::NoHardware)
    });
    if nothing {
        let why = Missing::NoHardware;
        paragraph(&format!("Not counted here: {why}."), width, text)?;
    }
    let shown = |missing: &Option<Missing>| missing.clone().filter(|_| !nothing);
    for one in &processor.general {
        writeln!(text, "\n* {:<26}{}", one.kind, one.counts)?;
        not_here(shown(&one.missing), width, text)?;
    }
    for event in &processor.events {
        let mark = if event.usual { "*" } else { " " };
        writeln!(text, "\n{mark} {:<26}{}", event.kind, event.counts)?;
        writeln!(text, "    {}  {}", event.name, event.code)?;
        columns(&format!("    {}", event.not), 4, width, text)?;
        not_here(shown(&event.missing), width, text)?;
    }
    writeln!(text)?;
    Ok(())
}

fn not_here(missing: Option<Missing>, width: usize, text: &mut String) -> Result<()> {
    match missing {
        None => Ok(()),
        Some(missing) => columns(&format!("    Not counted here: {missing}."), 4, width, text),
    }
}

/// A paragraph, all its lines but the first indented.
fn paragraph(line: &str, width: usize, text: &mut String) -> Result<()> {
    for part in wrapped(line, width, 4) {
        writeln!(text, "{part}")?;
    }
    Ok(())
}

/// A name in a column of its own, and the rest beside it.
fn columns(line: &str, column: usize, width: usize, text: &mut String) -> Result<()> {
    let (name, rest) = line.split_at(column.min(line.len()));
    for (index, part) in wrapped(rest, width.saturating_sub(column), 0)
        .iter()
        .enumerate()
    {
        let name = if index == 0 { name } else { "" };
        writeln!(text, "{name:<column$}{part}")?;
    }
    Ok(())
}
