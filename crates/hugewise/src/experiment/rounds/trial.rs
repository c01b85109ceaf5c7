//! One trial: applies its policy, runs its workload, returns its row.

use anyhow::Result;
use hugewise_experiment::loadgen::Failures;
use hugewise_experiment::run::metric::requests::RequestMetric;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::record::{COLD_REST, Header};
use hugewise_experiment::run::timeline::join;
use hugewise_experiment::run::trial::timeline::{Timeline, Unrelated};
use hugewise_experiment::run::trial::{
    CachedFiles, Outcome, Pacing, Reading, Readings, Role, Times, Trial,
};
use hugewise_linux::apply::Machine;
use hugewise_linux::collect::TrialObservation;
use hugewise_observe::outlived;

use super::{Flow, Place, Rounds};
use crate::exit;
use crate::experiment::cells;
use crate::experiment::file_cache;
use crate::experiment::fragmentation::Fragmentation;
use crate::experiment::free_memory::Before;
use crate::experiment::latency_files::{self, LatencyFiles};
use crate::experiment::progress::Progress;
use crate::experiment::runtimes;
use crate::experiment::workload::Workload;

/// The touched memory, and how files are cached.
type Prepared = (Before, Option<CachedFiles>);

impl Rounds<'_> {
    pub(super) fn trial(
        &self,
        header: &Header,
        machine: &mut Machine,
        place: Place,
    ) -> Result<(Trial, Flow)> {
        let (mut trial, interrupted) = self.held_or_spared(header, machine, place)?;
        let flow = if interrupted || self.interrupt.asked() {
            Flow::Stop
        } else {
            Flow::Go
        };
        if let Err(error) = self.closing_hook("--conclude", self.options.conclude.as_deref())
            && trial.succeeded()
        {
            trial.outcome = Outcome::HookFailed { error };
        }
        Ok((trial, flow))
    }

    /// Runs the trial after its preparation; also returns whether it was interrupted.
    pub(super) fn prepared(
        &self,
        header: &Header,
        machine: &mut Machine,
        place: Place,
    ) -> Result<(Trial, bool)> {
        let policy = &header.plan.policies[place.slot.policy];
        let realisation = &header.realisations[&policy.name];
        match self.prepare(policy, realisation, place.slot.role) {
            Ok((before, cached)) => {
                let (mut trial, interrupted) = self.in_force(header, machine, place)?;
                self.free_memory.note(&mut trial, before);
                file_cache::note(&mut trial, policy, cached);
                self.file_caches.release();
                Ok((trial, interrupted))
            }
            Err(error) => {
                let observed = TrialObservation::not_run(Outcome::HookFailed { error });
                Ok((row(place, policy, &header.plan, observed), false))
            }
        }
    }

    /// Applies the policy, runs the workload, and reverts the policy; also returns whether the trial was interrupted.
    fn in_force(
        &self,
        header: &Header,
        machine: &mut Machine,
        place: Place,
    ) -> Result<(Trial, bool)> {
        let policy = &header.plan.policies[place.slot.policy];
        let realisation = &header.realisations[&policy.name];
        let latency = self.options.latency.as_ref();
        let files = LatencyFiles::before(latency, self.options.directory.as_deref());
        let applied = machine.apply(realisation).map_err(|error| {
            exit::refused(format!("applying policy `{}`: {error}", policy.name))
        })?;
        let identity = self.identity.as_ref();
        let words = Workload::of(self.options, header, policy).under(&policy.settings);
        let answers = self
            .runtimes
            .ask(self.options, &words, policy, realisation, identity);
        let mut observed = self.observe(header, place, &files)?;
        drop(applied);
        let (pacing, times, failures) = self.read_latencies(&mut observed, files);
        let timeline = timeline(&mut observed, &times);
        runtimes::note_complaints(&mut observed, &policy.settings);
        if let Some(fragmentation) = self.fragmentation {
            fragmentation.judge(&mut observed);
        }
        if let (Some(output), Some(index)) = (&self.trial_output, place.index) {
            output.write(index, &observed)?;
        }
        let interrupted = observed.interrupted;
        let mut trial = Trial {
            pacing,
            timeline,
            start: self.start_of(place.round),
            failure_ignored: self.options.ignore_failure,
            ..row(place, policy, &header.plan, observed)
        };
        note_failures(&mut trial, failures);
        runtimes::note_answers(&mut trial, &policy.settings, answers);
        Ok((trial, interrupted))
    }

    /// Reports once that the command leaves processes behind.
    pub(super) fn tell_outlived(&self, trial: &Trial, progress: &Progress) {
        let Some(sentence) = outlived(trial.outlived) else {
            return;
        };
        if !self.outlived_told.replace(true) {
            progress.say(&sentence);
        }
    }

    /// Prepares a trial: `--prepare`, then the pages of code and of files in the page cache, then the state of free
    /// memory. This happens outside the measurement and before the policy is applied, because the policy may forbid huge
    /// pages.
    pub(super) fn prepare(
        &self,
        policy: &Policy,
        realisation: &Realisation,
        role: Role,
    ) -> Result<Prepared, String> {
        self.hook("--prepare", self.options.prepare.as_deref())?;
        if let Some(code) = &*self.code.borrow() {
            code.prepare(realisation)?;
        }
        self.fragmentation.map_or(Ok(()), Fragmentation::repair)?;
        let cached = self.file_caches.prepare(policy)?;
        let before = match role {
            Role::Cold => self.free_memory.rest(COLD_REST),
            Role::Arm | Role::Control => self.free_memory.prepare(policy),
        }?;
        Ok((before, cached))
    }

    /// Adds the latencies of a trial to its readings.
    fn read_latencies(
        &self,
        observed: &mut TrialObservation,
        files: LatencyFiles,
    ) -> (Option<Pacing>, Result<Times, Unrelated>, Option<Failures>) {
        let Some(source) = self.options.latency.as_ref() else {
            return (None, Err(Unrelated::NotAsked), None);
        };
        let reply = latency_files::read(source, &observed.output, files);
        observed.readings.extend(reply.readings);
        (reply.pacing, reply.times, reply.failures)
    }
}

/// Fails a trial that ended normally but in which more requests failed than succeeded.
fn note_failures(trial: &mut Trial, failures: Option<Failures>) {
    if let (Some(Failures { failed, sent }), true, false) =
        (failures, trial.succeeded(), trial.failure_ignored)
    {
        trial.outcome = Outcome::RequestsFailed { failed, sent };
    }
}

/// The trial second by second, for a server under load.
fn timeline(observed: &mut TrialObservation, times: &Result<Times, Unrelated>) -> Option<Timeline> {
    let seen = observed.served.as_mut()?.seen.take()?;
    Some(join(&seen, times.as_ref().map_err(Unrelated::clone)))
}

/// Reports after the first trial that its latencies could not be read, while the user can still correct the command.
pub(super) fn tell_latencies(trial: &Trial, progress: &Progress) {
    let latencies = trial
        .readings
        .iter()
        .filter(|(name, _)| name.ends_with(RequestMetric::Latency.name()));
    for (name, reading) in latencies.filter(|_| trial.index == 0) {
        if let Reading::Missing { missing } = reading {
            progress.say(&format!(
                "{name} was not read in the first trial: {missing}"
            ));
        }
    }
}

/// The row of a trial.
fn row(place: Place, policy: &Policy, plan: &Plan, observed: TrialObservation) -> Trial {
    let mut readings = Readings::from(observed.readings);
    let outlived = observed.outlived;
    let stderr_tail = (observed.outcome != Outcome::Exited { code: 0 })
        .then(|| String::from_utf8_lossy(&observed.stderr_tail).into_owned());
    let output = String::from_utf8_lossy(&observed.output);
    for printed in &plan.printed {
        readings.insert(printed.name.clone(), printed.read(&output));
    }
    if let Some(bench) = &plan.bench {
        readings.extend(cells::read(bench, &observed.output));
    }
    Trial {
        index: place.index.unwrap_or(0),
        round: place.round,
        policy: policy.name.clone(),
        role: place.slot.role,
        start: None,
        started_unix_ms: observed.started_unix_ms,
        outcome: observed.outcome,
        failure_ignored: false,
        outlived,
        stderr_tail,
        readings,
        read_back: observed.read_back,
        marks: observed.marks,
        pacing: None,
        timeline: None,
        first_touch: None,
    }
}
