//! Injects system calls into the processes of a tree, through the tracer or the collapser.

use std::time::Duration;

use hugewise_experiment::run::trial::Tracing;

use super::collapser::{Collapser, Schedule};
use super::tracee::{Options, Stop};
use super::tracer::TreeTracer;
use super::wire::Order;

/// The injector required by a policy.
#[derive(Debug)]
pub(super) enum Injector {
    /// No injector.
    None,
    /// Advises memory when it is mapped.
    Advice(Box<TreeTracer>),
    /// Collapses memory and code in use.
    Collapse(Box<Collapser>),
}

impl Injector {
    /// Creates the injector for the tree of `main`.
    pub(super) fn new(order: &Order, main: i32) -> Self {
        let schedule = Schedule::new(order.collapse, order.text);
        match (TreeTracer::new(&order.tracer, main), schedule) {
            (Some(tracer), _) => Self::Advice(Box::new(tracer)),
            (None, Some(schedule)) => Self::Collapse(Box::new(Collapser::new(schedule, main))),
            (None, None) => Self::None,
        }
    }

    /// Returns the options with which the main process must be traced from its start.
    pub(super) fn options(&self) -> Option<Options> {
        match self {
            Self::Advice(tracer) => Some(tracer.options()),
            Self::Collapse(_) | Self::None => None,
        }
    }

    /// Records that the main process is traced with these options for its end.
    pub(super) fn share(&mut self, main: i32, options: Options) {
        if let Self::Collapse(collapser) = self {
            collapser.share(main, options);
        }
    }

    /// Starts the clock when the tree begins to run.
    pub(super) fn begin(&mut self) {
        if let Self::Collapse(collapser) = self {
            collapser.begin();
        }
    }

    /// Does the due work.
    pub(super) fn work(&mut self) {
        if let Self::Collapse(collapser) = self {
            collapser.work();
        }
    }

    /// Returns the time until the next work, unless a thread stops; `None` if only stops can follow.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self {
            Self::Advice(_) | Self::None => None,
            Self::Collapse(collapser) => collapser.patience(),
        }
    }

    /// Returns true if no more work will come while processes live.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Advice(_) => false,
            Self::Collapse(collapser) => collapser.is_over(),
            Self::None => true,
        }
    }

    /// Handles a stop; returns false if another part must handle it.
    pub(super) fn answer(&mut self, pid: i32, stop: Stop) -> bool {
        match self {
            Self::None => false,
            Self::Advice(tracer) => {
                tracer.answer(pid, stop);
                true
            }
            Self::Collapse(collapser) => collapser.answer(pid, stop),
        }
    }

    /// Forgets an ended thread.
    pub(super) fn forget(&mut self, pid: i32) {
        match self {
            Self::None => {}
            Self::Advice(tracer) => tracer.forget(pid),
            Self::Collapse(collapser) => collapser.forget(pid),
        }
    }

    /// Returns the results so far.
    pub(super) fn tracing(&self) -> Option<Tracing> {
        match self {
            Self::None => None,
            Self::Advice(tracer) => Some(tracer.told()),
            Self::Collapse(collapser) => Some(collapser.tracing.clone()),
        }
    }

    /// Reads the resulting memory of the main process, stopped at its end.
    pub(super) fn look(&mut self, main: i32) {
        if let Self::Advice(tracer) = self {
            tracer.look(main);
        }
    }
}
