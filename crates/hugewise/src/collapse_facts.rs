//! The facts about this machine that a forecast needs.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_base::missing::{Fact, Missing};
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::accessed_bits::{clear_accessed_bits, read_used_where};
use hugewise_linux::observe::stat::WaitResult;
use hugewise_linux::observe::stat::activity::processor_time;
use hugewise_linux::observe::stat::subject::CountedProcess;
use hugewise_linux::observe::stat::walks::Walks;
use hugewise_linux::perf::open::KernelCounters;
use hugewise_linux::probe;
use hugewise_linux::sys::thp::read_thp;
use hugewise_linux::tlb::read_tlb;
use hugewise_observe::address_space::Space;
use hugewise_observe::doctor::{Feature, Support};
use hugewise_observe::forecast::{Forecast, ProcessorTime, Worth, bloat, worth};
use hugewise_observe::stat::WalkShare;

use crate::{exit, paths};

/// How long a process is watched by default.
pub const WATCH: Duration = Duration::from_secs(5);

/// How long a process is observed if the user did not ask to watch it.
const MOMENT: Duration = Duration::from_millis(500);

/// How often the watch checks whether the process has ended.
const SOON: Duration = Duration::from_millis(50);

/// How the accessed bits, which the processor sets on use, are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedBits {
    /// Clears them, so that later reads show only the pages used since.
    Clear,
    /// Leaves them unchanged.
    Keep,
}

/// A process under observation.
pub struct Watch<'a> {
    root: &'a Root,
    process: CountedProcess,
    walks: Walks<'a>,
    used_bits: UsedBits,
    clock: Clock,
}

impl<'a> Watch<'a> {
    /// Begins to watch for `time`: counts page walks if this machine can count them, and records which memory is used.
    pub fn begin(root: &'a Root, pid: u32, used_bits: UsedBits, time: Duration) -> Result<Self> {
        let process = CountedProcess::find(root, pid).map_err(|error| match error.kind {
            Kind::NotFound => exit::no_process(pid),
            _ => error.into(),
        })?;
        let walks = Walks::begin(root, &paths::host(root)?, &KernelCounters, &process, time);
        if used_bits == UsedBits::Clear {
            clear_used(root, pid)?;
        }
        Ok(Self {
            root,
            process,
            walks,
            used_bits,
            clock: Clock::start(pid),
        })
    }

    /// Watches until the time is over, the process ends, or `wait` asks to stop. Read the accessed bits afterwards.
    pub fn finish(self, mut wait: impl FnMut(Duration) -> WaitResult) -> Activity {
        let (root, process) = (self.root, self.process);
        let walks = self.walks.finish(|time| match process.runs(root) {
            true => wait(time.min(SOON)),
            false => WaitResult::Over,
        });
        let seconds = self.clock.began.elapsed().as_secs_f64();
        Activity {
            used_seconds: (self.used_bits == UsedBits::Clear).then_some(seconds),
            walks,
            processor: self.clock.stop(),
        }
    }
}

/// The activity of a process while it was watched.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Seconds since its accessed bits were cleared; `None` if they were not.
    used_seconds: Option<f64>,
    walks: Fact<WalkShare>,
    processor: Option<ProcessorTime>,
}

impl Activity {
    /// Measures for half a second whether the process uses the processor at all. The page walks are the reason why they
    /// were not counted.
    pub fn of_a_moment(root: &Root, pid: u32) -> Self {
        let clock = Clock::start(pid);
        std::thread::sleep(MOMENT);
        Self {
            used_seconds: None,
            walks: Err(not_counted(root)),
            processor: clock.stop(),
        }
    }
}

/// Measures the processor time of a process from its creation.
#[derive(Clone, Copy, Debug)]
struct Clock {
    pid: u32,
    began: Instant,
    began_ns: Option<u64>,
}

impl Clock {
    fn start(pid: u32) -> Self {
        Self {
            pid,
            began: Instant::now(),
            began_ns: processor_time(pid).ok(),
        }
    }

    /// Returns `None` if the process has ended.
    fn stop(self) -> Option<ProcessorTime> {
        let used_ns = processor_time(self.pid)
            .ok()?
            .saturating_sub(self.began_ns?);
        Some(ProcessorTime {
            used_seconds: Duration::from_nanos(used_ns).as_secs_f64(),
            seconds: self.began.elapsed().as_secs_f64(),
        })
    }
}

fn clear_used(root: &Root, pid: u32) -> Result<()> {
    clear_accessed_bits(root, pid).map_err(|error| match error.kind {
        Kind::NotFound => exit::no_process(pid),
        _ => exit::refused(format!(
            "{error}; needs the same user id, or CAP_DAC_OVERRIDE"
        )),
    })
}

/// The forecast for an address space of this machine.
pub fn of(root: &Root, space: &Space, activity: Activity) -> Forecast {
    let thp = read_thp(root).map_err(|error| error.into_missing("root"));
    Forecast {
        bloat: bloat(space, &thp),
        worth: Worth {
            processor: activity.processor,
            ..worth(
                space,
                read_tlb(root),
                activity.used_seconds,
                read_used_where(root),
                activity.walks,
            )
        },
    }
}

fn not_counted(root: &Root) -> Missing {
    let unreadable = |error: String| Missing::Unreadable { error };
    let answers = probe::answers_without_tracing(root, paths::environment());
    let examination = answers.and_then(|answers| probe::examine(root, &answers));
    match examination.map(|mut found| found.ladder.remove(&Feature::Cycles)) {
        Err(error) => unreadable(error.to_string()),
        Ok(Some(Support::No { missing })) => missing,
        Ok(Some(Support::Unknown { error })) => unreadable(error),
        Ok(Some(Support::Yes { .. }) | None) => Missing::NotAsked,
    }
}
