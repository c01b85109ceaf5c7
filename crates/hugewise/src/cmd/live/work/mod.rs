//! Counters of work: opened from a source, or chosen for the process.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use hugewise_linux::live::{Counts, instructions, probe_hits, static_hits, system_calls};
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::tree::read_threads;
use hugewise_live::{Source, sample_of_metrics, sum_of_io};

use super::Arguments;
use super::unit::Unit;
use crate::{exit, invoker};

mod ask;
mod connection;
mod fitting;
mod memcached;
mod psql;
mod redis;

pub(super) use ask::Page;
pub(super) use redis::Redis;

use ask::count_of_command;
pub(super) use fitting::{Kind, fitting};
use memcached::Memcached;
use psql::Psql;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may be, in bytes.
const MOST: usize = 16 << 20;

/// An open source of work.
#[derive(Debug)]
pub(super) struct Counter {
    source: Source,
    reader: Reader,
}

/// How a counter is read.
#[derive(Debug)]
enum Reader {
    /// A field of redis.
    Redis(Redis, Option<String>),
    /// A field of memcached.
    Memcached(Memcached, Option<String>),
    /// psql answers.
    Psql(Psql),
    /// A metric of a page.
    Page(Page, String),
    /// A line for the shell.
    Command(String),
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

    /// Returns how late the source counts work, in seconds.
    pub(super) fn delay(&self) -> f64 {
        self.source.delay()
    }

    /// The shortest period in seconds.
    pub(super) fn least_period(&self) -> f64 {
        self.source.least_period()
    }

    /// Reads the count so far.
    pub(super) fn read(&mut self) -> Result<f64, String> {
        let read = match &mut self.reader {
            Reader::Redis(redis, field) => redis.count(field.as_deref()),
            Reader::Memcached(memcached, field) => memcached.count(field.as_deref()),
            Reader::Psql(psql) => psql.count(),
            Reader::Page(page, metric) => page
                .text()
                .and_then(|text| sample_of_metrics(&text, metric)),
            Reader::Command(line) => count_of_command(line),
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
        Source::Redis(place) => {
            return Redis::connect(place).map(|it| Reader::Redis(it, place.field.clone()));
        }
        Source::Memcached(place) => {
            return Memcached::connect(place).map(|it| Reader::Memcached(it, place.field.clone()));
        }
        Source::Postgres { connection } => return Psql::connect(connection).map(Reader::Psql),
        Source::Http { url, metric } => {
            return Page::new(url).map(|page| Reader::Page(page, metric.clone()));
        }
        Source::Command { line } => return Ok(Reader::Command(line.clone())),
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

/// Has a command of the user run with the rights of the invoking user.
fn as_invoker(command: &mut Command) -> Result<(), String> {
    let rights = invoker::rights().map_err(|error| format!("{error:#}"))?;
    rights.give_to(command);
    Ok(())
}
