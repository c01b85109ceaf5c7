//! Running a workload under a tracer with our own standard streams, without measuring.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use hugewise_model::run::trial::{Outcome, Tracing};

use super::Launch;
use super::calls::{self, Change};
use super::cgroup;
use super::child::{Child, Streams};
use super::exit_reading::ExitRequest;
use super::plain::outcome;
use super::tracee::{self, Options};
use super::tracer::Tracer;
use super::wire::{self, Order};
use crate::machine::error::Result;

/// Runs a workload whose tree is traced, and waits for the last process of it: the filter of its
/// calls stays, and a filtered call without a tracer fails. `signal` is asked all the time for a
/// signal that is to be passed on.
///
/// # Errors
/// It could not be started or traced.
pub fn run_traced(launch: &Launch, signal: impl Fn() -> Option<i32>) -> Result<(Outcome, Tracing)> {
    let starting = |what: String| wire::fault("starting the command", what);
    let (plan, _cgroup) = cgroup::make(launch.group).map_err(starting)?.unzip();
    let order = Order {
        cgroup: plan,
        ..Order::of(launch, &ExitRequest::default())?
    };
    let child = Child::fork(&order, Streams::Inherited).map_err(starting)?;
    let mut tracer = Tracer::new(launch.tracer, child.pid)
        .ok_or_else(|| starting("no tracer was asked for".to_owned()))?;
    tracee::seize(child.pid, Options::TREE)
        .map_err(|error| starting(format!("tracing it: {error}")))?;
    child.release();
    let status = wait(child.pid, &mut tracer, signal);
    if let Some(sentence) = child.failure(&order) {
        return Err(starting(sentence));
    }
    Ok((outcome(ExitStatus::from_raw(status)), tracer.tracing))
}

/// Waits until nobody is left; the status of the main process.
fn wait(main: i32, tracer: &mut Tracer, signal: impl Fn() -> Option<i32>) -> i32 {
    // A stop is answered at once by waiting for it; a signal is passed on by then.
    const PATIENCE: Duration = Duration::from_millis(10);
    let mut status = 0;
    let changes = calls::ChildSignals::begin();
    loop {
        match calls::next_change() {
            Change::Stopped { pid, status } => tracer.answer(pid, tracee::reason(status)),
            Change::Ended {
                pid, status: last, ..
            } => {
                tracer.forget(pid);
                if pid == main {
                    status = last;
                }
            }
            Change::Left { pid } => tracer.forget(pid),
            Change::NoChild => return status,
            Change::None => {
                changes.wait(PATIENCE);
                if let Some(number) = signal().and_then(|number| u8::try_from(number).ok()) {
                    calls::signal(main, number);
                }
            }
        }
    }
}
