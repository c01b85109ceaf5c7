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

/// Chooses the best source that the process offers.
pub(super) fn fitting(root: &Root, unit: &Unit) -> Result<Counter> {
    let mut tried = Vec::new();
    for source in servers(root, unit) {
        match try_open(root, unit, &source) {
            Ok(counter) => return Ok(counter),
            Err(why) => tried.push(why),
        }
    }
    let calls = Source::Syscalls { names: Vec::new() };
    for (source, least) in [(calls, CALLS_PER_SECOND), (Source::Io, 1.0)] {
        match try_open(root, unit, &source).and_then(|mut it| Ok((rate(&mut it)?, it))) {
            Ok((rate, counter)) if rate >= least => return Ok(counter),
            Ok((rate, _)) => tried.push(format!("{source}: {rate:.0} a second")),
            Err(why) => tried.push(why),
        }
    }
    Err(exit::usage(format!(
        "no counter fits {} ({}); name a source with --work: {SOURCE_FORMS}",
        unit.name(),
        tried.join("; ")
    )))
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
