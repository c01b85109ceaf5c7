//! Observing one trial: the machine before, the tree while it runs, the main process at its
//! end, the machine after.
//!
//! What is read while the workload runs is bounded: the thread that waits for it takes the samples,
//! and takes no more than 3 ms and 0.5 % of the trial's time for them (see
//! [`sampler`](crate::collect::sampler)).

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
/// Reading the tree's memory while it runs, at a bounded cost.
pub mod sampler;
/// Observing one trial of a server under its load.
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

/// What a trial observes beyond the table of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Instruments<'a> {
    /// Files of the machine that any policy of the experiment writes, relative to the root.
    pub files: &'a [String],
    /// What was done to put the policy in force; its library is looked for in the workload.
    pub expected: &'a Realisation,
    /// What the hardware counts.
    pub counting: CountingPlan<'a>,
    /// The stalls that are watched; `None` where none are.
    pub stalls: Option<&'a RefCell<Stalls>>,
}

/// Everything that was observed in one trial.
#[derive(Clone, Debug)]
pub struct TrialObservation {
    /// When the workload was released, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The last 4 KiB of its stderr.
    pub stderr_tail: Vec<u8>,
    /// Its stdout, where that was to be kept.
    pub output: Vec<u8>,
    /// One entry for every metric of the table, and for the folio sizes that are watched.
    pub readings: BTreeMap<String, Reading>,
    /// The policy as the kernel showed it.
    pub read_back: ReadBack,
    /// What spoilt the trial.
    pub marks: Vec<Mark>,
    /// Processes that the command left running when it ended, which were killed.
    pub outlived: u32,
    /// Processes of the tree that could not be killed, because they had become another user's;
    /// they run on, and may disturb the next trials.
    pub survivors: u32,
    /// Whether it was ended because `interrupt` was set: the trial then means nothing.
    pub interrupted: bool,
    /// What else was seen of a server.
    pub served: Option<service::ServiceObservation>,
}

/// How much of a failing program's last words a trial keeps.
const TAIL: usize = 4 << 10;

impl TrialObservation {
    /// A trial in which nothing ran.
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
/// When `interrupt` becomes true, by a signal handler for example, the whole tree is killed.
/// A workload that fails is no error: its outcome says so, and what was read is kept.
///
/// # Errors
/// Measuring itself failed: no keeper could be started, or somebody killed it.
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

/// The setting of a trial and what is observed in it.
struct TrialRun<'a> {
    root: &'a Root,
    host: &'a Host,
    watch: &'a Instruments<'a>,
    /// The folio sizes that are watched, in KiB.
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
    /// The machine after it.
    machine: Machine,
}

impl<'a> TrialRun<'a> {
    /// The machine is read last, for what its counters count begins there.
    fn before(&self, suspended: &Suspended) -> Before<'a> {
        let main = suspended.main();
        Before {
            main,
            cgroup: suspended.cgroup(),
            files: read_back::files(self.root, self.watch.files),
            thp_disable: suspended.thp_disable(),
            numa: read_back::numa(self.root, self.watch.expected, main),
            sampler: Sampler::new(self.root, self.sizes, Pools::before(self.root)),
            counters: TrialCounters::attach(
                self.root,
                self.watch.counting,
                &CountScope::AtExec(main),
            ),
            machine: Machine::read(self.root, self.sizes),
        }
    }

    /// From the release of the workload to its end.
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

    /// Puts all readings together.
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
            cgroup: before.cgroup.ok().and_then(|it| it.read_back()),
            numa: before.numa,
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

/// The memory of the main process when it was looked at last.
fn last_rollup(account: &Account) -> Option<Rollup> {
    let exit = account.exit.as_ref().ok()?;
    exit.rollup.as_ref().ok().copied()
}

/// Waits for the end, and takes the samples that are due meanwhile.
fn observe(
    running: &mut Running,
    sampler: &mut Sampler<'_>,
    interrupt: &AtomicBool,
) -> Result<End> {
    /// A signal may reach another thread than the one that waits.
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
