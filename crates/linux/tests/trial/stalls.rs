//! Stalls in the kernel, if they can be timed.

use std::cell::RefCell;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::{Outcome, Reading};
use hugewise_linux::bpf::Tracer;
use hugewise_linux::collect::stalls::{StallScope, Stalls};
use hugewise_linux::collect::{Instruments, TrialObservation, trial};
use hugewise_linux::machine::root::Root;
use hugewise_linux::spawn::Launch;
use hugewise_observe::trace::Attachment;
use hugewise_observe::trace::points::points;

use super::observing::{counting, host, lab, said, shell, value};
use crate::skipping::skip;

/// Runs a trial with timed stalls.
fn timed(stalls: &RefCell<Stalls>, launch: &Launch) -> TrialObservation {
    let expected = Realisation::default();
    let watch = Instruments {
        files: &[],
        expected: &expected,
        counting: counting(),
        stalls: Some(stalls),
    };
    let never = AtomicBool::new(false);
    trial(&Root::real(), &host(), launch, &watch, &never).unwrap()
}

/// Returns what a workload prints about its stalls, with the trial; `None` if the stall cannot be timed here.
fn stalled(test: &str, metric: &str, words: &[&str]) -> Option<(f64, TrialObservation)> {
    let stalls = RefCell::new(Stalls::start(&Root::real(), StallScope::All).unwrap());
    let seen = timed(&stalls, &lab(words));
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    match &seen.readings[metric] {
        Reading::Missing { missing } => {
            skip(test, &missing.to_string());
            None
        }
        _ => Some((value(&seen, metric), seen)),
    }
}

/// Threads that almost only wait for the lock of their address space wait about as long as their calls take. A single
/// thread that takes the same lock equally often waits only for processes that read its memory at the same time.
pub(super) fn waits_for_mmap_lock_are_waits() {
    let test = "waits_for_mmap_lock_are_waits";
    let metric = "mmap_lock_wait_seconds";
    let contend = |more: &[&str]| {
        let words = ["contend", "--pages", "4096", "--rounds", "10"];
        stalled(test, metric, &[&words[..], more].concat())
    };
    let Some((waited, seen)) = contend(&["--waiters", "2"]) else {
        return;
    };
    let said = said(&seen);
    let calls: f64 = said.split_whitespace().last().unwrap().parse().unwrap();
    let calls = calls / 1e9;
    assert!(waited > 0.25 * calls, "{waited} s of {calls} s");
    // No thread waits longer than the duration of the trial: the first one, which takes the lock at its start and end,
    // and the two others.
    let wall = value(&seen, "wall_seconds");
    assert!(waited <= 3.0 * wall, "{waited} s of {wall} s");
    let (alone, seen) = contend(&[]).unwrap();
    let wall = value(&seen, "wall_seconds");
    assert!(alone < 0.05 * wall, "{alone} s of {wall} s");
}

/// A child that writes to memory inherited from its parent copies it; writing to fresh memory copies nothing, except a
/// few pages of programs and libraries.
pub(super) fn copying_on_write_is_told_apart() {
    let test = "copying_on_write_is_told_apart";
    let metric = "copy_on_write_seconds";
    let mix = |kind| stalled(test, metric, &["fault-mix", kind, "20000"]);
    let Some((copied, seen)) = mix("--copy") else {
        return;
    };
    assert!(copied > 0.0 && copied <= value(&seen, "wall_seconds"));
    let (fresh, _) = mix("--write").unwrap();
    assert!(fresh < 0.5 * copied, "{fresh} s of {copied} s");
}

/// Compaction on request runs in the requesting task. If tracepoints are used, a trial that requests it has seconds of
/// compaction, and a trial next to a task that requests it has none.
pub(super) fn stalls_are_the_trials_own() {
    let test = "stalls_are_the_trial's_own";
    let stalls = RefCell::new(Stalls::start(&Root::real(), StallScope::All).unwrap());
    let seen = |line: &str| timed(&stalls, &shell(line));
    let quiet = seen("true");
    if let Reading::Missing { missing } = &quiet.readings["mmap_lock_wait_seconds"] {
        return skip(test, &missing.to_string());
    }
    assert_eq!(value(&quiet, "direct_compaction_seconds"), 0.0);
    let asks = "echo 1 > /proc/sys/vm/compact_memory";
    let asked = seen(asks);
    if asked.outcome != (Outcome::Exited { code: 0 }) {
        return skip(test, "vm.compact_memory may not be written");
    }
    let compacted = value(&asked, "direct_compaction_seconds");
    if compacted == 0.0 && is_traced_by_function() {
        return skip(
            test,
            "the function that is traced here is not called on request",
        );
    }
    assert!(compacted > 0.0 && compacted <= value(&asked, "wall_seconds"));
    let mut stranger = Command::new("sh").args(["-c", asks]).spawn().unwrap();
    let beside = seen("sleep 0.3");
    stranger.wait().unwrap();
    assert_eq!(value(&beside, "direct_compaction_seconds"), 0.0);
}

/// Returns true if kernel functions can be traced here; they are preferred to tracepoints.
fn is_traced_by_function() -> bool {
    let points = points();
    let point = points
        .iter()
        .find(|point| point.name == "direct_compaction");
    let (tracer, _) = Tracer::start(&Root::real(), &[point.unwrap().clone()], None).unwrap();
    let traced = tracer.traced();
    traced
        .first()
        .is_some_and(|point| point.attachment < Attachment::TpBtf)
}
