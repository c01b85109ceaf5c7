//! One life of what is measured. An experiment that starts a program has several, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_live::{Calibration, Order};

use super::Arguments;
use super::guards::Guards;
use super::latency::Latency;
use super::period::Sources;
use super::session::Session;
use super::unit::Unit;
use super::work::Counter;

/// Processes, the sources of their work and latency, and their switched blocks.
#[derive(Debug)]
pub(super) struct Life<'a> {
    pub unit: Unit,
    pub sources: Sources,
    pub guards: Guards<'a>,
    pub session: Session<'a>,
    /// The number of the start of the program; `None` for processes that ran before the experiment.
    pub start: Option<u32>,
    /// Set once its load runs no more; `None` if it needs none.
    pub unloaded: Option<Arc<AtomicBool>>,
}

impl Life<'_> {
    /// Returns true if the load that it needs runs no more.
    pub(super) fn is_idle(&self) -> bool {
        let flag = self.unloaded.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Returns the period of a program that is started for the experiment: the shortest that its source allows, if
    /// switching takes half of the time at most. Its work changes with its input, and nobody waits for it.
    pub(super) fn period(&self, calibration: &Calibration) -> Option<Duration> {
        self.start?;
        let period = self
            .sources
            .work
            .least_period()
            .max(calibration.of_a_period(Order::PAIRS));
        Some(Duration::from_secs_f64(period))
    }
}

impl<'a> Life<'a> {
    /// Has a keeper hold the state of at most `most` blocks.
    pub(super) fn begin(
        root: &'a Root,
        unit: Unit,
        counter: Counter,
        most: Option<u64>,
        arguments: &Arguments,
    ) -> Result<Self> {
        let session = Session::begin(root, &unit, most, arguments)?;
        Ok(Self {
            guards: Guards::begin(root, &unit, &arguments.guard)?,
            unit,
            sources: Sources {
                work: counter,
                latency: arguments.latency.as_ref().map(Latency::open).transpose()?,
            },
            session,
            start: None,
            unloaded: None,
        })
    }
}
