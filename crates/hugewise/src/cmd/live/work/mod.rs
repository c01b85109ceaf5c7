//! Counters of work: opened from a source, or chosen for the process.

use anyhow::Result;
use hugewise_linux::live::{Counts, instructions, probe_hits, static_hits, system_calls};
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::tree::read_threads;
use hugewise_live::{Source, sum_of_io};

use super::Arguments;
use super::unit::Unit;
use crate::{exit, invoker};

mod fitting;
mod server;

pub(super) use fitting::{Kind, fitting};
use server::{Ask, Psql, Server};

/// An open source of work.
#[derive(Debug)]
pub(super) struct Counter {
    source: Source,
    reader: Reader,
}

/// How a counter is read.
#[derive(Debug)]
enum Reader {
    /// A server answers.
    Server(Server),
    /// psql answers.
    Psql(Psql),
    /// A question for each reading.
    Ask(Ask),
    /// Perf events.
    Counts(Counts),
    /// Files of processes.
    Io { root: Root, pids: Vec<u32> },
}

impl Counter {
    /// The source.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The shortest period in seconds.
    pub(super) fn least_period(&self) -> f64 {
        self.source.least_period()
    }

    /// Reads the count so far.
    pub(super) fn read(&mut self) -> Result<f64, String> {
        let read = match &mut self.reader {
            Reader::Server(server) => server.read(),
            Reader::Psql(psql) => psql.read(),
            Reader::Ask(ask) => ask.read(),
            Reader::Counts(counts) => counts.read().map_err(|missing| missing.to_string()),
            Reader::Io { root, pids } => pids.iter().map(|pid| io(root, *pid)).sum(),
        };
        read.map_err(|why| format!("{}: {why}", self.source))
    }
}

fn io(root: &Root, pid: u32) -> Result<f64, String> {
    let bytes = root
        .read(format!("proc/{pid}/io"))
        .map_err(|error| error.to_string())?;
    sum_of_io(&String::from_utf8_lossy(&bytes))
}

/// Opens the source of `--work`, or chooses one and prints it.
pub(super) fn choose(
    root: &Root,
    unit: &Unit,
    kind: Kind,
    arguments: &Arguments,
) -> Result<Counter> {
    if let Some(source) = &arguments.work {
        return open(root, unit, source);
    }
    let counter = fitting(root, unit, kind)?;
    let caveat = counter.source().caveat();
    let caveat = caveat.map_or_else(String::new, |caveat| format!("; {caveat}"));
    arguments.message(format_args!(
        "work: {} of {}{caveat}; --work chooses another source",
        counter.source().unit(),
        counter.source()
    ));
    Ok(counter)
}

/// Opens a source and reads it once.
pub(super) fn open(root: &Root, unit: &Unit, source: &Source) -> Result<Counter> {
    let opened = try_open(root, unit, source);
    opened.map_err(|why| {
        exit::usage(format!(
            "the work of {} cannot be counted: {why}",
            unit.name()
        ))
    })
}

fn try_open(root: &Root, unit: &Unit, source: &Source) -> Result<Counter, String> {
    let reader = reader(root, unit, source).map_err(|why| format!("{source}: {why}"))?;
    let mut counter = Counter {
        source: source.clone(),
        reader,
    };
    counter.read()?;
    Ok(counter)
}

fn reader(root: &Root, unit: &Unit, source: &Source) -> Result<Reader, String> {
    let threads = || read_threads(root, &unit.pids().into_iter().collect());
    let rights = invoker::rights().map_err(|error| error.to_string())?;
    let counts = match source {
        Source::Redis(place) => return Server::redis(place).map(Reader::Server),
        Source::Memcached(place) => return Server::memcached(place).map(Reader::Server),
        Source::Postgres { connection } => return Psql::connect(connection).map(Reader::Psql),
        Source::Http { url, metric } => return Ask::http(url, metric).map(Reader::Ask),
        Source::Command { line } => return Ok(Reader::Ask(Ask::command(line))),
        Source::Io => {
            return Ok(Reader::Io {
                root: root.clone(),
                pids: unit.pids(),
            });
        }
        Source::Instructions => instructions(&threads()),
        Source::Syscalls { names } => system_calls(root, names, &threads()),
        Source::Uprobe { file, symbol } => {
            probe_hits(root, (file.as_ref(), &rights), symbol, &threads())
        }
        Source::Usdt {
            file,
            provider,
            name,
        } => static_hits(root, (file.as_ref(), &rights), [provider, name], &threads()),
    };
    counts
        .map(Reader::Counts)
        .map_err(|missing| missing.to_string())
}
