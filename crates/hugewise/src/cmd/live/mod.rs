//! `hugewise live`: an experiment inside a process that runs. Its memory is switched between huge and small
//! pages, and its work is counted in each period.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::units::{parse_duration, parse_size};
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::Purpose;
use hugewise_live::{Guard, LatencySource, Source};

use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::options::{Demands, PageFile, parse_share, parse_time};
use crate::output::{self, Output};
use crate::process_name::parse_process;
use crate::stderr::message;
use crate::turn::{self, Wait};

mod calibrate;
mod guards;
mod latency;
mod period;
mod preview;
mod rounds;
mod session;
mod unit;
mod work;

use latency::Latency;
use period::Sources;
use session::Session;
use unit::Unit;

/// Flags of `live`.
#[derive(Debug, Args)]
#[command(
    mut_arg("html", |it| it.hide_short_help(true)),
    mut_arg("fail_if", |it| it.hide_short_help(true)),
    after_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH.",
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
    #[arg(value_name = "PID|NAME", value_parser = parse_process, required_unless_present_any = ["pid", "cgroup"])]
    process: Option<u32>,

    /// A running process
    #[arg(hide_short_help = true, short, long, value_name = "PID|NAME", value_parser = parse_process, conflicts_with_all = ["process", "cgroup"])]
    pid: Option<u32>,

    /// All processes of a cgroup, by its path
    ///
    /// The path is that below the mount point.
    #[arg(long, value_name = "GROUP", conflicts_with = "process")]
    cgroup: Option<String>,

    /// Count of its work, e.g. redis:6379 [default: chosen]
    ///
    /// A number that grows as the process works. Counters of servers: redis:PORT, memcached:PORT (HOST:PORT
    /// elsewhere, #FIELD for another field), postgres:DSN (by psql), http://HOST/PATH#METRIC (text of
    /// Prometheus), cmd:COMMAND (prints the number). Acts of the process: uprobe:FILE:SYMBOL (calls of
    /// a function), usdt:FILE:PROVIDER:NAME (a static probe), syscalls or syscalls:NAME,NAME, instructions, io
    /// (bytes read and written). Without it: a redis, memcached or postgres that listens, else system
    /// calls if there are 1000 a second or more, else io. REDISCLI_AUTH holds the password of redis.
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

    /// Show what would be switched, and its price
    #[arg(long)]
    dry_run: bool,

    /// No call may hold up the process for longer [default: 1ms]
    ///
    /// Blocks are switched a few in a call, as many as fit. A call of one block can still take longer;
    /// the report names the longest.
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
    let unit = Unit::find(&root, arguments)?;
    if arguments.dry_run {
        return preview::show(&root, &unit, arguments);
    }
    let mut sources = Sources {
        work: work::choose(&root, &unit, arguments)?,
        latency: arguments.latency.as_ref().map(Latency::open).transpose()?,
    };
    let (turn, ()) = turn::take_with(Purpose::Measure, arguments.wait, || Ok(()))?;
    let mut session = Session::begin(&root, &unit, arguments)?;
    let ended = rounds::run(&root, &unit, &mut sources, &mut session, arguments, &stop);
    let left = session.end();
    drop(turn);
    rounds::report(ended?, left, arguments)
}

impl Arguments {
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
fn halted(halt: &hugewise_linux::live::Halt) -> anyhow::Error {
    use hugewise_linux::live::Halt;
    match halt {
        Halt::Interrupted => exit::interrupted("nothing was measured yet"),
        Halt::Ended => exit::trial_failed("the process ended, or became another program"),
        Halt::Short(short) => exit::refused(format!("nothing was measured: {short}")),
    }
}
