//! `hugewise trace`: how long the kernel stalls, and where.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::units::{parse_duration, parse_size};
use hugewise_linux::bpf::Tracer;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::process::{HeldProcess, numbers_are_global};
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::kallsyms::read_kallsyms;
use hugewise_observe::trace::{Attachment, FORMAT, MissingPoint, Trace, TracePoint};
use hugewise_text::wrap::plain;

use crate::exit::{self, Exit};
use crate::file;
use crate::interrupt::Interrupt;
use crate::options::PageFile;
use crate::output::{self, Output};
use crate::process_name::parse_process;
use crate::stderr::message;

mod points;
mod progress;
mod session;

use session::Session;

/// Flags of `trace`.
#[derive(Debug, Args)]
#[command(
    mut_arg("verbose", |it| it.help("Show histograms, and how each point is attached")),
    after_help = "Presets:  alloc, compaction, reclaim, khugepaged, zeroing, split (the default);\n\
                  \x20         fault and lock (these cost something per page fault and per lock); all"
)]
pub struct Arguments {
    /// Presets, or kernel functions
    #[arg(value_name = "PRESET|FUNCTION")]
    what: Vec<String>,

    /// A running process with its threads and descendants
    #[arg(long, short, value_name = "PID|NAME", value_parser = parse_process)]
    pid: Option<u32>,

    /// Watch a process fill its memory
    #[arg(long, value_name = "PID|NAME", value_parser = parse_process, conflicts_with_all = ["what", "pid", "means", "html"])]
    progress: Option<u32>,

    /// Memory that it will have [default: of its mappings]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "progress")]
    target: Option<u64>,

    /// Stop after TIME [default: on Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Also print each interval of TIME
    #[arg(long, short = 'I', value_name = "TIME", value_parser = parse_duration)]
    interval: Option<Duration>,

    /// Attach only by these: fentry, kprobe, tp_btf, raw_tp, tracepoint, perf_event
    ///
    /// For comparing them; the default is the cheapest that works.
    #[arg(hide_short_help = true, long, value_name = "MEANS", value_delimiter = ',', value_parser = parse_means)]
    means: Vec<Attachment>,

    /// Report again from a page or from the file of --json
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["what", "pid", "progress", "duration", "interval", "means"])]
    replay: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    output: Output,
}

fn parse_means(word: &str) -> Result<Attachment, String> {
    let found = Attachment::ALL
        .iter()
        .find(|attachment| attachment.name() == word);
    found.copied().ok_or_else(|| {
        let all: Vec<&str> = Attachment::ALL
            .iter()
            .map(|attachment| attachment.name())
            .collect();
        format!("there are {}", all.join(", "))
    })
}

/// Runs the verb. Ctrl-C is not a failure, because it ends most traces.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    arguments.page.check()?;
    if let Some(path) = &arguments.replay {
        session::report(&replayed(path)?, arguments)?;
        return Ok(Exit::Done);
    }
    let root = Root::real();
    check_times(arguments)?;
    if let Some(pid) = arguments.progress {
        return progress::run(arguments, pid);
    }
    let points = points::chosen(&arguments.what, &read_kallsyms(&root).unwrap_or_default())?;
    let process = arguments.pid.map(|pid| watched(&root, pid)).transpose()?;
    output::check_file(&arguments.output)?;
    let interrupt = Interrupt::catch()?;
    let (tracer, missing) = Tracer::start_by(&root, &points, arguments.pid, |attachment| {
        arguments.means.is_empty() || arguments.means.contains(&attachment)
    })?;
    let mut session = Session::new(tracer, arguments);
    let nothing = session.points().is_empty();
    if !nothing {
        session.begin()?;
    }
    // Anyone who waits for this line before starting the traced work finds that work in the first window.
    if !arguments.output.quiet {
        announce(session.points(), &missing);
    }
    if !nothing {
        session
            .run(|| interrupt.asked() || process.as_ref().is_some_and(HeldProcess::has_ended))?;
        if process.is_some_and(|process| process.has_ended()) && !arguments.output.quiet {
            message("the process has ended");
        }
    }
    session.finish(missing)?;
    Ok(if nothing { Exit::Refused } else { Exit::Done })
}

fn replayed(path: &Path) -> Result<Trace> {
    let wrong = |why: &dyn Display| exit::usage(format!("--replay {}: {why}", path.display()));
    let bytes = file::read_recording(path).map_err(|error| wrong(&error))?;
    let trace: Trace = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(&format_args!("not a trace: {error}")))?;
    match trace.format == FORMAT {
        true => Ok(trace),
        false => Err(wrong(&format_args!(
            "it is {}, not {FORMAT}",
            plain(&trace.format)
        ))),
    }
}

fn check_times(arguments: &Arguments) -> Result<()> {
    /// Shorter intervals are refused, because reading and clearing the counts takes time.
    const SHORTEST: Duration = Duration::from_millis(10);
    let times = [
        ("--duration", arguments.duration),
        ("--interval", arguments.interval),
    ];
    for (flag, time) in times {
        if time.is_some_and(|time| time < SHORTEST) {
            return Err(exit::usage(format!("{flag} is too short; at least 10ms")));
        }
    }
    Ok(())
}

fn watched(root: &Root, pid: u32) -> Result<HeldProcess> {
    if !numbers_are_global(root) {
        return Err(exit::refused(
            "-p: kernel tracing does not know the PIDs of a container; run hugewise outside of \
             it, or without -p",
        ));
    }
    held("-p", pid)
}

/// The process of a flag, which stays this one if its PID is reused.
fn held(flag: &str, pid: u32) -> Result<HeldProcess> {
    HeldProcess::open(pid).map_err(|error| match error.kind {
        Kind::NotFound => exit::no_process(pid),
        _ => exit::usage(format!("{flag} {pid}: {error}")),
    })
}

fn announce(traced: &[TracePoint], missing: &[MissingPoint]) {
    if traced.is_empty() {
        message("none of this can be traced here");
        return;
    }
    let all = missing.len() + traced.len();
    let what = match traced {
        [point] if all == 1 => point.title.clone(),
        _ => format!("{} of {all} points", traced.len()),
    };
    message(format_args!("tracing {what}; Ctrl-C stops and reports"));
}
