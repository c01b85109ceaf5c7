//! `hugewise live`: an experiment inside a process that runs. Its memory is switched between huge and small
//! pages, and its work is counted in each period.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use clap::Args;
use hugewise_base::units::{bytes_text, parse_duration, parse_size};
use hugewise_linux::live::{CpuUsage, Halt};
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::Purpose;
use hugewise_linux::sys::thp::read_thp;
use hugewise_live::{Guard, LatencySource, Source};

use crate::exit::{self, Exit};
use crate::experiment::rounds::Scout;
use crate::experiment::stdin::{Input, with_input};
use crate::interrupt::Interrupt;
use crate::options::{Demands, Options, PageFile, parse_share, parse_time};
use crate::output::{self, Output};
use crate::process_name::parse_process;
use crate::stderr::message;
use crate::turn::{self, Wait};

mod by;
mod calibrate;
mod guards;
mod latency;
mod life;
mod period;
mod preview;
mod program;
mod rounds;
mod session;
mod sites;
mod starts;
mod unit;
mod work;

use by::By;
use life::Life;
use program::Program;
use rounds::Cast;
pub use starts::InsideStarts;
use unit::Unit;

/// Flags of `live`.
#[derive(Debug, Args)]
#[command(
    mut_arg("html", |it| it.hide_short_help(true)),
    mut_arg("json", |it| it.hide_short_help(true)),
    mut_arg("fail_if", |it| it.hide_short_help(true)),
    after_help = "Needs CAP_SYS_NICE, and more for processes of other users: see --help.",
    after_long_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH. Root has all three. No content of memory changes, nothing is\n\
                  stopped, and the pages are put back as they were found: at the end, on signals,\n\
                  and by a second process if this one is killed.\n\n\
                  Exit codes:  0 done, 2 usage, 3 the process ended, a guard was broken or free\n\
                  \x20            memory ran short, 4 not possible here, 5 a --fail-if condition\n\
                  \x20            holds, 6 another experiment has the machine, 7 --strict: in doubt,\n\
                  \x20            130 interrupted"
)]
pub struct Arguments {
    /// A running process
    #[arg(value_name = "PID|NAME", value_parser = parse_process, required_unless_present_any = ["pid", "cgroup", "command"])]
    process: Option<u32>,

    /// A running process
    #[arg(hide_short_help = true, short, long, value_name = "PID|NAME", value_parser = parse_process, conflicts_with_all = ["process", "cgroup"])]
    pid: Option<u32>,

    /// All processes of a cgroup, by its path
    ///
    /// The path is that below the mount point.
    #[arg(long, value_name = "GROUP", conflicts_with = "process")]
    cgroup: Option<String>,

    /// A program to start, again whenever it ends
    ///
    /// Each round is measured within one start, and the last start is ended when the experiment is over.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["process", "pid", "cgroup", "dry_run"])]
    command: Vec<OsString>,

    /// Count of its work, e.g. redis:6379 [default: chosen]
    ///
    /// A number that grows as the process works. Counters of servers: redis:PORT, memcached:PORT (HOST:PORT
    /// elsewhere, #FIELD for another field), postgres:DSN (by psql), http://HOST/PATH#METRIC (text of
    /// Prometheus), cmd:COMMAND (prints the number). Acts of the process: uprobe:FILE:SYMBOL (calls of
    /// a function), usdt:FILE:PROVIDER:NAME (a static probe), syscalls or syscalls:NAME,NAME, instructions, io
    /// (bytes read and written). Without it: a redis, memcached or postgres that listens, else system
    /// calls if there are 1000 a second or more, else io; of a COMMAND io if it reads and writes
    /// all the time, else system calls. REDISCLI_AUTH holds the password of redis.
    #[arg(long, value_name = "SOURCE")]
    work: Option<Source>,

    /// Latency of its requests, e.g. redis:6379
    ///
    /// Adds the median and the 99th percentile of each period to the report; they do not decide. The source is a
    /// histogram of the application: redis:PORT (Redis 7; #get for one command), or http://HOST/PATH#METRIC (text of
    /// Prometheus, METRIC without _bucket).
    #[arg(long, value_name = "SOURCE")]
    latency: Option<LatencySource>,

    /// End if this holds, e.g. 'work_per_second < 100'
    ///
    /// Repeat for more. The metric is memory_pressure_ratio (the share of time in which a task waits
    /// for memory), a metric of the report, or a source as --work takes it. Of a source the growth per second counts:
    /// 'redis:6379#rejected_connections > 0'. `live` looks at it after each period. Memory pressure of
    /// 10 % ends it in any case.
    #[arg(long, value_name = "COND")]
    guard: Vec<Guard>,

    /// Which memory earns the effect: mapping
    ///
    /// `mapping` switches up to seven of the largest mappings separately, and the small ones
    /// together. The periods are the rows of a design as `attribute` has it, in random order. The report
    /// shows the effect of each mapping. The calls that mapped memory in use are not known: `hugewise
    /// attribute --by site -- COMMAND` records them at a start.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["command", "latency", "fail_if", "strict", "threshold"])]
    by: Option<By>,

    /// Show what would be switched, and its price
    #[arg(long)]
    dry_run: bool,

    /// No call may hold up the process for longer [default: 1ms]
    ///
    /// A call splits as many blocks as fit. Making pages huge holds the process up block by block.
    /// One block can still take longer; the report names the longest call.
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = parse_duration)]
    max_stall: Option<Duration>,

    /// Switch at most SIZE
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,

    /// Length of a period [default: so that switching takes 10 % of the time at most]
    ///
    /// The default also leaves blocks out if all would take too long. With this flag none is left out.
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = parse_duration)]
    period: Option<Duration>,

    /// End after TIME, e.g. 5m [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_time: Option<Duration>,

    /// Measure at most N rounds of two periods each [default: as many as the time allows]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_rounds: Option<u32>,

    /// Smallest effect that matters [default: 1%]
    #[arg(hide_short_help = true, long, value_name = "SHARE", value_parser = parse_share)]
    threshold: Option<f64>,

    /// Wait for another experiment: TIME at the most, or no
    #[arg(hide_short_help = true, long, value_name = "TIME|no")]
    wait: Option<Wait>,

    /// Seed of the order of periods [default: from the clock]
    #[arg(hide_short_help = true, long, value_name = "N")]
    seed: Option<u64>,

    /// Give both policies small pages: a test of the experiment itself
    #[arg(hide = true, long)]
    placebo: bool,

    /// Write the record to FILE, which must be new
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    page: PageFile,

    #[command(flatten)]
    demands: Demands,

    #[command(flatten)]
    output: Output,
}

/// The longest call if none is asked for.
const MAX_STALL: Duration = Duration::from_millis(1);
/// The time if none is asked for.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    output::check_file(&arguments.output)?;
    arguments.page.check()?;
    let stop = Interrupt::catch()?;
    if !arguments.command.is_empty() {
        let options = Options {
            command: arguments.command.clone(),
            ..Options::default()
        };
        let input = Input::of_trials(&options)?;
        let options = with_input(options, input.as_ref());
        return inside(&root, &options, arguments, &stop);
    }
    let unit = Unit::find(&root, arguments)?;
    if arguments.dry_run {
        return preview::show(&root, &unit, arguments);
    }
    let counter = work::choose(&root, &unit, work::Kind::Processes, arguments)?;
    let (turn, ()) = turn::take_with(Purpose::Measure, arguments.wait, || Ok(()))?;
    let most = arguments.max_bytes.map(|bytes| bytes / unit.huge_bytes);
    let cast = Cast {
        life: Life::begin(&root, unit, counter, most, arguments)?,
        program: None,
    };
    let ended = rounds::run(&root, cast, arguments, &stop);
    drop(turn);
    rounds::report(ended?, arguments)
}

/// Starts the command of an experiment, and measures inside it.
pub fn inside(
    root: &Root,
    options: &Options,
    arguments: &Arguments,
    stop: &Interrupt,
) -> Result<Exit> {
    let (turn, ()) = turn::take_with(Purpose::Measure, arguments.wait, || Ok(()))?;
    let mut program = Program::new(root, options, stop)?;
    let most = arguments.max_bytes;
    let most = most.map(|bytes| Ok::<u64, Error>(bytes / read_thp(root)?.pmd_bytes));
    let life = program.next(most.transpose()?, arguments)?;
    let cast = Cast {
        life: life.ok_or_else(|| halted(&Halt::Interrupted))?,
        program: Some(program),
    };
    let ended = rounds::run(root, cast, arguments, stop);
    drop(turn);
    rounds::report(ended?, arguments)
}

/// Looks whether a long trial of `run` can be measured inside.
#[derive(Debug)]
pub struct Inside<'a> {
    root: &'a Root,
}

impl<'a> Inside<'a> {
    /// Prepares the look.
    pub fn new(root: &'a Root) -> Self {
        Self { root }
    }
}

/// The share of a program's memory that must be switched for the rest not to matter.
const LEAST_SHARE: f64 = 0.25;

impl Scout for Inside<'_> {
    fn look(&self) -> Result<String, String> {
        let source = opened(self.root, std::process::id(), u64::MAX).and_then(|unit| {
            let counter = work::fitting(self.root, &unit, work::Kind::Program)?;
            Ok(counter.source().to_string())
        });
        source.map_err(|error| format!("{error:#}"))
    }
}

/// Opens the processes below one whose memory can be switched, at most `most` bytes of it.
///
/// # Errors
/// That is too small a part of their memory.
fn opened(root: &Root, ancestor: u32, most: u64) -> Result<Unit> {
    let looked = program::look(root, ancestor)?;
    if looked.blocks == 0 {
        let why = looked
            .why
            .map_or_else(String::new, |why| format!(": {why}"));
        return Err(anyhow!("no memory can be switched{why}"));
    }
    let unit = Unit::open(root, &looked.pids)?;
    let resident = CpuUsage::read(root, &looked.pids).resident_pages * unit.page_bytes;
    let switched = (looked.blocks * unit.huge_bytes).min(most);
    if (switched as f64) < LEAST_SHARE * resident as f64 {
        return Err(anyhow!(
            "only {} of {} can be switched",
            bytes_text(switched),
            bytes_text(resident)
        ));
    }
    Ok(unit)
}

impl Arguments {
    /// Returns the flags of an experiment inside the runs of a command of `run`.
    pub fn of_run(
        options: &Options,
        work: Source,
        max_time: Duration,
        out: Option<PathBuf>,
        page: PageFile,
        output: Output,
    ) -> Self {
        Self {
            process: None,
            pid: None,
            cgroup: None,
            command: options.command.clone(),
            work: Some(work),
            latency: None,
            guard: Vec::new(),
            by: None,
            dry_run: false,
            max_stall: None,
            max_bytes: None,
            period: None,
            max_time: Some(max_time),
            max_rounds: None,
            threshold: options.threshold,
            wait: options.wait,
            seed: options.seed,
            placebo: false,
            out,
            page,
            demands: options.demands.clone(),
            output,
        }
    }

    /// Returns the flags of the periods inside a server of `run --service`.
    fn of_server(options: &Options, max_time: Duration, output: Output) -> Self {
        let page = PageFile::default();
        Self {
            work: None,
            ..Self::of_run(options, Source::Io, max_time, None, page, output)
        }
    }

    fn max_stall(&self) -> Duration {
        self.max_stall.unwrap_or(MAX_STALL)
    }

    fn max_time(&self) -> Duration {
        self.max_time.unwrap_or(MAX_TIME)
    }

    /// Prints a line on stderr, unless that is to be quiet.
    fn message(&self, line: impl std::fmt::Display) {
        if !self.output.quiet {
            message(line);
        }
    }
}

/// The error of a halt before anything was measured.
fn halted(halt: &Halt) -> Error {
    match halt {
        Halt::Interrupted => exit::interrupted("nothing was measured yet"),
        Halt::Ended => exit::trial_failed("the process ended, or became another program"),
        Halt::Short(short) => exit::refused(format!("nothing was measured: {short}")),
    }
}
