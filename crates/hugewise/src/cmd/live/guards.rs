//! Conditions that end the experiment, looked at after each period.

use std::time::Instant;

use anyhow::Result;
use hugewise_experiment::run::trial::Trial;
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::pressure::{Resource, read_pressure};
use hugewise_live::{Guard, Watched};

use super::unit::Unit;
use super::work::{self, Counter};

/// All guards, with what they read last.
#[derive(Debug)]
pub(super) struct Guards<'a> {
    root: &'a Root,
    all: Vec<(Guard, Gauge)>,
}

/// The last reading of the subject of a guard.
#[derive(Debug)]
enum Gauge {
    /// Seconds of waiting for memory, and when; `None` on a kernel without PSI.
    Pressure(Option<(f64, Instant)>),
    /// The period itself has it.
    Period,
    /// A counter.
    Counter {
        counter: Box<Counter>,
        last: Option<(f64, Instant)>,
    },
}

impl<'a> Guards<'a> {
    /// Opens what they watch.
    pub(super) fn begin(root: &'a Root, unit: &Unit, asked: &[Guard]) -> Result<Self> {
        let usual = std::iter::once(Guard::usual());
        let open = |guard: Guard| {
            let gauge = match &guard.watched {
                Watched::MemoryPressure => Gauge::Pressure(pressure(root)),
                Watched::Period(_) => Gauge::Period,
                Watched::Counter(source) => {
                    let mut counter = work::open(root, unit, source)?;
                    let last = counter.read().ok().map(|value| (value, Instant::now()));
                    Gauge::Counter {
                        counter: Box::new(counter),
                        last,
                    }
                }
            };
            Ok((guard, gauge))
        };
        let all = asked.iter().cloned().chain(usual).map(open);
        Ok(Self {
            root,
            all: all.collect::<Result<_>>()?,
        })
    }

    /// Returns the first guard that a period breaks, and the value that does.
    pub(super) fn broken_by(&mut self, trial: &Trial) -> Option<(Guard, f64)> {
        let root = self.root;
        self.all.iter_mut().find_map(|(guard, gauge)| {
            let value = match (&guard.watched, gauge) {
                (Watched::Period(metric), _) => trial.value(metric),
                (_, Gauge::Pressure(last)) => growth(last, pressure(root)),
                (_, Gauge::Counter { counter, last }) => {
                    let now = counter.read().ok().map(|value| (value, Instant::now()));
                    growth(last, now)
                }
                (_, Gauge::Period) => None,
            }?;
            guard.is_broken_by(value).then(|| (guard.clone(), value))
        })
    }
}

fn pressure(root: &Root) -> Option<(f64, Instant)> {
    let read = read_pressure(root, Resource::Memory).ok()?;
    Some((read.some_us as f64 / 1e6, Instant::now()))
}

/// The growth per second since the last reading.
fn growth(last: &mut Option<(f64, Instant)>, now: Option<(f64, Instant)>) -> Option<f64> {
    let before = std::mem::replace(last, now);
    let ((then, since), (value, at)) = before.zip(now)?;
    let seconds = (at - since).as_secs_f64();
    (seconds > 0.0).then(|| (value - then) / seconds)
}
