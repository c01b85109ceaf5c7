//! `hugewise collapse`: makes the memory of a running process huge, proves it, and says what
//! the kernel refused and why.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_linux::collapse::{Heard, Target, Unusable, collapse};
use hugewise_linux::proc::smaps_rollup::read_smaps_rollup;
use hugewise_linux::root::Root;
use hugewise_linux::space::{Depth, Unread, read_space};
use hugewise_linux::stat::Waited;
use hugewise_linux::sys::thp::read_thp;
use hugewise_model::collapse::{
    Choice, Done, Ended, Plan, Report, plan, render_csv, render_markdown, render_text, report,
};
use hugewise_model::host::Fact;
use hugewise_model::inspection::Glob;
use hugewise_model::quantity::{parse_duration, parse_size};
use hugewise_model::space::{Sort, Space};

use crate::exit::{self, Exit};
use crate::forecast::{self, Seen, UsedBits, Watch};
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::{Format, Output};
use crate::stderr::say;

mod measure;

use measure::Measurement;

/// Flags of `collapse`.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH.",
    after_long_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH. Root has all three.\n\n\
                  Exit codes:  0 every range was tried (the report says which were refused),\n\
                  \x20            2 usage, 3 the process ended or became another program meanwhile,\n\
                  \x20            4 the kernel refuses or memory is short, 130 interrupted"
)]
pub struct Arguments {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,

    /// Only mappings whose name matches (`*`, `?`) or that hold an address (0x…)
    ///
    /// A word without `*` and `?` may be any part of the name; memory without a name is called
    /// anonymous. Files are taken only where this names them.
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    mapping: Option<Glob>,

    /// Only mappings used while they were watched (needs --touch-bits)
    ///
    /// At least half of a mapping must have been used.
    #[arg(hide_short_help = true, long, requires = "touch_bits")]
    hot: bool,

    /// Allow clearing the accessed bits of the process, to see which pages are used
    ///
    /// It is written to /proc/PID/clear_refs. No content changes, but the kernel also uses these
    /// bits to choose what to reclaim, and has to learn anew.
    #[arg(hide_short_help = true, long)]
    touch_bits: bool,

    /// Watch for TIME which pages are used [default: 5s]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = parse_duration, requires = "hot")]
    duration: Option<Duration>,

    /// Make at most SIZE huge
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,

    /// Show what would become huge; change nothing
    #[arg(long)]
    dry_run: bool,

    /// Watch the process for TIME before and after, and compare
    ///
    /// Ten windows on each side: processors in use, faults, resident memory. Nothing is shuffled,
    /// so whatever else changes meanwhile is in the difference.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "dry_run")]
    measure: Option<Duration>,

    #[command(flatten)]
    output: Output,
}

fn pattern(text: &str) -> Result<Glob, String> {
    if text.is_empty() {
        return Err("it is empty; memory without a name is called anonymous".to_owned());
    }
    Ok(Glob::new(text))
}

/// The share of a mapping that must have been used for it to be hot.
const HOT_SHARE: f64 = 0.5;

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    output::check_file(&arguments.output)?;
    let measurement = measure::asked(arguments.measure)?;
    let stop = Interrupt::catch()?;
    let target = Target::open(arguments.pid);
    if let (Err(unusable @ Unusable::NotPermitted { .. }), false) = (&target, arguments.dry_run) {
        return Err(refused(unusable));
    }
    let (space, seen) = look(&root, arguments, &stop)?;
    let plan = plan(&space, &choice(arguments));
    let report = if arguments.dry_run {
        if let Err(unusable) = target {
            tell(
                arguments,
                format_args!("this is a forecast only: {unusable}"),
            );
        }
        dry(&root, &space, &plan, seen)
    } else {
        let target = target.map_err(|unusable| refused(&unusable))?;
        let measurement = measurement.filter(|_| !plan.ranges.is_empty());
        act(&root, arguments, &space, &plan, &target, measurement, &stop)
    };
    let output = &arguments.output;
    output::emit(output, |format| rendered(&report, format, output))?;
    Ok(how_it_ended(&report.ended))
}

fn choice(arguments: &Arguments) -> Choice {
    Choice {
        mapping: arguments.mapping.clone(),
        hot_share: arguments.hot.then_some(HOT_SHARE),
        max_bytes: arguments.max_bytes,
    }
}

/// Reads the address space, after watching it where only used memory is wanted.
fn look(root: &Root, arguments: &Arguments, stop: &Interrupt) -> Result<(Space, Option<Seen>)> {
    let pid = arguments.pid;
    let seen = arguments.hot.then(|| watch(root, arguments, stop));
    let seen = seen.transpose()?;
    let huge_bytes = read_thp(root).ok().map(|thp| thp.pmd_bytes);
    let huge_bytes = huge_bytes.ok_or_else(|| {
        exit::refused("this kernel has no transparent huge pages, so no memory can be made huge")
    })?;
    let space = read_space(root, pid, Some(huge_bytes), Depth::Pages)
        .map_err(|unread| unreadable(pid, &unread))?;
    check(&space)?;
    Ok((space, seen))
}

/// Watches which memory is used.
fn watch(root: &Root, arguments: &Arguments, stop: &Interrupt) -> Result<Seen> {
    let time = arguments.duration.unwrap_or(forecast::WATCH);
    let watch = Watch::begin(root, arguments.pid, UsedBits::Clear, time)?;
    let seconds = time.as_secs_f64();
    tell(arguments, format_args!("watching for {seconds} s"));
    let seen = watch.finish(|time| {
        stop.wait(time);
        match stop.asked() {
            true => Waited::Over,
            false => Waited::Passed,
        }
    });
    match stop.asked() {
        true => Err(exit::interrupted("nothing was changed")),
        false => Ok(seen),
    }
}

/// What must hold of a process for anything to be possible.
fn check(space: &Space) -> Result<()> {
    let process = &space.process;
    let who = format!("process {} ({})", process.pid, process.command);
    match process.sort {
        Sort::KernelThread => {
            return Err(exit::usage(format!(
                "{who} is a thread of the kernel: it has no memory of its own"
            )));
        }
        Sort::Zombie => {
            return Err(exit::usage(format!("{who} has ended: its memory is gone")));
        }
        Sort::Program => {}
    }
    if process.thp_enabled == Some(false) {
        return Err(exit::refused(format!(
            "{who} has huge pages switched off (PR_SET_THP_DISABLE), by itself or by a parent \
             from which it is inherited; nothing can change that from outside: start it without"
        )));
    }
    if !space.read_with.page_scan.is_read() && !space.read_with.page_map.is_read() {
        return Err(exit::refused(format!(
            "the pages of {who} cannot be read, so nothing can be planned or proved"
        )));
    }
    Ok(())
}

fn unreadable(pid: u32, unread: &Unread) -> anyhow::Error {
    match unread {
        Unread::Gone => exit::usage(format!("there is no process {pid}")),
        other => exit::refused(format!("reading process {pid}: {other}")),
    }
}

fn refused(unusable: &Unusable) -> anyhow::Error {
    match unusable {
        Unusable::NoProcess { .. } => exit::usage(unusable),
        _ => exit::refused(unusable),
    }
}

fn dry(root: &Root, space: &Space, plan: &Plan, seen: Option<Seen>) -> Report {
    let done = Done {
        fates: Vec::new(),
        ended: Ended::DryRun,
        call_seconds: 0.0,
    };
    let mut report = report(space.process.pid, &space.process.command, plan, &done);
    let seen = seen.unwrap_or_else(|| Seen::nothing(root));
    report.forecast = Some(forecast::of(root, space, seen));
    report
}

fn act(
    root: &Root,
    arguments: &Arguments,
    space: &Space,
    plan: &Plan,
    target: &Target,
    measurement: Option<Measurement>,
    stop: &Interrupt,
) -> Report {
    let mut heard = Heard::open(root);
    let watch = |when: &str| {
        measurement.map(|measurement| {
            let seconds = measurement.side().as_secs_f64();
            tell(arguments, format_args!("measuring for {seconds} s {when}"));
            measurement.watch(root, arguments.pid, space.page_bytes, stop)
        })
    };
    let before = watch("before");
    let memory_before = memory(root, arguments.pid);
    let done = collapse(target, plan, &mut heard, stop.flag(), &mut |_| ());
    let memory_after = memory(root, arguments.pid);
    let mut report = report(space.process.pid, &space.process.command, plan, &done);
    (report.resident_before_bytes, report.huge_anon_before_bytes) = memory_before;
    (report.resident_after_bytes, report.huge_anon_after_bytes) = memory_after;
    report.reasons_missing = heard.missing().cloned();
    if done.ended == Ended::Finished
        && let (Some(measurement), Some(before)) = (measurement, before)
        && let Some(after) = watch("after")
    {
        report.measured = Some(measurement.compare(&before, &after));
    }
    report
}

/// Resident memory of a process, and what of it is huge and anonymous.
fn memory(root: &Root, pid: u32) -> (Fact<u64>, Fact<u64>) {
    match read_smaps_rollup(root, pid) {
        Ok(rollup) => (Ok(rollup.rss_bytes), Ok(rollup.huge_anon_bytes)),
        Err(error) => {
            let missing = error.into_missing("the same user id, or CAP_SYS_PTRACE");
            (Err(missing.clone()), Err(missing))
        }
    }
}

fn tell(arguments: &Arguments, line: impl std::fmt::Display) {
    if !arguments.output.quiet {
        say(line);
    }
}

fn rendered(report: &Report, format: Format, output: &Output) -> Result<String> {
    let mut text = String::new();
    match format {
        Format::Text => render_text(report, &output::style(output), &mut text)?,
        Format::Csv => render_csv(report, &mut text)?,
        Format::Markdown => render_markdown(report, output::style(output).verbose, &mut text)?,
        Format::Json => text = output::json(report)?,
    }
    Ok(text)
}

fn how_it_ended(ended: &Ended) -> Exit {
    match ended {
        Ended::Finished | Ended::DryRun => Exit::Done,
        Ended::Interrupted => Exit::Interrupted,
        Ended::ProcessEnded | Ended::BecameAnother => Exit::TrialFailed,
        Ended::NoMemory { .. } | Ended::NotPermitted { .. } => Exit::Refused,
    }
}
