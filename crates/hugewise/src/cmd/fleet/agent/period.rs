//! One period: samples, guardrails, and the rows at its end.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_fleet::guardrail::Seen;
use hugewise_fleet::period::{Held as Settings, Look, Meter};
use hugewise_fleet::plan::Moment;
use hugewise_fleet::schedule::next_change;
use hugewise_fleet::unit::UnitKind;
use hugewise_fleet::{Ending, Phase, Proof, Row, Sums};

use super::super::assign::now;
use super::hold::Held;
use super::orders::{Order, Task};
use super::{Agent, LOOK};
use crate::stderr::{chain, message_lines};

/// How a period ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// After its length.
    Whole,
    /// The plan, its lease or the stop file requires something else.
    Changed,
    /// A guardrail stopped the arm.
    Breach,
    /// A signal came.
    Interrupted,
}

impl Agent {
    /// Runs one period and writes its rows. The monotonic clock measures its length, the wall clock gives its label.
    pub(super) fn period(&mut self, task: &Task, held: &Held<'_>) -> Result<End> {
        let (began, start) = (Instant::now(), now());
        let length = length(task, start);
        let mut meter = Meter::begin(self.collector.sample());
        let (mut last, mut settings) = (began, held.read());
        let end = loop {
            let left = length.saturating_sub(began.elapsed());
            self.interrupt.wait(left.min(LOOK).min(length / 2));
            let now_held = held.read();
            settings = worse(settings, now_held);
            let look = Look {
                sample: self.collector.sample(),
                seconds: last.elapsed().as_secs_f64(),
                held: now_held,
                p99: self.latency.read(task.plan().guardrails.p99.as_ref()),
            };
            last = Instant::now();
            let seen = meter.add(look);
            if let Some(reason) = self.breach(task, &seen).filter(|_| is_watched(task)) {
                self.stop(task, &reason);
                break End::Breach;
            }
            if self.interrupt.asked() {
                break End::Interrupted;
            }
            if began.elapsed() >= length {
                break End::Whole;
            }
            if !self.still(task) {
                break End::Changed;
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        let thp = task.policy().settings.thp;
        let period = Period {
            start,
            seconds,
            exposure: meter.exposure(),
            proof: meter.proof(thp, settings),
            ending: ending(end),
            metrics: meter.metrics(seconds),
        };
        self.write(task, held, &period);
        Ok(end)
    }

    fn still(&mut self, task: &Task) -> bool {
        matches!(self.orders.next(), Order::Do(next) if next.is_as(task))
    }

    /// Returns why the arm must stop: a limit was exceeded, or the limits cannot be observed.
    fn breach(&self, task: &Task, seen: &Seen) -> Option<String> {
        let plan = task.plan();
        let passed = plan.guardrails.breach(seen);
        let passed = passed.map(|breach| breach.to_string());
        let blind = self.latency.is_blind(plan.lease).then(|| {
            let lease = plan.lease.as_secs();
            format!("the command of p99 gave no number for the {lease} s of the lease")
        });
        passed.or(blind)
    }

    fn stop(&mut self, task: &Task, reason: &str) {
        let arm = task.arm();
        self.say(format!(
            "guardrail: arm {arm} of {} is stopped: {reason}",
            task.plan().name
        ));
        if let Err(error) = self.orders.remember_stop(reason) {
            message_lines(chain(&error));
        }
    }

    fn write(&mut self, task: &Task, held: &Held<'_>, period: &Period) {
        let plan = task.plan();
        let row = |metric: &str, sums: Sums| Row {
            experiment: plan.name.clone(),
            plan: task.file.digest.clone(),
            unit: self.unit.clone(),
            cluster: UnitKind::Host.cluster(&self.unit).to_owned(),
            stratum: held.stratum.clone(),
            arm: task.arm(),
            stage: u32::try_from(task.part.stage).unwrap_or(u32::MAX),
            saturation: task.part.saturation,
            start: period.start.0,
            seconds: period.seconds,
            phase: task.part.phase,
            exposure: Some(period.exposure),
            proof: period.proof,
            ending: period.ending,
            metric: metric.to_owned(),
            sums,
            histogram: None,
        };
        let metrics = period.metrics.iter();
        let rows: Vec<Row> = metrics.map(|(metric, sums)| row(metric, *sums)).collect();
        self.rows.add(&rows);
    }
}

/// The data that the rows of a period share.
struct Period {
    start: Moment,
    seconds: f64,
    exposure: f64,
    proof: Proof,
    ending: Ending,
    metrics: Vec<(&'static str, Sums)>,
}

/// The length of a period. It ends early at a change of the plan, because its rows belong to one phase.
fn length(task: &Task, start: Moment) -> Duration {
    const LEAST: Duration = Duration::from_millis(200);
    let left = next_change(task.plan(), start).0.saturating_sub(start.0);
    let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
    task.plan().period.min(left).max(LEAST)
}

/// Before the arms begin there is nothing to stop.
fn is_watched(task: &Task) -> bool {
    task.part.phase != Phase::Before
}

fn ending(end: End) -> Ending {
    match end {
        End::Whole => Ending::Whole,
        End::Breach => Ending::Guardrail,
        End::Changed | End::Interrupted => Ending::Stopped,
    }
}

/// The worse of two states: settings found changed once have not held.
fn worse(one: Settings, other: Settings) -> Settings {
    match (one, other) {
        (Settings::No, _) | (_, Settings::No) => Settings::No,
        (Settings::Unread, _) | (_, Settings::Unread) => Settings::Unread,
        _ => Settings::Yes,
    }
}

impl Held<'_> {
    fn read(&self) -> Settings {
        let read = |file: &hugewise_experiment::run::policy::realise::FileWrite| match self
            .place
            .value(&file.path)
        {
            Ok(value) if value == file.value => Settings::Yes,
            Ok(_) => Settings::No,
            Err(_) => Settings::Unread,
        };
        self.files.iter().map(read).fold(Settings::Yes, worse)
    }
}
