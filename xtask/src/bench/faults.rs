//! What watching page faults one by one takes, against what else can: paired within rounds.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::Arguments;
use super::load::Load;
use super::watched::{self, Folder};
use super::watcher::Watcher;
use crate::program;

/// Pages and passes of faults as fast as they come: a quarter of a million.
pub const FAST: (u64, u64) = (16_384, 16);

/// Faults a second of the slower workload.
pub const SLOW_PER_SECOND: f64 = 9_000.0;

/// The probes of bpftrace for the same pairs: latencies, and time by call chain.
const BPFTRACE: &str = "software:page-faults:1 /comm == \"hugewise-lab\"/ { @begun[tid] = nsecs; } \
    software:minor-faults:1 /@begun[tid]/ { $took = nsecs - @begun[tid]; @latency = hist($took); \
    @by_chain[ustack] = sum($took); delete(@begun[tid]); }";

/// The same without call chains.
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
    let watchers = watchers(&program, &folder)?;
    let fast = Load::pace(FAST.0, FAST.1, 0);
    println!("At full speed, {} faults a run:\n", fast.times());
    watched::table(arguments, &lab, &folder, &fast, &watchers)?;
    let slow = watched::slowed(&lab, &folder, SLOW_PER_SECOND)?;
    println!("\nWith work between the faults:\n");
    watched::table(arguments, &lab, &folder, &slow, &watchers)
}

fn watchers(program: &Path, folder: &Folder) -> Result<Vec<Watcher>> {
    let own = |name: &str, delivers: &str, more: &[&str]| {
        let mut words = vec![program.display().to_string(), "faults".to_owned()];
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words.extend(["--quiet".to_owned(), "--json".to_owned()]);
        words.push(folder.file("faults.json"));
        words.push("--".to_owned());
        Watcher::before(name, delivers, words)
    };
    let perf = |name: &str, delivers: &str, words: &[&str]| {
        let words = [&["perf"], words].concat();
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        words.extend(["-o".to_owned(), folder.file("perf.out"), "--".to_owned()]);
        Watcher::before(name, delivers, words)
    };
    let every = ["record", "-q", "-c", "1", "-d", "--all-user"];
    let both = [
        &every[..],
        &["--phys-data", "--data-page-size", "-e", PERF_BOTH_ENDS],
    ]
    .concat();
    let begin = [&every[..], &["-g", "-e", "page-faults"]].concat();
    let mut all = vec![
        own("`hugewise faults`", "the report", &[]),
        own(
            "`hugewise faults --every 100`",
            "the report, without latencies",
            &["--every", "100"],
        ),
    ];
    if installed("perf") {
        all.extend([
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
                &["trace", "-F", "all", "--no-syscalls"],
            )
            .shorter_by(8),
        ]);
    }
    if installed("bpftrace") {
        let script = |name: &str, delivers: &str, script: &str| {
            let words = ["bpftrace", "-e", script, "-c"].map(str::to_owned);
            Watcher::around(name, delivers, words.to_vec())
        };
        all.extend([
            script(
                "`bpftrace`, by call chain",
                "latencies, time by chain",
                BPFTRACE,
            ),
            script("`bpftrace`, latencies", "one histogram", BPFTRACE_LATENCY),
        ]);
    }
    Ok(all)
}

/// Whether there is such a program; what is not there is told.
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
