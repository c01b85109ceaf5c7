//! Observes one trial: the machine before it, the tree during it, the main process at its end, and the machine after
//! it.
//!
//! The cost of readings during the run is bounded. The thread that waits for the workload also takes the samples, and
//! spends at most 3 ms plus 0.5 % of the trial's time on them (see [`sampler`](crate::collect::sampler)).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hugewise_base::host::{Host, ThpDisable};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::{Mark, Outcome, ReadBack, Reading};

use crate::machine::clock::unix_ms;
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::perf::count::CountScope;
use crate::proc::smaps_rollup::Rollup;
use crate::spawn::{
    self, End, ExitRequest, Launch, PageSizes, Running, StartResult, Suspended, TreeCgroup,
};

mod account;
pub mod arrival;
mod counts;
mod folios;
pub mod looks;
mod machine;
mod marks;
pub mod pools;
mod read_back;
mod readings;
/// Samples the tree's memory during the run, at a bounded cost.
pub mod sampler;
/// Observes one trial of a server under its load.
pub mod service;
mod service_evidence;
pub mod sharing;
mod stacks;
/// Stalls in the kernel.
pub mod stalls;
mod ticker;

pub use counts::CountingPlan;
pub use marks::{Circumstances, marks};

use account::Account;
use counts::TrialCounters;
use machine::Machine;
use pools::Pools;
use readings::Evidence;
use sampler::Sampler;
use stalls::{Seconds, Stalls};

/// The observations of a trial beyond the table of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Instruments<'a> {
    /// Files of the machine that any policy of the experiment writes, relative to the root.
    pub files: &'a [String],
    /// The steps taken to apply the policy; its library is searched for in the workload.
    pub expected: &'a Realisation,
    /// The plan for the hardware counters.
    pub counting: CountingPlan<'a>,
    /// The watched stalls; `None` if none are watched.
    pub stalls: Option<&'a RefCell<Stalls>>,
}

/// All observations of one trial.
#[derive(Clone, Debug)]
pub struct TrialObservation {
    /// When the workload was released, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The last 4 KiB of its stderr.
    pub stderr_tail: Vec<u8>,
    /// Its stdout, if it was to be kept.
    pub output: Vec<u8>,
    /// One entry for every metric of the table, and for each watched folio size.
    pub readings: BTreeMap<String, Reading>,
    /// The policy as reported by the kernel.
    pub read_back: ReadBack,
    /// The disturbances of the trial.
    pub marks: Vec<Mark>,
    /// The number of processes left running by the command, and killed.
    pub outlived: u32,
    /// The number of processes of the tree that could not be killed because they had changed their user; they keep
    /// running, and may disturb later trials.
    pub survivors: u32,
    /// True if it was ended because `interrupt` was set: the trial then has no meaning.
    pub interrupted: bool,
    /// Further observations of a server.
    pub served: Option<service::ServiceObservation>,
}

/// The number of bytes kept from the end of a failing program's output.
const TAIL: usize = 4 << 10;

impl TrialObservation {
    /// Returns a trial in which nothing ran.
    #[must_use]
    pub fn not_run(outcome: Outcome) -> Self {
        let nothing = |id: MetricId| (id.to_string(), Reading::missing(Missing::TrialFailed));
        Self {
            started_unix_ms: unix_ms(),
            outcome,
            stderr_tail: Vec::new(),
            output: Vec::new(),
            readings: MetricId::all().map(nothing).collect(),
            read_back: ReadBack::default(),
            marks: Vec::new(),
            outlived: 0,
            survivors: 0,
            interrupted: false,
            served: None,
        }
    }
}

/// Runs a workload once and observes it.
///
/// When `interrupt` becomes true, for example in a signal handler, the whole tree is killed. A failing workload is no
/// error: the outcome records it, and the readings are kept.
///
/// # Errors
/// The measurement failed: no keeper could be started, or the keeper was killed.
pub fn trial(
    root: &Root,
    host: &Host,
    launch: &Launch,
    watch: &Instruments<'_>,
    interrupt: &AtomicBool,
) -> Result<TrialObservation> {
    let sizes = machine::watched_sizes(root, host, watch.files);
    let question = question(host, &sizes);
    let suspended = match spawn::start(launch, &question)? {
        StartResult::Suspended(suspended) => suspended,
        StartResult::NotStarted(error) => {
            return Ok(TrialObservation::not_run(Outcome::NotStarted { error }));
        }
    };
    let scene = TrialRun {
        root,
        host,
        watch,
        sizes: &sizes,
        interrupt,
    };
    let mut before = scene.before(&suspended);
    let ran = scene.run(suspended, &mut before.sampler)?;
    if let Outcome::NotStarted { error } = ran.end.outcome {
        return Ok(TrialObservation::not_run(Outcome::NotStarted { error }));
    }
    Ok(scene.observed(before, ran))
}

/// The setting of a trial and its observations.
struct TrialRun<'a> {
    root: &'a Root,
    host: &'a Host,
    watch: &'a Instruments<'a>,
    /// The watched folio sizes, in KiB.
    sizes: &'a [u64],
    interrupt: &'a AtomicBool,
}

/// Readings before the workload, and the observers of its run.
struct Before<'a> {
    main: u32,
    cgroup: std::result::Result<TreeCgroup, Missing>,
    files: BTreeMap<String, String>,
    thp_disable: Option<ThpDisable>,
    numa: Option<String>,
    tmpfs: Option<String>,
    sampler: Sampler<'a>,
    counters: TrialCounters<'a>,
    machine: Machine,
}

/// The end of a workload and its readings.
struct RunResult {
    started_unix_ms: u64,
    end: End,
    stalls: Seconds,
    running: Running,
    /// The machine after the end.
    machine: Machine,
}

impl<'a> TrialRun<'a> {
    /// The machine is read last, because its counts begin at that reading.
    fn before(&self, suspended: &Suspended) -> Before<'a> {
        let main = suspended.main();
        Before {
            main,
            cgroup: suspended.cgroup(),
            files: read_back::files(self.root, self.watch.files),
            thp_disable: suspended.thp_disable(),
            numa: read_back::numa(self.root, self.watch.expected, main),
            tmpfs: read_back::tmpfs(self.root, self.watch.expected, main),
            sampler: Sampler::new(self.root, self.sizes, Pools::before(self.root)),
            counters: TrialCounters::attach(
                self.root,
                self.watch.counting,
                &CountScope::AtExec(main),
            ),
            machine: Machine::read(self.root, self.sizes),
        }
    }

    /// Runs the workload from its release to its end.
    fn run(&self, suspended: Suspended, sampler: &mut Sampler<'_>) -> Result<RunResult> {
        if let Some(stalls) = self.watch.stalls {
            stalls.borrow_mut().begin(suspended.keeper())?;
        }
        let started_unix_ms = unix_ms();
        let mut running = suspended.release()?;
        let end = observe(&mut running, sampler, self.interrupt)?;
        let stalls = match self.watch.stalls {
            Some(stalls) => stalls.borrow_mut().end()?,
            None => Seconds::default(),
        };
        Ok(RunResult {
            started_unix_ms,
            end,
            stalls,
            machine: Machine::read(self.root, self.sizes),
            running,
        })
    }

    /// Combines all readings.
    fn observed(&self, before: Before<'_>, ran: RunResult) -> TrialObservation {
        let files_after = read_back::files(self.root, self.watch.files);
        let account = Account::of_command(&ran.end);
        let wall = Duration::from_nanos(account.wall_ns);
        let samples = before.sampler.finish(wall, last_rollup(&account));
        let usage = &ran.end.usage;
        let counted = before
            .counters
            .finish_command(usage.user_ns + usage.system_ns);
        let evidence = Evidence {
            host: self.host,
            account: &account,
            samples: &samples,
            counted: &counted,
            before: &before.machine,
            after: &ran.machine,
            cgroup_peak: (before.cgroup.as_ref().map_err(Clone::clone))
                .and_then(TreeCgroup::peak_bytes),
            stalls: &ran.stalls,
            driven: None,
        };
        let expected = self.watch.expected;
        let tree = samples
            .looks
            .at_end(before.main, account.exit.as_ref().ok());
        let read_back = ReadBack {
            files: before.files,
            thp_disable: before.thp_disable,
            allocator: read_back::allocator(expected, tree.as_ref()),
            library: read_back::library(expected, tree.as_ref()),
            tracing: ran.end.tracing.clone(),
            runtimes: BTreeMap::new(),
            switched: Vec::new(),
            cgroup: before.cgroup.ok().and_then(|it| it.read_back()),
            numa: before.numa,
            tmpfs: before.tmpfs,
            file_cache: None,
            tree,
        };
        let printed = ran.running.into_printed();
        TrialObservation {
            started_unix_ms: ran.started_unix_ms,
            marks: marks(&evidence.circumstances(expected, &read_back, &files_after)),
            readings: evidence.readings(self.sizes),
            outcome: ran.end.outcome,
            stderr_tail: printed.stderr_tail,
            output: printed.stdout,
            read_back,
            outlived: ran.end.outlived,
            survivors: ran.end.survivors,
            interrupted: self.interrupt.load(Ordering::Relaxed),
            served: None,
        }
    }
}

/// Returns the memory of the main process at its last reading.
fn last_rollup(account: &Account) -> Option<Rollup> {
    let exit = account.exit.as_ref().ok()?;
    exit.rollup.as_ref().ok().copied()
}

/// Waits for the end, and takes the samples that become due.
fn observe(
    running: &mut Running,
    sampler: &mut Sampler<'_>,
    interrupt: &AtomicBool,
) -> Result<End> {
    /// A signal may be delivered to another thread and not end the wait.
    const LONGEST_WAIT: Duration = Duration::from_millis(100);
    let mut stopped = false;
    sampler.begin(Instant::now());
    loop {
        if interrupt.load(Ordering::Relaxed) && !stopped {
            running.stop()?;
            stopped = true;
        }
        let wait = sampler.until_due().min(LONGEST_WAIT);
        if let Some(end) = running.wait(wait)? {
            return Ok(end);
        }
        if sampler.until_due().is_zero() {
            sampler.take(running.keeper());
        }
    }
}

fn question(host: &Host, sizes: &[u64]) -> ExitRequest {
    let sizes_known = host.pmd_bytes().filter(|_| !sizes.is_empty());
    ExitRequest {
        folios: sizes_known.map(|pmd_bytes| PageSizes {
            page_bytes: host.page_bytes,
            pmd_bytes,
        }),
    }
}
