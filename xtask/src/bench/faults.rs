//! Measures the cost of watching single page faults, compared with other tools, paired within rounds.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::Arguments;
use super::load::Load;
use super::watched::{self, Folder};
use super::watcher::Watcher;
use crate::program;

/// Pages and passes of faults at full speed: a quarter of a million.
pub const FAST: (u64, u64) = (16_384, 16);

/// Faults per second of the slower workload.
pub const SLOW_PER_SECOND: f64 = 9_000.0;

/// bpftrace probes for the same pairs: latencies, and time by call chain.
const BPFTRACE: &str = "software:page-faults:1 /comm == \"hugewise-lab\"/ { @begun[tid] = nsecs; } \
    software:minor-faults:1 /@begun[tid]/ { $took = nsecs - @begun[tid]; @latency = hist($took); \
    @by_chain[ustack] = sum($took); delete(@begun[tid]); }";

/// The same probes without call chains.
const BPFTRACE_LATENCY: &str = "software:page-faults:1 /comm == \"hugewise-lab\"/ \
    { @begun[tid] = nsecs; } software:minor-faults:1 /@begun[tid]/ \
    { @latency = hist(nsecs - @begun[tid]); delete(@begun[tid]); }";

/// Both ends of every fault with address, call chain, page size and physical address.
const PERF_BOTH_ENDS: &str = "page-faults/call-graph=no/,minor-faults/call-graph=fp/,\
    major-faults/call-graph=fp/";

/// Measures, and prints two tables in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab");
    let folder = Folder::new()?;
    let watchers = watchers(&program, &folder);
    let fast = Load::pace(FAST.0, FAST.1, 0);
    println!("At full speed, {} faults a run:\n", fast.times());
    watched::table(arguments, &lab, &folder, &fast, &watchers)?;
    let slow = watched::slowed(&lab, &folder, SLOW_PER_SECOND)?;
    println!("\nWith work between the faults:\n");
    watched::table(arguments, &lab, &folder, &slow, &watchers)
}

fn watchers(program: &Path, folder: &Folder) -> Vec<Watcher> {
    let mut all = own(program, folder);
    if installed("perf") {
        all.extend(of_perf(folder));
    }
    if installed("bpftrace") {
        all.extend(of_bpftrace());
    }
    all
}

fn own(program: &Path, folder: &Folder) -> Vec<Watcher> {
    let faults = |name: &str, delivers: &str, more: &[&str]| {
        let program = program.display().to_string();
        let file = folder.file("faults.json");
        let words = [
            &[&program, "faults"],
            more,
            &["--quiet", "--json", &file, "--"],
        ];
        Watcher::before(name, delivers, owned(&words.concat()))
    };
    let every = ["--every", "100"];
    vec![
        faults("`hugewise faults`", "the report", &[]),
        faults(
            "`hugewise faults --every 100`",
            "the report, without latencies",
            &every,
        ),
    ]
}

fn of_perf(folder: &Folder) -> Vec<Watcher> {
    let perf = |name: &str, delivers: &str, words: &[&str]| {
        let file = folder.file("perf.out");
        let words = [&["perf"], words, &["-o", &file, "--"]].concat();
        Watcher::before(name, delivers, owned(&words))
    };
    let every = ["record", "-q", "-c", "1", "-d", "--all-user"];
    let ends = ["--phys-data", "--data-page-size", "-e", PERF_BOTH_ENDS];
    let both = [&every[..], &ends].concat();
    let begin = [&every[..], &["-g", "-e", "page-faults"]].concat();
    let trace = ["trace", "-F", "all", "--no-syscalls"];
    vec![
        perf(
            "`perf record`, both ends",
            "a file of the same samples",
            &both,
        ),
        perf(
            "`perf record -e page-faults -g`",
            "a file; no latencies",
            &begin,
        ),
        perf(
            "`perf trace -F all`",
            "a line a fault; no latencies",
            &trace,
        )
        .shorter_by(8),
    ]
}

fn of_bpftrace() -> [Watcher; 2] {
    let script = |name: &str, delivers: &str, script: &str| {
        let words = owned(&["bpftrace", "-e", script, "-c"]);
        Watcher::around(name, delivers, words)
    };
    [
        script(
            "`bpftrace`, by call chain",
            "latencies, time by chain",
            BPFTRACE,
        ),
        script("`bpftrace`, latencies", "one histogram", BPFTRACE_LATENCY),
    ]
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns true if a program is installed; reports a missing one.
pub fn installed(name: &str) -> bool {
    let mut command = Command::new(name);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let there = command.status().is_ok();
    if !there {
        eprintln!("{name} is not installed, and not compared with");
    }
    there
}
