//! `--list`: the events of this processor, whether they can be counted here, and the privileges that kernel readings
//! need.

use anyhow::Result;
use hugewise_base::counter::{Counter, Place};
use hugewise_base::missing::Missing;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan;
use hugewise_linux::perf::events::sources::Source;
use hugewise_linux::perf::fit::general;
use hugewise_linux::perf::open::KernelCounters;
use hugewise_linux::probe::Grants;
use hugewise_observe::stat::{KernelReading, Mode, kind};
use hugewise_text::document::{Document, Field, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::{to_markdown, to_text};
use serde::Serialize;

use crate::exit::{self, Exit};
use crate::output::{self, Format, Output};

/// The available events.
#[derive(Debug, Serialize)]
struct List {
    format: &'static str,
    processors: Vec<Processor>,
    /// The privileges needed to count in kernel mode, for other users, and for the whole machine.
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
    /// Cycles and instructions, which the kernel supports on every processor.
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
    /// The modes in which it can be counted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// The reason why it cannot be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
}

#[derive(Debug, Serialize)]
struct Reading {
    name: &'static str,
    doc: String,
    needs: &'static str,
}

/// Prints the list.
pub(super) fn run(root: &Root, output: &Output) -> Result<Exit> {
    let list = list(root)?;
    let style = output::style(output);
    output::emit(output, |format| match format {
        Format::Json => output::json(&list),
        Format::Text => Ok(to_text(&document(&list), &style)),
        Format::Markdown => Ok(to_markdown(&document(&list), style.verbose)),
        Format::Csv => Err(exit::usage("--list prints text, markdown or json")),
    })?;
    Ok(Exit::Done)
}

fn list(root: &Root) -> Result<List> {
    let grants = Grants::read(root);
    let sources = plan::sources(root).map_err(|missing| anyhow::anyhow!("{missing}"))?;
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
        readings: counters().chain(others()).collect(),
    })
}

fn counters() -> impl Iterator<Item = Reading> {
    Counter::at(Place::Stat).map(|counter| Reading {
        name: counter.name(),
        doc: counter.row().doc(),
        needs: "nothing",
    })
}

fn others() -> impl Iterator<Item = Reading> {
    KernelReading::ALL.iter().map(|reading| Reading {
        name: reading.name(),
        doc: reading.metric().doc.to_string(),
        needs: reading.needs(),
    })
}

fn processor(root: &Root, source: &Source) -> Processor {
    let family = source.family;
    let events = family.map_or(&[][..], |family| &family.events[..]);
    let one = |event: &'static hugewise_linux::perf::events::Event| {
        let family = family?;
        let known = kind::find(&event.kind)?;
        let tried = plan::try_event(root, &KernelCounters, source, event);
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
        let tried = plan::try_code(root, &KernelCounters, source, chosen.code);
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

fn document(list: &List) -> Document {
    let needs = &list.needs;
    let permission = Section::default()
        .with(format!(
            "Counting needs hardware counters; kernel mode: {}.",
            needs.own_kernel_mode
        ))
        .with(format!(
            "Counting the whole machine or a cgroup needs {}.",
            needs.machine
        ));
    let processors = list.processors.iter().map(described);
    let tail = [permission, kernel_readings(&list.readings)];
    Document::new(processors.chain(tail))
}

fn kernel_readings(readings: &[Reading]) -> Section {
    let fields = readings.iter().map(|reading| {
        let needs = match reading.needs {
            "nothing" => String::new(),
            needs => format!("; needs {needs}"),
        };
        Field::new(reading.name, format!("{}{needs}", reading.doc))
    });
    Section::titled("Counted by the kernel itself").with(fields.collect::<Vec<Field>>())
}

fn described(processor: &Processor) -> Section {
    let source = &processor.source;
    let mut section = Section::default().with(match processor.title {
        Some(title) => format!("{title}, event source {source}; * is counted by default."),
        None => format!("No event table for this processor (event source {source})."),
    });
    let no_hardware = |one: &General| one.missing == Some(Missing::NoHardware);
    let nothing = processor.general.iter().all(no_hardware);
    if nothing {
        section.push(format!("Not counted here: {}.", Missing::NoHardware));
    }
    let align = [Align::Left, Align::Left, Align::Wrapped];
    let mut grid = Grid::headed(&["", "event", "counts"]).aligned(&align);
    let mut push = |mark: &str, kind: &str, lines: Vec<String>, missing: &Option<Missing>| {
        let missing = missing.as_ref().filter(|_| !nothing);
        let missing = missing.map(|missing| format!("Not counted here: {missing}."));
        for (index, line) in lines.into_iter().chain(missing).enumerate() {
            let first = |word: &str| if index == 0 { word } else { "" }.to_owned();
            grid.push([first(mark), first(kind), line]);
        }
    };
    for one in &processor.general {
        push("*", one.kind, vec![one.counts.to_owned()], &one.missing);
    }
    for event in &processor.events {
        let mark = if event.usual { "*" } else { "" };
        let code = format!("{} {}", event.name, event.code);
        let lines = vec![event.counts.to_owned(), code, event.not.to_owned()];
        push(mark, event.kind, lines, &event.missing);
    }
    section.with(grid)
}
