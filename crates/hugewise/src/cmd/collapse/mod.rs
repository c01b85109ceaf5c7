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
use hugewise_model::base::missing::Fact;
use hugewise_model::base::units::{parse_duration, parse_size};
use hugewise_model::observe::address_space::{Sort, Space};
use hugewise_model::observe::collapse::{Attempt, Choice, End, Plan, Report, plan, report};
use hugewise_model::observe::inspect::view::Glob;
use hugewise_model::text::{to_markdown, to_text};

use crate::cli::{Format, Output};
use crate::exit::{self, Exit};
use crate::forecast::{self, Seen, UsedBits, Watch};
use crate::interrupt::Interrupt;
use crate::output;
use crate::say::say;

mod measure;

use measure::Measurement;

/// Flags of `collapse`.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs:       CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  \x20            CAP_DAC_READ_SEARCH. Root has all three.\n\
                  Exit codes:  0 every range was tried (the report says which were refused),\n\
                  \x20            2 usage, 3 the process ended or became another program,\n\
                  \x20            4 the kernel refuses or memory is short, 130 interrupted"
)]
pub struct Arguments {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,

    /// Only mappings whose name matches (`*`, `?`) or that hold an address (0x…)
    ///
    /// A word without `*` and `?` matches any part of the name; memory without a name is called
    /// anonymous. Files are included only if this names them.
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    mapping: Option<Glob>,

    /// Only mappings of which at least half is used while watched; see --touch-bits
    #[arg(long, requires = "touch_bits")]
    hot: bool,

    /// Allow clearing the accessed bits of the process, to see which memory is in use
    ///
    /// This writes to /proc/PID/clear_refs. No content changes, but the kernel uses the same bits
    /// to choose what to reclaim.
    #[arg(long)]
    touch_bits: bool,

    /// How long --hot watches [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "hot")]
    duration: Option<Duration>,

    /// Make at most this much memory huge
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,

    /// Only say what would be made huge and what it would add
    #[arg(long)]
    dry_run: bool,

    /// Watch the process this long before and after, and compare
    ///
    /// Ten windows on each side: CPU use, page faults, resident memory. They are not randomised: the
    /// change includes whatever else changes meanwhile.
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
            tell(arguments, format_args!("a forecast only: {unusable}"));
        }
        dry(&root, &space, &plan, seen)
    } else {
        let target = target.map_err(|unusable| refused(&unusable))?;
        let measurement = measurement.filter(|_| !plan.ranges.is_empty());
        act(&root, arguments, &space, &plan, &target, measurement, &stop)
    };
    show(&report, &arguments.output)?;
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
    let huge_bytes =
        huge_bytes.ok_or_else(|| exit::refused("this kernel has no transparent huge pages"))?;
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
                "{who} is a kernel thread: it has no memory of its own"
            )));
        }
        Sort::Zombie => {
            return Err(exit::usage(format!("{who} has ended: its memory is gone")));
        }
        Sort::Program => {}
    }
    if process.thp_enabled == Some(false) {
        return Err(exit::refused(format!(
            "{who} has huge pages switched off (PR_SET_THP_DISABLE){}; only the program can switch \
             them on again",
            match process.parent_thp_enabled {
                Some(true) => ", not inherited from its parent",
                Some(false) => ", inherited from its parent",
                None => "",
            }
        )));
    }
    if !space.read_with.page_scan.is_read() && !space.read_with.page_map.is_read() {
        return Err(exit::refused(format!(
            "the pages of {who} cannot be read, so no range can be planned or verified"
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
    let done = Attempt {
        fates: Vec::new(),
        ended: End::DryRun,
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
    if done.ended == End::Finished
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

fn show(report: &Report, output: &Output) -> Result<()> {
    if let Some(path) = &output.json {
        output::write_file(path, &rendered(report, Format::Json, output)?)?;
    }
    output::print(&rendered(report, output.format, output)?)
}

fn rendered(report: &Report, format: Format, output: &Output) -> Result<String> {
    let style = output::style(output);
    Ok(match format {
        Format::Text => to_text(&report.document(), &style),
        Format::Csv => report.csv(),
        Format::Markdown => to_markdown(&report.document(), style.verbose),
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
    })
}

fn how_it_ended(ended: &End) -> Exit {
    match ended {
        End::Finished | End::DryRun => Exit::Done,
        End::Interrupted => Exit::Interrupted,
        End::ProcessEnded | End::BecameAnother => Exit::TrialFailed,
        End::NoMemory { .. } | End::NotPermitted { .. } => Exit::Refused,
    }
}
