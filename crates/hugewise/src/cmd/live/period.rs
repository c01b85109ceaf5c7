//! One period: work, processor time and pages, from its begin to its end.

use std::time::{Duration, Instant};

use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::metric::live::LiveMetric;
use hugewise_experiment::run::plan::Slot;
use hugewise_experiment::run::trial::{Mark, Outcome, ReadBack, Reading, Readings, Trial};
use hugewise_linux::live::{CpuUsage, Halt, Work};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_live::{Exposure, Histogram};

use super::latency::{self, Latency};
use super::session::{Move, Session};
use super::sites;
use super::unit::Unit;
use super::work::Counter;
use crate::interrupt::Interrupt;

/// The place of a period in the experiment.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    pub index: u32,
    pub round: u32,
    pub slot: Slot,
    pub policy: &'a str,
    /// The pages of each part of the switched memory.
    pub works: Vec<Work>,
}

/// The sources that `live` reads at both ends of a period.
#[derive(Debug)]
pub(super) struct Sources {
    /// The count of work.
    pub work: Counter,
    /// The latency of requests, with `--latency`.
    pub latency: Option<Latency>,
}

impl Sources {
    fn histogram(&mut self) -> Option<Result<Histogram, String>> {
        self.latency.as_mut().map(Latency::read)
    }
}

/// The times of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub settle: Duration,
    pub period: Duration,
}

/// Work and processor time at one moment.
#[derive(Debug)]
pub(super) struct Moment {
    at: Instant,
    work: Result<f64, String>,
    cpu: Result<f64, String>,
}

/// Growth between two moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    pub work: f64,
    pub cpu: f64,
    pub wall: f64,
}

impl Moment {
    /// Reads both, the processor time on both sides of the work: a counter of a server answers after what is queued.
    pub(super) fn now(root: &Root, unit: &Unit, counter: &mut Counter) -> Self {
        let began = Instant::now();
        let before = unit.cpu.read(root);
        let work = counter.read();
        let after = unit.cpu.read(root);
        let middle = |before: f64, after: f64| f64::midpoint(before, after);
        let cpu = before.and_then(|before| Ok(middle(before, after?)));
        Self {
            at: began + began.elapsed() / 2,
            work,
            cpu: cpu.map_err(|error| error.to_string()),
        }
    }

    /// The readings of a moment that could be read.
    fn readings(&self, work: LiveMetric, cpu: LiveMetric) -> Pairs {
        let read = [(work, &self.work), (cpu, &self.cpu)].into_iter();
        read.filter_map(|(metric, value)| Some(pair(metric, *value.as_ref().ok()?)))
            .collect()
    }

    /// Returns the growth since an earlier moment.
    pub(super) fn since(&self, before: &Self) -> Result<Growth, String> {
        let grown = |now: &Result<f64, String>, then: &Result<f64, String>| {
            Ok::<f64, String>(now.clone()? - then.clone()?)
        };
        let growth = Growth {
            work: grown(&self.work, &before.work)?,
            cpu: grown(&self.cpu, &before.cpu)?,
            wall: (self.at - before.at).as_secs_f64(),
        };
        match growth.work < 0.0 {
            true => Err("the counter of work went backwards".to_owned()),
            false => Ok(growth),
        }
    }
}

/// Switches the blocks, waits, and measures.
pub(super) fn measure(
    root: &Root,
    unit: &Unit,
    sources: &mut Sources,
    session: &mut Session<'_>,
    place: &Place<'_>,
    lengths: Lengths,
    stop: &Interrupt,
) -> Result<Trial, Halt> {
    let moved = session.begin_period(&place.works, stop.flag())?;
    stop.wait(lengths.settle);
    let started_unix_ms = unix_ms();
    let held = session.held();
    let usage = CpuUsage::read(root, &unit.pids());
    let latency = sources.histogram();
    let begin = Moment::now(root, unit, &mut sources.work);
    stop.wait(lengths.period);
    let end = Moment::now(root, unit, &mut sources.work);
    let latency = latency.zip(sources.histogram());
    if stop.asked() {
        return Err(Halt::Interrupted);
    }
    if !session.lives() {
        return Err(Halt::Ended);
    }
    let exposures = session.exposures(&held);
    let mut readings = growth(&end.since(&begin));
    readings.extend(used(root, unit, usage, (end.at - begin.at).as_secs_f64()));
    readings.extend(begin.readings(LiveMetric::WorkBeginTotal, LiveMetric::CpuBeginSeconds));
    readings.extend(end.readings(LiveMetric::WorkEndTotal, LiveMetric::CpuEndSeconds));
    readings.extend(switched(moved, &exposures));
    if let Some((begin, end)) = latency {
        readings.extend(latency::readings(&begin, &end));
    }
    Ok(Trial {
        index: place.index,
        round: place.round,
        policy: place.policy.to_owned(),
        role: place.slot.role,
        start: None,
        started_unix_ms,
        outcome: Outcome::Exited { code: 0 },
        failure_ignored: false,
        outlived: 0,
        stderr_tail: None,
        readings: readings.into_iter().collect::<Readings>(),
        read_back: ReadBack {
            switched: sites::switched(session.sites(), &exposures),
            ..ReadBack::default()
        },
        marks: marks(&place.works, &exposures),
        pacing: None,
        timeline: None,
        first_touch: None,
    })
}

type Pairs = Vec<(String, Reading)>;

fn pair(metric: LiveMetric, value: f64) -> (String, Reading) {
    (metric.name().to_owned(), Reading::of(value))
}

/// The rates of work. A process that used no processor time did none.
fn growth(growth: &Result<Growth, String>) -> Pairs {
    let names = [LiveMetric::CpuWorkPerSecond, LiveMetric::WorkPerSecond];
    let missing = |why: &str| -> Pairs {
        let reading = Reading::missing(hugewise_base::missing::Missing::unreadable(why));
        names
            .iter()
            .map(|it| (it.name().to_owned(), reading.clone()))
            .collect()
    };
    match growth {
        Ok(it) if it.cpu > 0.0 => vec![
            pair(LiveMetric::CpuWorkPerSecond, it.work / it.cpu),
            pair(LiveMetric::WorkPerSecond, it.work / it.wall),
            pair(LiveMetric::ProcessorUseRatio, it.cpu / it.wall),
        ],
        Ok(_) => missing("the process used no processor time"),
        Err(why) => missing(why),
    }
}

fn used(root: &Root, unit: &Unit, before: CpuUsage, seconds: f64) -> Pairs {
    let now = CpuUsage::read(root, &unit.pids());
    let faults = now.minor_faults.saturating_sub(before.minor_faults) as f64;
    vec![
        pair(LiveMetric::MinorFaultsPerSecond, faults / seconds),
        pair(
            LiveMetric::ResidentBytes,
            (now.resident_pages * unit.page_bytes) as f64,
        ),
    ]
}

/// Returns the mark of the first part of the memory whose pages did not hold.
fn marks(works: &[Work], exposures: &[Exposure]) -> Vec<Mark> {
    let mut each = works.iter().zip(exposures);
    let mark = each.find_map(|(work, exposure)| exposure.mark(*work == Work::Collapse));
    mark.into_iter().collect()
}

fn switched(moved: Move, exposures: &[Exposure]) -> Pairs {
    let sum = |of: fn(&Exposure) -> u64| exposures.iter().map(of).sum::<u64>() as f64;
    let (begin, end) = (sum(|it| it.begin), sum(|it| it.end));
    vec![
        (
            MetricId::HugeAnonPeakBytes.name().to_owned(),
            Reading::of(begin.max(end)),
        ),
        pair(LiveMetric::SwitchedBytes, sum(|it| it.switched)),
        pair(LiveMetric::HugeBeginBytes, begin),
        pair(LiveMetric::HugeEndBytes, end),
        pair(LiveMetric::SwitchSeconds, moved.took.as_secs_f64()),
        pair(
            LiveMetric::LongestCallSeconds,
            moved.longest.call.as_secs_f64(),
        ),
        pair(LiveMetric::ShamTotal, f64::from(u8::from(moved.is_sham))),
    ]
}
