//! System calls injected into the processes of a tree: by the tracer, by the collapser.

use std::time::Duration;

use hugewise_experiment::run::trial::Tracing;

use super::collapser::{Collapser, Schedule};
use super::tracee::{Options, Stop};
use super::tracer::TreeTracer;
use super::wire::Order;

/// The one that a policy asks for.
#[derive(Debug)]
pub(super) enum Injector {
    /// Nobody.
    None,
    /// Advises memory when it is mapped.
    Advice(Box<TreeTracer>),
    /// Makes memory and code huge that is in use.
    Collapse(Box<Collapser>),
}

impl Injector {
    /// For the tree of `main`.
    pub(super) fn new(order: &Order, main: i32) -> Self {
        let schedule = Schedule::new(order.collapse, order.text);
        match (TreeTracer::new(&order.tracer, main), schedule) {
            (Some(tracer), _) => Self::Advice(Box::new(tracer)),
            (None, Some(schedule)) => Self::Collapse(Box::new(Collapser::new(schedule, main))),
            (None, None) => Self::None,
        }
    }

    /// What a tracer of the main process must be told of from its start on.
    pub(super) fn options(&self) -> Option<Options> {
        match self {
            Self::Advice(tracer) => Some(tracer.options()),
            Self::Collapse(_) | Self::None => None,
        }
    }

    /// The main process is traced with these options for its end.
    pub(super) fn share(&mut self, main: i32, options: Options) {
        if let Self::Collapse(collapser) = self {
            collapser.share(main, options);
        }
    }

    /// The tree begins to run.
    pub(super) fn begin(&mut self) {
        if let Self::Collapse(collapser) = self {
            collapser.begin();
        }
    }

    /// Does what is due.
    pub(super) fn work(&mut self) {
        if let Self::Collapse(collapser) = self {
            collapser.work();
        }
    }

    /// How long nothing is to be done, unless a thread stops; `None` where only that can come.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self {
            Self::Advice(_) | Self::None => None,
            Self::Collapse(collapser) => collapser.patience(),
        }
    }

    /// Whether nothing will come any more while processes live.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Advice(_) => false,
            Self::Collapse(collapser) => collapser.is_over(),
            Self::None => true,
        }
    }

    /// Answers a stop; `false` where that is for another to do.
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

    /// Forgets a thread that has ended.
    pub(super) fn forget(&mut self, pid: i32) {
        match self {
            Self::None => {}
            Self::Advice(tracer) => tracer.forget(pid),
            Self::Collapse(collapser) => collapser.forget(pid),
        }
    }

    /// What it has done so far.
    pub(super) fn tracing(&self) -> Option<Tracing> {
        match self {
            Self::None => None,
            Self::Advice(tracer) => Some(tracer.told()),
            Self::Collapse(collapser) => Some(collapser.tracing.clone()),
        }
    }

    /// Looks at what it has done to the main process, which is held at its end.
    pub(super) fn look(&mut self, main: i32) {
        if let Self::Advice(tracer) = self {
            tracer.look(main);
        }
    }
}
