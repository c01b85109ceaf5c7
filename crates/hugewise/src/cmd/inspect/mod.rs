//! `hugewise inspect`: why the memory of a running process is huge or not, range by range.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_linux::root::Root;
use hugewise_linux::space::{Depth, Unread, read_settings, read_space};
use hugewise_linux::stat::Waited;
use hugewise_model::base::units::parse_duration;
use hugewise_model::observe::address_space::Space;
use hugewise_model::observe::inspect::reasons::{Code, Settings};
use hugewise_model::observe::inspect::view::{Brief, Glob, Inspection};
use hugewise_model::text::{Style, to_text};

use crate::cli::Output;
use crate::exit::{self, Exit};
use crate::file;
use crate::forecast::{self, Seen, UsedBits, Watch};
use crate::options::parse_interval;
use crate::say::say;

mod give;
mod target;
mod watch;

use target::Targets;

/// How long the frames of one process may take to read.
const FRAMES: Duration = Duration::from_secs(10);

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Process numbers or program names [default: all processes]
    #[arg(value_name = "PID|NAME")]
    targets: Vec<String>,

    /// A process number
    #[arg(short, long, value_name = "PID")]
    pid: Vec<u32>,

    /// All processes, one line each
    #[arg(short, long, conflicts_with_all = ["targets", "pid", "cgroup"])]
    all: bool,

    /// The processes of a cgroup and of the groups below it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["targets", "pid"])]
    cgroup: Option<String>,

    /// Explain a reason, such as VMA_SMALL; without a name list all
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "", exclusive = true)]
    explain: Option<String>,

    /// Only mappings whose name matches (`*`, `?`) or that hold an address (0x…)
    #[arg(long, value_name = "GLOB")]
    mapping: Option<String>,

    /// Draw the address space, one cell per huge-page range
    #[arg(long)]
    map: bool,

    /// Also say whether the TLB reaches the memory, and what huge pages would add
    #[arg(long, conflicts_with_all = ["all", "cgroup", "watch", "map"])]
    forecast: bool,

    /// Allow clearing the accessed bits of the process, to see which memory is in use [for 5 s]
    ///
    /// This writes to /proc/PID/clear_refs. No content changes, but the kernel uses the same bits
    /// to choose what to reclaim.
    #[arg(long, requires = "forecast")]
    touch_bits: bool,

    /// Repeat at this interval (2s, 500ms) and show what changed
    #[arg(long, value_name = "INTERVAL", value_parser = parse_interval)]
    watch: Option<Duration>,

    /// Stop watching after this time; with --forecast: count page walks this long
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Judge again what `--format json` has written
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["targets", "pid", "all", "cgroup", "watch"])]
    from: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if let Some(name) = &arguments.explain {
        return explain(name);
    }
    if arguments.duration.is_some() && arguments.watch.is_none() && !arguments.forecast {
        return Err(exit::usage("--duration belongs to --watch or --forecast"));
    }
    if let Some(path) = &arguments.from {
        give::one(&again(path)?, arguments)?;
        return Ok(Exit::Done);
    }
    let root = Root::real();
    match target::find(&root, arguments)? {
        Targets::One(pid) if arguments.watch.is_some() => watch::watch(&root, pid, arguments),
        Targets::One(pid) => {
            let seen = arguments.forecast.then(|| seen(&root, pid, arguments));
            let seen = seen.transpose()?;
            let mut inspection = inspect(&root, pid, |space, settings| {
                give::judged(space, settings, arguments)
            })?;
            inspection.forecast = seen.map(|seen| forecast::of(&root, &inspection.space, seen));
            give::one(&inspection, arguments)?;
            // The program ends here: what many mappings hold goes with it, not piece by piece.
            std::mem::forget(inspection);
            Ok(Exit::Done)
        }
        Targets::Many(_) if arguments.watch.is_some() => {
            Err(exit::usage("--watch takes one process; name one"))
        }
        Targets::Many(pids) => many(&root, &pids, arguments),
    }
}

/// Watches the process for its forecast, where that was asked for.
fn seen(root: &Root, pid: u32, arguments: &Arguments) -> Result<Seen> {
    let used_bits = match (arguments.touch_bits, arguments.duration) {
        (true, _) => UsedBits::Clear,
        (false, Some(_)) => UsedBits::Keep,
        (false, None) => return Ok(Seen::nothing(root)),
    };
    let time = arguments.duration.unwrap_or(forecast::WATCH);
    let watch = Watch::begin(root, pid, used_bits, time)?;
    if watch.is_of_use() && !arguments.output.quiet {
        say(format_args!("watching for {} s", time.as_secs_f64()));
    }
    Ok(watch.finish(|time| {
        std::thread::sleep(time);
        Waited::Passed
    }))
}

/// Reads and judges one process.
fn inspect(
    root: &Root,
    pid: u32,
    judged: impl FnOnce(Space, Settings) -> Inspection,
) -> Result<Inspection> {
    look(root, pid, Depth::Frames(FRAMES), judged)?.map_err(|why| {
        let sentence = format!("process {pid}: {why}");
        match why {
            Unread::Gone => exit::usage(sentence),
            Unread::Failed(error) => anyhow::Error::new(error).context(format!("process {pid}")),
            _ => exit::refused(sentence),
        }
    })
}

fn look(
    root: &Root,
    pid: u32,
    depth: Depth,
    judged: impl FnOnce(Space, Settings) -> Inspection,
) -> Result<Result<Inspection, Unread>> {
    let settings = read_settings(root, pid)?;
    let huge_bytes = settings.thp.as_ref().ok().map(|thp| thp.pmd_bytes);
    let space = read_space(root, pid, huge_bytes, depth);
    Ok(space.map(|space| judged(space, settings)))
}

/// One line for each process. Who comes and goes meanwhile is no error among many.
fn many(root: &Root, pids: &[u32], arguments: &Arguments) -> Result<Exit> {
    if arguments.map || arguments.mapping.is_some() || arguments.forecast {
        return Err(exit::usage(
            "--map, --mapping and --forecast take one process; name one",
        ));
    }
    let mut briefs = Vec::new();
    let mut refused = 0_u32;
    for &pid in pids {
        match look(root, pid, Depth::Pages, Inspection::in_short)? {
            Ok(inspection) => briefs.extend(Brief::of(&inspection)),
            Err(Unread::NotPermitted { .. }) => refused += 1,
            Err(Unread::Failed(error)) => say(format_args!("process {pid}: {error}")),
            Err(_) => {}
        }
    }
    give::many(&briefs, arguments)?;
    if refused > 0 && !arguments.output.quiet {
        say(format_args!(
            "not read: {refused} of {} processes; they need the same user id, or CAP_SYS_PTRACE",
            pids.len()
        ));
    }
    Ok(Exit::Done)
}

/// All about a reason, or the list of all.
fn explain(name: &str) -> Result<Exit> {
    let style = Style::default();
    if name.is_empty() {
        crate::output::print(&to_text(&Code::list(), &style))?;
        return Ok(Exit::Done);
    }
    let code = Code::named(name).ok_or_else(|| {
        exit::usage(format!(
            "--explain {name}: there is no such reason; --explain alone lists them all"
        ))
    })?;
    crate::output::print(&to_text(&code.explained(), &style))?;
    Ok(Exit::Done)
}

fn again(path: &std::path::Path) -> Result<Inspection> {
    let name = path.display();
    let bytes = file::read(path).map_err(|e| exit::usage(format!("--from {name}: {e}")))?;
    let read: Inspection = serde_json::from_slice(&bytes)
        .map_err(|error| exit::usage(format!("--from {name}: not an inspection: {error}")))?;
    Ok(Inspection::of(read.space, read.settings))
}

/// The pattern of `--mapping`.
fn glob(arguments: &Arguments) -> Option<Glob> {
    arguments.mapping.as_deref().map(Glob::new)
}
