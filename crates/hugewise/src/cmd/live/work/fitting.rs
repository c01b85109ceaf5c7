//! The source of work that fits a process.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::sockets::listening_ports;
use hugewise_live::{Place, SOURCE_FORMS, Source};

use super::{Counter, Unit, try_open};
use crate::exit;

/// System calls are work only if they are many.
const CALLS_PER_SECOND: f64 = 1000.0;
/// How long a rate is looked at.
const LOOK: Duration = Duration::from_millis(300);

/// The counter of a server at a port.
type AtPort = fn(u16) -> Source;

/// Servers by the name of their program, and their counter.
const SERVERS: [(&str, AtPort); 6] = [
    ("redis-server", redis),
    ("valkey-server", redis),
    ("keydb-server", redis),
    ("memcached", |port| Source::Memcached(Place::here(port))),
    ("postgres", postgres),
    ("postmaster", postgres),
];

fn redis(port: u16) -> Source {
    Source::Redis(Place::here(port))
}

fn postgres(port: u16) -> Source {
    Source::Postgres {
        connection: format!(
            "host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=2"
        ),
    }
}

/// Whose work is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd::live) enum Kind {
    /// Processes that run on: a server may have no requests for a while.
    Processes,
    /// A program that ends: it reads and writes as it works.
    Program,
}

/// What a source must show.
#[derive(Clone, Copy, Debug)]
enum Test {
    /// So much growth per second.
    Rate(f64),
    /// Growth in nearly all slices of a second.
    Steady,
}

impl Kind {
    /// The sources to try, best first.
    fn sources(self) -> [(Source, Test); 2] {
        let calls = Source::Syscalls { names: Vec::new() };
        match self {
            Self::Processes => [
                (calls, Test::Rate(CALLS_PER_SECOND)),
                (Source::Io, Test::Rate(1.0)),
            ],
            Self::Program => [(Source::Io, Test::Steady), (calls, Test::Steady)],
        }
    }
}

/// Chooses the best source that the process offers.
pub(in crate::cmd::live) fn fitting(root: &Root, unit: &Unit, kind: Kind) -> Result<Counter> {
    let mut tried = Vec::new();
    for source in servers(root, unit) {
        match try_open(root, unit, &source) {
            Ok(counter) => return Ok(counter),
            Err(why) => tried.push(why),
        }
    }
    for (source, test) in kind.sources() {
        let counter = try_open(root, unit, &source);
        match counter.and_then(|mut it| test.passes(&mut it).map(|()| it)) {
            Ok(counter) => return Ok(counter),
            Err(why) => tried.push(why),
        }
    }
    Err(exit::usage(format!(
        "no counter fits {} ({}); name a source with --work: {SOURCE_FORMS}",
        unit.name(),
        tried.join("; ")
    )))
}

impl Test {
    /// Watches a counter for a moment.
    fn passes(self, counter: &mut Counter) -> Result<(), String> {
        let source = counter.source().clone();
        match self {
            Self::Rate(least) => match rate(counter)? {
                rate if rate >= least => Ok(()),
                rate => Err(format!("{source}: {rate:.0} a second")),
            },
            Self::Steady => match grown_slices(counter)? {
                grown if grown >= MOST_SLICES => Ok(()),
                grown => Err(format!(
                    "{source}: it grew in {grown} of {SLICES} slices of 0.1 s"
                )),
            },
        }
    }
}

/// Slices in which growth is looked for, and how many must have some.
const SLICES: usize = 10;
const MOST_SLICES: usize = 9;
const SLICE: Duration = Duration::from_millis(100);

/// Returns the number of slices in which the count grew.
fn grown_slices(counter: &mut Counter) -> Result<usize, String> {
    let mut before = counter.read()?;
    let mut grown = 0;
    for _ in 0..SLICES {
        sleep(SLICE);
        let now = counter.read()?;
        grown += usize::from(now > before);
        before = now;
    }
    Ok(grown)
}

/// The counters of known servers among the processes, at their ports.
fn servers(root: &Root, unit: &Unit) -> Vec<Source> {
    let mut found = Vec::new();
    for pid in unit.pids() {
        let name = root
            .read_trimmed(format!("proc/{pid}/comm"))
            .unwrap_or_default();
        let known = SERVERS.iter().find(|(known, _)| *known == name);
        let ports = known.map(|(_, source)| listening_ports(root, pid).into_iter().map(source));
        found.extend(ports.into_iter().flatten());
    }
    found
}

/// The growth per second.
fn rate(counter: &mut Counter) -> Result<f64, String> {
    let (began, before) = (Instant::now(), counter.read()?);
    sleep(LOOK);
    Ok((counter.read()? - before) / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::live::work::Reader;

    #[test]
    fn a_count_that_stands_still_is_not_steady() {
        let printed = |line: &str| Counter {
            source: Source::Command {
                line: line.to_owned(),
            },
            reader: Reader::Command(line.to_owned()),
        };
        assert_eq!(Test::Steady.passes(&mut printed("date +%s%N")), Ok(()));
        let why = Test::Steady.passes(&mut printed("echo 5"));
        assert!(why.is_err_and(|it| it.contains("0 of 10 slices")));
    }
}
