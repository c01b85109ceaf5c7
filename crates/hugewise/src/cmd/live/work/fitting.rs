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
    /// Growth in nearly all slices of processor time.
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
        match counter.and_then(|mut it| test.passes(root, unit, &mut it).map(|()| it)) {
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
    fn passes(self, root: &Root, unit: &Unit, counter: &mut Counter) -> Result<(), String> {
        let source = counter.source().clone();
        match self {
            Self::Rate(least) => match rate(counter)? {
                rate if rate >= least => Ok(()),
                rate => Err(format!("{source}: {rate:.0} a second")),
            },
            Self::Steady => {
                is_steady(&slices(root, unit, counter)?).map_err(|why| format!("{source}: {why}"))
            }
        }
    }
}

/// Processor time of a slice, in seconds, and the number of slices.
const SLICE: f64 = 0.05;
const SLICES: usize = 10;
/// So many slices decide on a busy machine.
const FEWEST_SLICES: usize = 5;
/// How long slices are waited for, and how often the clock is read.
const PATIENCE: Duration = Duration::from_secs(6);
const TICK: Duration = Duration::from_millis(10);

/// Returns for each slice of processor time whether the count grew.
fn slices(root: &Root, unit: &Unit, counter: &mut Counter) -> Result<Vec<bool>, String> {
    let cpu = || unit.cpu.read(root).map_err(|error| error.to_string());
    let began = Instant::now();
    let mut before = (cpu()?, counter.read()?);
    let mut slices = Vec::new();
    while slices.len() < SLICES && began.elapsed() < PATIENCE {
        sleep(TICK);
        let used = cpu()?;
        if used - before.0 >= SLICE {
            let count = counter.read()?;
            slices.push(count > before.1);
            before = (used, count);
        }
    }
    Ok(slices)
}

/// Checks that the count grew in nearly all slices.
fn is_steady(slices: &[bool]) -> Result<(), String> {
    let all = slices.len();
    let grown = slices.iter().filter(|it| **it).count();
    match (all >= FEWEST_SLICES, 10 * grown >= 9 * all) {
        (false, _) => Err(format!(
            "the process used less than {:.2} s of a processor",
            SLICE * FEWEST_SLICES as f64
        )),
        (true, false) => Err(format!(
            "it grew in {grown} of {all} slices of {SLICE} s of processor time"
        )),
        (true, true) => Ok(()),
    }
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

    #[test]
    fn a_count_is_steady_if_it_grows_whenever_the_process_works() {
        assert_eq!(is_steady(&[true; 10]), Ok(()));
        assert_eq!(is_steady(&[true; 5]), Ok(()));
        let mut once = [true; 10];
        once[3] = false;
        assert_eq!(is_steady(&once), Ok(()));
        once[4] = false;
        assert!(is_steady(&once).is_err());
        assert!(is_steady(&[true; 4]).is_err());
    }
}
