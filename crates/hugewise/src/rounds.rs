//! The rounds of an experiment: warm up, then every policy once a round until it is enough.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result};
use hugewise_linux::apply::Machine;
use hugewise_linux::collect::stalls::{Stalls, Wanted};
use hugewise_linux::collect::{self, Counting, Observed, Watch};
use hugewise_linux::perf::count::Plan as CounterPlan;
use hugewise_linux::perf::open::Kernel;
use hugewise_linux::root::Root;
use hugewise_linux::spawn::{self, AtExit, Group, Identity, Launch, Output as Stdout};
use hugewise_linux::stat::plan::{Events, plan as plan_counters};
use hugewise_model::bench;
use hugewise_model::compare::{Progress as SoFar, Running, progress as so_far};
use hugewise_model::observation::{Missing, Outcome, Reading, Role, Trial};
use hugewise_model::plan::{Plan, Slot};
use hugewise_model::policy::realise::Realisation;
use hugewise_model::policy::runtime::Answers;
use hugewise_model::policy::{Policy, Settings, environment};
use hugewise_model::reader::{LatencySource, Pacing, Place as Source};
use hugewise_model::record::{Header, Record, StopReason};

use crate::cli::Output;
use crate::exit;
use crate::fragmentation::Fragmentation;
use crate::interrupt::Interrupt;
use crate::kept::Kept;
use crate::options::{Options, StallChoice, Streams, Switch};
use crate::progress::{Audience, Progress};
use crate::recorder::Recorder;
use crate::runtimes::{self, Runtimes};
use crate::say::say;
use crate::written::{self, Written};

/// What all trials of an experiment share.
#[derive(Debug)]
pub struct Rounds<'a> {
    root: &'a Root,
    options: &'a Options,
    interrupt: &'a Interrupt,
    identity: Option<Identity>,
    audience: Audience,
    /// The settings files that any policy writes.
    files: Vec<String>,
    /// Where what the trials print is kept.
    kept: Option<Kept>,
    /// What the hardware can count, or why nothing.
    counters: std::result::Result<CounterPlan, Missing>,
    /// The kernel's stalls, where they are timed.
    stalls: Option<RefCell<Stalls>>,
    /// What runtimes make of each policy.
    runtimes: Runtimes,
    /// In which state free memory is kept.
    fragmentation: Option<&'a Fragmentation<'a>>,
}

/// Where a trial stands in the experiment.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number in the record; `None` for a trial that is not measured.
    index: Option<u32>,
    round: u32,
    slot: Slot,
}

/// The stalls that were asked for; what cannot be timed here is a reading that says so.
fn watched_stalls(root: &Root, choice: Option<StallChoice>) -> Result<Option<RefCell<Stalls>>> {
    let wanted = match choice.unwrap_or(StallChoice::Rare) {
        StallChoice::Off => return Ok(None),
        StallChoice::Rare => Wanted::Rare,
        StallChoice::All => Wanted::All,
    };
    let stalls = Stalls::start(root, wanted).context("preparing to time the kernel's stalls")?;
    Ok(Some(RefCell::new(stalls)))
}

impl<'a> Rounds<'a> {
    /// What all trials share; `identity` is as whom the workload runs.
    pub fn new(
        root: &'a Root,
        options: &'a Options,
        interrupt: &'a Interrupt,
        identity: Option<Identity>,
        output: &Output,
        recorder: &Recorder,
    ) -> Result<Self> {
        let quiet = output.quiet || options.output == Some(Streams::Show);
        Ok(Self {
            root,
            options,
            interrupt,
            identity,
            files: written_files(&recorder.record().header),
            counters: match options.counters {
                Some(Switch::Off) => Err(Missing::NotAsked),
                _ => plan_counters(root, &Kernel, None, &Events::Walks),
            },
            kept: match options.output {
                Some(Streams::Keep) => Some(Kept::beside(recorder.path())?),
                _ => None,
            },
            stalls: watched_stalls(root, options.stalls)?,
            runtimes: Runtimes::default(),
            fragmentation: None,
            audience: if quiet {
                Audience::Nobody
            } else {
                Audience::Person
            },
        })
    }

    /// The same, with free memory in a stated state.
    pub fn in_state(self, fragmentation: Option<&'a Fragmentation<'a>>) -> Self {
        Self {
            fragmentation,
            ..self
        }
    }

    /// Runs them all, with `--setup` before and `--cleanup` after, whatever happens between.
    pub fn run(&self, recorder: &mut Recorder, machine: &mut Machine) -> Result<StopReason> {
        let plan = recorder.record().header.plan.clone();
        let mut progress = Progress::begin(&plan, self.audience);
        let measured = match self.hook("--setup", self.options.setup.as_deref()) {
            Ok(()) => self.measure(&plan, recorder, machine, &mut progress),
            Err(_) if self.interrupt.asked() => Ok(StopReason::Interrupted),
            Err(error) => Err(exit::trial_failed(error)),
        };
        let cleaned = self.closing_hook("--cleanup", self.options.cleanup.as_deref());
        progress.finish();
        if let Err(error) = cleaned {
            say(error);
        }
        measured
    }

    fn measure(
        &self,
        plan: &Plan,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &mut Progress,
    ) -> Result<StopReason> {
        let began = Instant::now();
        if self.warm_up(plan, recorder, machine, progress)? == Flow::Stop {
            return Ok(StopReason::Interrupted);
        }
        for round in 0..plan.bounds.max_rounds {
            let slots = plan.round(round);
            for (position, &slot) in slots.iter().enumerate() {
                progress.trial(
                    round,
                    position,
                    slots.len(),
                    &plan.policies[slot.policy].name,
                );
                let index = u32::try_from(recorder.record().trials.len()).unwrap_or(u32::MAX);
                let (trial, flow) = self.trial(
                    &recorder.record().header,
                    machine,
                    Place {
                        index: Some(index),
                        round,
                        slot,
                    },
                )?;
                if flow == Flow::Stop {
                    return Ok(StopReason::Interrupted);
                }
                recorder.push(trial);
            }
            let so_far = so_far(recorder.record()).map_err(exit::usage)?;
            progress.round_done(plan, &said(&so_far));
            if let Some(reason) = stop(recorder.record(), &so_far, began) {
                return Ok(reason);
            }
        }
        Ok(StopReason::MaxRounds)
    }

    /// Unmeasured rounds: they fill the page cache and make the host back this machine's memory.
    fn warm_up(
        &self,
        plan: &Plan,
        recorder: &Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let mut told = false;
        for round in 0..plan.bounds.warmup_rounds {
            for slot in plan
                .round(round)
                .into_iter()
                .filter(|slot| slot.role == Role::Arm)
            {
                progress.warmup(&plan.policies[slot.policy].name);
                let place = Place {
                    index: None,
                    round,
                    slot,
                };
                let (trial, flow) = self.trial(&recorder.record().header, machine, place)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                if !trial.succeeded() && !told {
                    told = true;
                    progress.say(&failure(&trial));
                }
            }
        }
        Ok(Flow::Go)
    }

    fn trial(&self, header: &Header, machine: &mut Machine, place: Place) -> Result<(Trial, Flow)> {
        let policy = &header.plan.policies[place.slot.policy];
        let realisation = &header.realisations[&policy.name];
        let mut pacing = None;
        let mut answers = Answers::new();
        let observed = match self.prepare() {
            Ok(()) => {
                let before = self.written();
                let applied = machine.apply(realisation).map_err(|error| {
                    exit::refused(format!(
                        "putting policy `{}` in force: {error}",
                        policy.name
                    ))
                })?;
                answers =
                    self.runtimes
                        .ask(self.options, policy, realisation, self.identity.as_ref());
                let mut observed =
                    self.observe(header, &policy.settings, realisation, place.round)?;
                drop(applied);
                pacing = self.read_latencies(&mut observed, before);
                runtimes::note_complaints(&mut observed, &policy.settings);
                if let Some(fragmentation) = self.fragmentation {
                    fragmentation.judge(&mut observed);
                }
                if let (Some(kept), Some(index)) = (&self.kept, place.index) {
                    kept.keep(index, &observed)?;
                }
                observed
            }
            Err(error) => not_run(error),
        };
        let flow = if observed.interrupted || self.interrupt.asked() {
            Flow::Stop
        } else {
            Flow::Go
        };
        let mut trial = trial_of(place, policy, &header.plan, observed);
        trial.pacing = pacing;
        runtimes::note_answers(&mut trial, &policy.settings, answers);
        if let Err(error) = self.closing_hook("--conclude", self.options.conclude.as_deref())
            && trial.succeeded()
        {
            trial.outcome = Outcome::HookFailed { error };
        }
        Ok((trial, flow))
    }

    /// What comes before a trial: `--prepare`, then the state of free memory.
    fn prepare(&self) -> Result<(), String> {
        self.hook("--prepare", self.options.prepare.as_deref())?;
        self.fragmentation.map_or(Ok(()), Fragmentation::repair)
    }

    /// The state of the files that the source of latencies names, before a trial.
    fn written(&self) -> Option<Written> {
        let source = self.options.latency.as_ref()?;
        Written::before(source, self.options.directory.as_deref())
    }

    /// Adds what the source of latencies told of a trial to its readings.
    fn read_latencies(&self, observed: &mut Observed, before: Option<Written>) -> Option<Pacing> {
        let source = self.options.latency.as_ref()?;
        let (readings, pacing) = written::read(source, &observed.output, before);
        observed.readings.extend(readings);
        pacing
    }

    fn observe(
        &self,
        header: &Header,
        settings: &Settings,
        realisation: &Realisation,
        round: u32,
    ) -> Result<Observed> {
        let launch = self.launch(&header.plan, settings, realisation);
        let watch = Watch {
            files: &self.files,
            expected: realisation,
            counting: Counting {
                plan: self.counters.as_ref(),
                round,
            },
            stalls: self.stalls.as_ref(),
        };
        collect::trial(
            self.root,
            &header.host,
            &launch,
            &watch,
            self.interrupt.flag(),
        )
        .context("watching the workload")
    }

    fn launch(&self, plan: &Plan, settings: &Settings, realisation: &Realisation) -> Launch {
        let from_stdout = |source: &LatencySource| source.place == Source::Stdout;
        let reads = !plan.printed.is_empty() || plan.bench.is_some();
        let keep = reads || self.kept.is_some() || plan.latency.as_ref().is_some_and(from_stdout);
        Launch {
            environment: environment(&realisation.environment, |name| std::env::var(name).ok()),
            prctl: realisation.prctl,
            identity: self.identity.clone(),
            directory: self.options.directory.clone(),
            stdin: self.options.stdin.clone(),
            output: match self.options.output {
                Some(Streams::Show) => Stdout::Show,
                _ if keep => Stdout::Keep,
                _ => Stdout::Discard,
            },
            timeout: self.options.timeout,
            at_exit: match self.options.exit_hold {
                Some(Switch::Off) => AtExit::Pass,
                _ => AtExit::Hold,
            },
            group: match self.options.own_cgroup {
                Some(Switch::On) => Group::Make,
                _ => Group::Leave,
            },
            ..Launch::new(runtimes::filled_words(self.options, settings))
        }
    }

    /// A hook that comes before something, and is not needed once the end was asked for.
    fn hook(&self, name: &str, line: Option<&str>) -> Result<(), String> {
        self.hook_until(self.interrupt, name, line)
    }

    /// A hook that tidies up. It runs after an interrupt as well, and only a further signal
    /// ends it: a server that `--prepare` started must not stay because of a Ctrl-C.
    fn closing_hook(&self, name: &str, line: Option<&str>) -> Result<(), String> {
        if !self.interrupt.asked() {
            return self.hook(name, line);
        }
        self.hook_until(&Interrupt::catch_later(), name, line)
    }

    fn hook_until(
        &self,
        interrupt: &Interrupt,
        name: &str,
        line: Option<&str>,
    ) -> Result<(), String> {
        let Some(line) = line else { return Ok(()) };
        spawn::hook(line, self.identity.as_ref(), &[], interrupt.flag())
            .map_err(|error| format!("{name}: {error}"))
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

/// Whether the experiment goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Go,
    Stop,
}

/// The words that are executed: the command, or a shell with its line.
pub fn command_words(options: &Options) -> Vec<std::ffi::OsString> {
    if options.shell {
        let shell = ["/bin/sh", "-c"].map(Into::into);
        shell
            .into_iter()
            .chain(options.command.iter().cloned())
            .collect()
    } else {
        options.command.clone()
    }
}

/// Why no further round is needed, if so.
fn stop(record: &Record, so_far: &SoFar, began: Instant) -> Option<StopReason> {
    let time_is_up = record
        .header
        .plan
        .bounds
        .max_time
        .is_some_and(|most| began.elapsed() >= most);
    let first_rounds = (so_far.rounds >= 2).then(|| nothing_to_judge(record));
    first_rounds
        .flatten()
        .or(so_far.stop)
        .or_else(|| time_is_up.then_some(StopReason::MaxTime))
}

/// Why more rounds would bring nothing either.
fn nothing_to_judge(record: &Record) -> Option<StopReason> {
    let metric = &record.header.plan.verdict_metric;
    let judged = |trial: &Trial| match trial.readings.get(metric) {
        Some(Reading::Missing { .. }) | None => false,
        Some(_) => true,
    };
    let mut succeeded = record
        .trials
        .iter()
        .filter(|trial| trial.succeeded())
        .peekable();
    if succeeded.peek().is_none() {
        return Some(StopReason::WorkloadFails);
    }
    (!succeeded.any(judged)).then_some(StopReason::VerdictUnmeasured)
}

fn trial_of(place: Place, policy: &Policy, plan: &Plan, observed: Observed) -> Trial {
    let mut readings = observed.readings;
    let stderr_tail = (observed.outcome != Outcome::Exited { code: 0 })
        .then(|| String::from_utf8_lossy(&observed.stderr_tail).into_owned());
    let output = String::from_utf8_lossy(&observed.output);
    for printed in &plan.printed {
        readings.insert(printed.name.clone(), printed.read(&output));
    }
    if let Some(bench) = &plan.bench {
        readings.extend(bench::read(bench, &observed.output));
    }
    Trial {
        index: place.index.unwrap_or(0),
        round: place.round,
        policy: policy.name.clone(),
        role: place.slot.role,
        started_unix_ms: observed.started_unix_ms,
        outcome: observed.outcome,
        stderr_tail,
        readings,
        read_back: observed.read_back,
        marks: observed.marks,
        pacing: None,
    }
}

/// The row of a trial that a failing `--prepare` prevented.
fn not_run(error: String) -> Observed {
    Observed::not_run(Outcome::HookFailed { error })
}

/// What a person should know at the first failure, before all trials have failed.
fn failure(trial: &Trial) -> String {
    let mut text = format!(
        "the workload failed while warming up ({}): {}",
        trial.policy, trial.outcome
    );
    for line in trial.stderr_tail.iter().flat_map(|tail| tail.lines()) {
        text.push_str("\n    ");
        text.push_str(line);
    }
    text
}

/// The running estimate for the line of progress.
fn said(so_far: &SoFar) -> String {
    let estimates: Vec<String> = so_far.policies.iter().map(estimate).collect();
    estimates.join(", ")
}

fn estimate(running: &Running) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    match (running.estimate, running.low, running.high) {
        (Some(ratio), Some(low), Some(high)) => format!(
            "{} {:+.1} % ({:+.1} to {:+.1})",
            running.policy,
            percent(ratio),
            percent(low),
            percent(high)
        ),
        (Some(ratio), ..) => format!("{} {:+.1} %", running.policy, percent(ratio)),
        _ => format!("{} ~", running.policy),
    }
}
