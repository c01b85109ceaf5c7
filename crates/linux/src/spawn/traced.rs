//! Runs a workload under a tracer with the standard streams of this process, without measuring.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use hugewise_experiment::run::trial::{Outcome, Tracing};

use super::Launch;
use super::calls::{self, Change};
use super::cgroup;
use super::child::{Child, Streams};
use super::exit_reading::ExitRequest;
use super::injector::Injector;
use super::plain::outcome;
use super::tracee;
use super::wire::{self, Order};
use crate::machine::error::Result;

/// Runs a workload with system calls injected into its tree, and waits for it. If calls are filtered, it waits for the
/// last process of the tree: the filter stays, and a filtered call fails without a tracer. Otherwise it waits for the
/// main process and the remaining work. `signal` is polled for a signal to forward.
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
    if launch.collapses() {
        // Orphans of the tree stay below this process, so that they can be found and traced.
        calls::become_subreaper().map_err(|error| starting(error.to_string()))?;
    }
    let child = Child::fork(&order, Streams::Inherited).map_err(starting)?;
    let mut injector = Injector::new(&order, child.pid);
    if let Some(options) = injector.options() {
        tracee::seize(child.pid, options)
            .map_err(|error| starting(format!("tracing it: {error}")))?;
    }
    child.release();
    injector.begin();
    let status = wait(child.pid, &mut injector, signal);
    if let Some(sentence) = child.failure(&order) {
        return Err(starting(sentence));
    }
    let outcome = outcome(ExitStatus::from_raw(status));
    Ok((outcome, injector.tracing().unwrap_or_default()))
}

/// Waits until no process is left, or no work can follow; returns the status of the main process.
fn wait(main: i32, injector: &mut Injector, signal: impl Fn() -> Option<i32>) -> i32 {
    // A stop ends the wait at once; a signal is forwarded within this time.
    const PATIENCE: Duration = Duration::from_millis(10);
    let mut over = None;
    let changes = calls::ChildSignals::begin();
    loop {
        match calls::next_change() {
            Change::Stopped { pid, status } => {
                if !injector.answer(pid, tracee::reason(status)) {
                    tracee::resume(pid, 0);
                }
            }
            Change::Ended { pid, status, .. } => {
                injector.forget(pid);
                over = over.or((pid == main).then_some(status));
            }
            Change::Left { pid } => injector.forget(pid),
            Change::NoChild => return over.unwrap_or_default(),
            Change::None => {
                if let Some(status) = over.filter(|_| injector.is_over()) {
                    return status;
                }
                injector.work();
                let patience = injector.patience().unwrap_or(PATIENCE);
                changes.wait(patience.min(PATIENCE));
                if let Some(number) = signal().and_then(|number| u8::try_from(number).ok()) {
                    calls::signal(main, number);
                }
            }
        }
    }
}
