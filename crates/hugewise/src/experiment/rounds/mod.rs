//! The rounds of an experiment: a warm-up, then every policy once per round until the data suffice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use anyhow::{Context, Result};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::compare::{progress as so_far, running};
use hugewise_experiment::run::plan::{Plan, Slot};
use hugewise_experiment::run::record::{Header, StopReason};
use hugewise_linux::apply::Machine;
use hugewise_linux::collect::stalls::{StallScope, Stalls};
use hugewise_linux::machine::identity::Identity;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan::{WantedEvents, plan as plan_counters};
use hugewise_linux::perf::count::Plan as CounterPlan;
use hugewise_linux::perf::open::KernelCounters;

use crate::exit;
use crate::experiment::code_pages::CodePages;
use crate::experiment::file_cache::FileCaches;
use crate::experiment::fragmentation::Fragmentation;
use crate::experiment::free_memory::FreeMemory;
use crate::experiment::ineffective_policies::IdlePolicies;
use crate::experiment::progress::{Audience, Progress, Telling};
use crate::experiment::recorder::Recorder;
use crate::experiment::runtimes::Runtimes;
use crate::experiment::trial_output::TrialOutput;
use crate::interrupt::Interrupt;
use crate::options::{Options, StallChoice, Streams, Switch};
use crate::output::Output;
use crate::stderr::message;

mod cold;
mod duration;
mod hold;
mod hooks;
mod inside;
mod long_runs;
mod mechanism;
mod observe;
mod pace;
mod progress_text;
mod servers;
mod time;
mod trial;
mod warm_up;

use hold::Hold;
pub use inside::{LoadedServer, Switchbacks};
pub use long_runs::{LongRuns, Scout};
use pace::{Pace, stop};
use progress_text::CONTROL;
pub use progress_text::{failure_text, so_far_text};
use servers::Servers;
use time::Next;
use trial::tell_latencies;

/// The state that all trials of an experiment share.
#[derive(Debug)]
pub struct Rounds<'a> {
    root: &'a Root,
    options: &'a Options,
    interrupt: &'a Interrupt,
    identity: Option<Identity>,
    audience: Audience,
    /// The settings files that any policy writes.
    files: Vec<String>,
    /// The output of the trials, if it is kept.
    trial_output: Option<TrialOutput>,
    /// The available hardware counters, or why there are none.
    counters: std::result::Result<CounterPlan, Missing>,
    /// The kernel stalls, if they are timed.
    stalls: Option<RefCell<Stalls>>,
    /// How runtimes apply each policy.
    runtimes: Runtimes,
    /// Policies that cannot act on the program.
    idle: IdlePolicies,
    /// The fragmentation of free memory.
    fragmentation: Option<&'a Fragmentation<'a>>,
    /// The pages of code in the page cache, if a policy decides about them.
    code: RefCell<Option<CodePages>>,
    /// The state of free memory in the host.
    free_memory: FreeMemory<'a>,
    /// The files in the page cache that policies name.
    file_caches: FileCaches,
    /// The servers of all policies, if they run at the same time.
    servers: RefCell<Option<Servers>>,
    /// Set once a server that did not end in time was reported.
    killing_reported: Cell<bool>,
    /// The speed of the experiment.
    pace: RefCell<Pace>,
    /// Set once left-over processes of the command were reported.
    outlived_told: Cell<bool>,
    /// Set after the warm-up.
    is_warm: Cell<bool>,
    /// Whether the main process is held at its exit.
    hold: Hold,
    /// Set once the plan was announced.
    plan_told: Cell<bool>,
    telling: Telling,
    /// Looks inside the first trial if it is long.
    scout: Option<&'a dyn Scout>,
    /// Measures inside the servers.
    switchbacks: Option<&'a dyn Switchbacks>,
    /// The periods inside the servers so far.
    so_far: RefCell<inside::SoFar>,
}

/// The position of a trial in the experiment.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number in the record; `None` for an unmeasured trial.
    index: Option<u32>,
    round: u32,
    slot: Slot,
}

/// The hardware events to count, or why there are none.
pub fn counters(root: &Root, options: &Options) -> std::result::Result<CounterPlan, Missing> {
    match options.counters {
        Some(Switch::Off) => Err(Missing::NotAsked),
        _ => plan_counters(root, &KernelCounters, None, &WantedEvents::Walks),
    }
}

/// The stalls to time; one that cannot be timed here becomes a missing reading.
fn watched_stalls(root: &Root, choice: Option<StallChoice>) -> Result<Option<RefCell<Stalls>>> {
    let wanted = match choice.unwrap_or(StallChoice::Rare) {
        StallChoice::Off => return Ok(None),
        StallChoice::Rare => StallScope::Rare,
        StallChoice::All => StallScope::All,
    };
    let stalls = Stalls::start(root, wanted).context("preparing to time the kernel's stalls")?;
    Ok(Some(RefCell::new(stalls)))
}

impl<'a> Rounds<'a> {
    /// Prepares the state that all trials share; `identity` is the user of the workload.
    pub fn new(
        root: &'a Root,
        options: &'a Options,
        interrupt: &'a Interrupt,
        identity: Option<Identity>,
        output: &Output,
        recorder: &Recorder,
        counters: std::result::Result<CounterPlan, Missing>,
    ) -> Result<Self> {
        let quiet = output.quiet || options.output == Some(Streams::Show);
        Ok(Self {
            root,
            options,
            interrupt,
            files: written_files(&recorder.record().header),
            counters,
            trial_output: match options.output {
                Some(Streams::Keep) => Some(TrialOutput::beside(recorder.path())?),
                _ => None,
            },
            stalls: watched_stalls(root, options.stalls)?,
            runtimes: Runtimes::default(),
            idle: match options.names_policies() {
                true => IdlePolicies::default(),
                false => IdlePolicies::of_the_usual(),
            },
            fragmentation: None,
            code: RefCell::default(),
            file_caches: FileCaches::of(&recorder.record().header, identity.as_ref()),
            free_memory: FreeMemory::new(root, interrupt, &recorder.record().header),
            identity,
            servers: RefCell::new(Servers::of(&recorder.record().header.plan)),
            killing_reported: Cell::new(false),
            pace: RefCell::new(Pace::begin()),
            outlived_told: Cell::new(false),
            is_warm: Cell::new(false),
            hold: Hold::new(options),
            plan_told: Cell::new(false),
            telling: Telling::default(),
            scout: None,
            switchbacks: None,
            so_far: RefCell::default(),
            audience: match quiet {
                true => Audience::Nobody,
                false => Audience::of_stderr(),
            },
        })
    }

    /// Sets the fragmentation of free memory.
    pub fn in_state(self, fragmentation: Option<&'a Fragmentation<'a>>) -> Self {
        Self {
            fragmentation,
            ..self
        }
    }

    /// The same, with a scout in the first trial.
    pub fn scouted(self, scout: Option<&'a dyn Scout>) -> Self {
        Self { scout, ..self }
    }

    /// Runs them all, with `--setup` before and `--cleanup` after, whatever happens between.
    pub fn run(&self, recorder: &mut Recorder, machine: &mut Machine) -> Result<StopReason> {
        let progress = Progress::begin(self.audience, self.telling);
        let measured = match self.hook("--setup", self.options.setup.as_deref()) {
            Ok(()) => self.with_code(recorder, machine, &progress),
            Err(_) if self.interrupt.asked() => Ok(StopReason::Interrupted),
            Err(error) => Err(exit::trial_failed(error)),
        };
        let stopped = self.stop_servers(&recorder.record().header);
        self.file_caches.release();
        let cleaned = self.closing_hook("--cleanup", self.options.cleanup.as_deref());
        progress.finish();
        if let Err(error) = cleaned {
            message(error);
        }
        measured.and_then(|reason| stopped.map(|()| reason))
    }

    /// Measures, with the pages of code in the page cache as each policy wants them.
    fn with_code(
        &self,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<StopReason> {
        let header = &recorder.record().header;
        let code = CodePages::begin(self.options, self.identity.as_ref(), header)?;
        self.code.replace(code);
        let measured = self.measure(recorder, machine, progress);
        if let Some(code) = self.code.take() {
            code.end();
        }
        measured
    }

    fn measure(
        &self,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<StopReason> {
        *self.pace.borrow_mut() = Pace::begin();
        let reason = self.all_rounds(recorder, machine, progress)?;
        self.after_rounds(reason, recorder, machine, progress)?;
        let plan = &recorder.record().header.plan.clone();
        self.cold_trials(plan, recorder, machine, progress, reason)
    }

    /// Runs the warm-up, then rounds until the data suffice.
    fn all_rounds(
        &self,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<StopReason> {
        let first = self.first_round(recorder.record());
        for round in first.. {
            if self.before_round(round, recorder, machine, progress)? == Flow::Stop {
                return Ok(StopReason::Interrupted);
            }
            self.settle_clashes(round, recorder, progress)?;
            self.drop_idle(round, recorder, progress)?;
            if round == first {
                self.check_time(recorder.record(), progress)?;
            }
            // The plan has changed if policies were dropped.
            let plan = &recorder.record().header.plan.clone();
            match self.round(plan, round, recorder, machine, progress)? {
                Flow::Go => {}
                Flow::Stop => return Ok(StopReason::Interrupted),
                Flow::TimeOver => return Ok(StopReason::MaxTime),
            }
            if self.after_round(round, recorder, machine, progress)? == Flow::Stop {
                return Ok(StopReason::Interrupted);
            }
            if round == first {
                self.settle_clashes(round + 1, recorder, progress)?;
                self.idle.judge_failures(&recorder.record().header);
            }
            self.drop_idle(round + 1, recorder, progress)?;
            self.tell_plan(recorder.record(), progress);
            if let Some(reason) = self.judge(round, recorder, progress)? {
                return Ok(reason);
            }
        }
        Ok(StopReason::MaxRounds)
    }

    /// Decides after a round whether the data suffice or the time is over.
    fn judge(
        &self,
        round: u32,
        recorder: &mut Recorder,
        progress: &Progress,
    ) -> Result<Option<StopReason>> {
        let bounds = recorder.record().header.plan.bounds;
        let slots = recorder.record().slots(round + 1);
        let done = recorder.record().rounds_run();
        let left = self.pace.borrow().rounds_left(&bounds, done, slots);
        let so_far = so_far(recorder.record(), left).map_err(exit::usage)?;
        for removal in so_far.drops.clone() {
            recorder.remove(removal);
        }
        if let Some(reason) = stop(recorder.record(), &so_far) {
            return Ok(Some(reason));
        }
        let kept = self.kept_for_cold_trials(recorder.record(), round + 1)?
            + self.kept_for_periods(recorder.record());
        let next = Next {
            round: round + 1,
            done: so_far.rounds,
            kept,
        };
        if self.is_time_over(next, recorder.record(), progress) {
            return Ok(Some(StopReason::MaxTime));
        }
        progress.round_over(self.time_left(recorder.record(), round + 1), || {
            if self.telling == Telling::Rows {
                return Ok(so_far_text(so_far.rounds, &[]));
            }
            let mut rows = running(recorder.record()).map_err(exit::usage)?;
            // A single policy has no comparison, and no control.
            let compares = !rows.is_empty();
            let record = recorder.record();
            // Decided and dropped policies no longer change, and overhead controls do not interest the user.
            rows.retain(|row| {
                let is_overhead_control = record.header.plan.is_overhead_control(&row.policy);
                record.is_run(&row.policy, round + 1) && !is_overhead_control
            });
            if compares && rows.is_empty() {
                return Ok(CONTROL.to_owned());
            }
            Ok::<_, anyhow::Error>(so_far_text(so_far.rounds, &rows))
        })?;
        Ok(None)
    }

    /// Prepares a round: starts long-lived servers, or runs the warm-up before the first round.
    fn before_round(
        &self,
        round: u32,
        recorder: &Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let record = recorder.record();
        if self.start_servers(record, round, machine, progress)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if self.is_warm.replace(true) || self.servers.borrow().is_some() {
            return Ok(Flow::Go);
        }
        self.warm_up(record, machine, progress)
    }

    /// Drops the policies that turned out to be ineffective. Running servers belong to the old plan, so they are
    /// stopped, and the next round starts others.
    fn drop_idle(&self, round: u32, recorder: &mut Recorder, progress: &Progress) -> Result<()> {
        if self.idle.is_empty() {
            return Ok(());
        }
        self.stop_servers(&recorder.record().header)?;
        let known = recorder.record().removals.len();
        self.idle.drop_from(recorder, round)?;
        let told = recorder.record().removals[known..].iter();
        for removal in told.filter(|it| !it.is_of_an_overhead_control()) {
            progress.print_above(&format!("dropped: {removal}"));
        }
        Ok(())
    }

    /// Runs one round: records every trial of the plan.
    fn round(
        &self,
        plan: &Plan,
        round: u32,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let record = recorder.record();
        let slots = plan.round(round, |policy| record.is_run(policy, round));
        let done = record.rounds_run();
        for (position, &slot) in slots.iter().enumerate() {
            let policy = &plan.policies[slot.policy].name;
            if self.idle.has(policy) {
                continue;
            }
            if self.is_overdue(&plan.bounds, done) {
                return Ok(Flow::TimeOver);
            }
            let now = format!("trial {} of {}: {policy}", position + 1, slots.len());
            progress.now(self.time_left(recorder.record(), round), &now);
            self.pace.borrow_mut().trial_begins();
            let place = Place {
                index: Some(recorder.next_index()),
                round,
                slot,
            };
            let (trial, flow) = self.trial(&recorder.record().header, machine, place)?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
            self.tell_outlived(&trial, progress);
            tell_latencies(&trial, progress);
            if round == 0 {
                self.idle.learn(&recorder.record().header, &trial);
            }
            recorder.push(trial);
            self.pace.borrow_mut().trial_over();
        }
        Ok(Flow::Go)
    }
}

fn written_files(header: &Header) -> Vec<String> {
    let writes = header
        .realisations
        .values()
        .flat_map(|realisation| &realisation.files);
    let paths: BTreeSet<&String> = writes.map(|write| &write.path).collect();
    paths.into_iter().cloned().collect()
}

/// Whether the experiment continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Go,
    /// A signal asks for the end.
    Stop,
    /// The round takes longer than forecast, and its time is over.
    TimeOver,
}
