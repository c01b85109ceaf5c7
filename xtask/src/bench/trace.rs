//! Measures the cost of tracing the whole machine, compared with other tools, paired within rounds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use hugewise_linux::machine::root::Root;
use hugewise_linux::sys::cgroup::read_place;
use serde_json::Value;

use super::Arguments;
use super::faults::{FAST, SLOW_PER_SECOND, installed};
use super::load::Load;
use super::watched::{self, Folder};
use super::watcher::Watcher;
use crate::program;

/// Pages and passes of the file that is read at a cgroup's limit.
const FILE: (u64, u64) = (65_536, 4);

/// The cgroup's limit, in bytes: an eighth of the file with pages of 4 KiB.
const LIMIT: u64 = 32 << 20;

/// Printed by `hugewise trace` once it traces.
const BEGUN: &str = ": tracing ";

/// bpftrace's page faults, system-wide.
const BPFTRACE_FAULTS: &str = "software:page-faults:1 { @begun[tid] = nsecs; } \
    software:minor-faults:1 /@begun[tid]/ \
    { @latency = hist(nsecs - @begun[tid]); delete(@begun[tid]); }";

/// bpftrace's reclaims at the limit of a cgroup.
const BPFTRACE_RECLAIM: &str = "tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin \
    { @begun[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_memcg_reclaim_end /@begun[tid]/ \
    { @latency = hist(nsecs - @begun[tid]); delete(@begun[tid]); }";

/// The begin and end events of the same reclaims, for perf.
const RECLAIM_EVENTS: &str =
    "vmscan:mm_vmscan_memcg_reclaim_begin,vmscan:mm_vmscan_memcg_reclaim_end";

/// Other tools need tracefs for tracepoints. It is mounted only for them.
const WITH_TRACEFS: &str = "test -d /sys/kernel/tracing/events || \
    mount -t tracefs none /sys/kernel/tracing; exec \"$@\"";

/// Measures, and prints three tables in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab");
    let folder = Folder::new()?;
    let bench = |load: &Load, point: &str, watchers: Vec<Watcher>| -> Result<()> {
        let seen = seen(&program, &lab, &folder, load, point)?;
        println!(
            "{seen} times `{point}` while it happened to {} pages:\n",
            load.times()
        );
        watched::table(arguments, &lab, &folder, load, &watchers)
    };
    let own = Own {
        program: &program,
        folder: &folder,
    };
    println!("Page faults of the whole machine at full speed:\n");
    let fast = Load::pace(FAST.0, FAST.1, 0);
    bench(&fast, "fault", faults(&own))?;
    println!("\nWith work between the faults:\n");
    let slow = watched::slowed(&lab, &folder, SLOW_PER_SECOND)?;
    bench(&slow, "fault", faults(&own))?;
    println!("\nAllocations at the limit of a cgroup:\n");
    let group = Group::new(LIMIT)?;
    // Not the folder of temporary files: it can be in memory, without a page cache.
    let pressure = Load::pressure(FILE.0, FILE.1, Path::new("target"), &group.0);
    bench(&pressure, "cgroup_reclaim", reclaim(&own))
}

/// The program as a watcher.
struct Own<'a> {
    program: &'a Path,
    folder: &'a Folder,
}

impl Own<'_> {
    fn watcher(&self, name: &str, presets: &[&str]) -> Watcher {
        let mut words = vec![self.program.display().to_string(), "trace".to_owned()];
        words.extend(presets.iter().map(|&preset| preset.to_owned()));
        words.extend(["--json".to_owned(), self.document()]);
        Watcher::beside(name, "histograms, percentiles", words, BEGUN)
    }

    fn document(&self) -> String {
        self.folder.file("trace.json")
    }

    fn perf(&self, words: &[&str]) -> Vec<String> {
        let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        words.extend([
            "-o".to_owned(),
            self.folder.file("perf.out"),
            "--".to_owned(),
        ]);
        words
    }
}

fn faults(own: &Own<'_>) -> Vec<Watcher> {
    let mut all = vec![own.watcher("`hugewise trace fault`", &["fault"])];
    if installed("bpftrace") {
        let words = ["bpftrace", "-e", BPFTRACE_FAULTS, "-c"].map(str::to_owned);
        all.push(Watcher::around(
            "`bpftrace`",
            "one histogram",
            words.to_vec(),
        ));
    }
    if installed("perf") {
        let record = ["perf", "record", "-q", "-a", "-c", "1"];
        let record = [&record[..], &["-e", "page-faults,minor-faults"]].concat();
        let trace = ["perf", "trace", "-a", "-F", "all", "--no-syscalls"];
        all.push(Watcher::before(
            "`perf record`, both ends",
            "a file of samples",
            own.perf(&record),
        ));
        let lines = "a line a fault; no latencies";
        all.push(Watcher::before("`perf trace -F all`", lines, own.perf(&trace)).shorter_by(8));
    }
    all
}

fn reclaim(own: &Own<'_>) -> Vec<Watcher> {
    let mut all = vec![
        own.watcher("`hugewise trace reclaim`", &["reclaim"]),
        own.watcher("`hugewise trace`, all of its defaults", &[]),
    ];
    let with_tracefs = |words: Vec<String>| {
        let around = ["unshare", "-m", "sh", "-c", WITH_TRACEFS, "sh"].map(str::to_owned);
        [around.to_vec(), words].concat()
    };
    if installed("bpftrace") {
        let words = ["bpftrace", "-e", BPFTRACE_RECLAIM, "-c"].map(str::to_owned);
        let words = with_tracefs(words.to_vec());
        all.push(Watcher::around("`bpftrace`", "one histogram", words));
    }
    if installed("perf") {
        let record = ["perf", "record", "-q", "-a", "-e", RECLAIM_EVENTS];
        let trace = ["perf", "trace", "-a", "--no-syscalls", "-e", RECLAIM_EVENTS];
        for (name, delivers, words) in [
            ("`perf record`, both ends", "a file of samples", &record[..]),
            ("`perf trace`", "a line an end; no latencies", &trace),
        ] {
            let words = with_tracefs(own.perf(words));
            all.push(Watcher::before(name, delivers, words));
        }
    }
    all
}

/// Returns how often the program observes a point while a workload runs: a missed event costs nothing, and would look
/// cheap.
fn seen(program: &Path, lab: &Path, folder: &Folder, load: &Load, point: &str) -> Result<u64> {
    let own = Own { program, folder };
    own.watcher("", &[point_preset(point)])
        .run(load.words(lab, &folder.file("said")))?;
    let text = fs::read_to_string(own.document())?;
    let trace: Value = serde_json::from_str(&text)?;
    let points = trace["total"]["points"].as_array();
    let count = points.into_iter().flatten().find_map(|seen| {
        (seen["name"] == point)
            .then(|| seen["all"]["count"].as_u64())
            .flatten()
    });
    let count = count.with_context(|| format!("no {point} in {text}"))?;
    ensure!(count > 0, "{point} was never seen");
    Ok(count)
}

fn point_preset(point: &str) -> &str {
    match point {
        "cgroup_reclaim" => "reclaim",
        other => other,
    }
}

/// A memory cgroup with a limit; removed on drop.
struct Group(PathBuf);

impl Group {
    fn new(limit: u64) -> Result<Self> {
        let root = Root::real();
        let place = read_place(&root)?.context("no memory cgroups here")?;
        let name = format!("{}/hugewise-bench-{}", place.mount, std::process::id());
        let group = Self(root.path(name));
        fs::create_dir(&group.0).context("making a cgroup; needs root")?;
        let file = match place.version {
            1 => "memory.limit_in_bytes",
            _ => "memory.max",
        };
        fs::write(group.0.join(file), limit.to_string()).context("limiting a cgroup")?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
