//! Observes a command, a process, a cgroup or the machine, interval by interval.
//!
//! Hardware counters are multiplexed within each interval ([`perf`](crate::perf)); the kernel's counters are read at
//! its end. Without hardware counters only the former are missing.

use std::time::{Duration, Instant};

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_base::verification::Verification;
use hugewise_observe::stat::{Hardware, Header, Interval, Mode, Target, derive};
use hugewise_observe::verify::VerificationResult;

use crate::machine::clock::{nanoseconds, unix_ms};
use crate::machine::root::Root;
use crate::observe::verify::{events_of, identity, standing};
use crate::perf::count::{Counters, Plan};
use crate::perf::open::PerfOpen;
use crate::probe::Grants;

pub mod activity;
mod kernel;
mod memory;
pub mod plan;
pub mod subject;
pub mod usage;
pub mod walks;

use kernel::Kernel;
use plan::WantedEvents;
use subject::Subject;

/// The longest turn of a counter group: programs change, and every group must see every phase.
const LONGEST_TURN: Duration = Duration::from_millis(50);
/// The shortest turn: each switch costs several system calls per thread.
const SHORTEST_TURN: Duration = Duration::from_millis(1);

/// Parameters of an observation.
#[derive(Clone, Debug)]
pub struct StatRequest {
    /// The subject.
    pub subject: Subject,
    /// The subject, as named in a recording.
    pub target: Target,
    /// Length of an interval.
    pub interval: Duration,
    /// The modes in which the hardware counts; `None` means as many as permitted.
    pub mode: Option<Mode>,
    /// The events to count.
    pub events: WantedEvents,
    /// Name and version of the program.
    pub program: String,
    /// The newest verification of events.
    pub verified: Option<VerificationResult>,
}

/// The result of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitResult {
    /// The time has passed.
    Passed,
    /// The subject has ended, or the caller stopped waiting.
    Over,
}

/// An ongoing observation. Dropping it closes all counters.
#[derive(Debug)]
pub struct Observation<'a> {
    header: Header,
    counters: Option<Counters>,
    kernel: Kernel<'a>,
    interval: Duration,
    turn: Duration,
    begun: Instant,
    next: u64,
    last: Duration,
}

impl<'a> Observation<'a> {
    /// Opens the counters and takes the first reading. The counters of a command start at its exec.
    #[must_use]
    pub fn begin(root: &'a Root, host: &Host, opener: &dyn PerfOpen, wanted: &StatRequest) -> Self {
        let found = attach(root, opener, wanted);
        let turns = found.as_ref().map_or(1, |found| found.plan().turns());
        let turn = turn(wanted.interval, turns);
        let kernel = Kernel::begin(root, host, wanted.subject.clone(), wanted.interval);
        let mut notes = found
            .as_ref()
            .map_or_else(|_| Vec::new(), |_| plan::notes(root));
        notes.extend(kernel.notes());
        let header = Header {
            program: wanted.program.clone(),
            started_unix_ms: unix_ms(),
            kernel: host.kernel.clone(),
            arch: host.arch.clone(),
            cpu_model: host.cpu_model.clone(),
            page_bytes: host.page_bytes,
            huge_bytes: host.pmd_bytes(),
            target: wanted.target.clone(),
            interval_ns: nanoseconds(wanted.interval),
            hardware: hardware(found.as_ref(), turn, host, |plan| {
                let verified = wanted.verified.as_ref();
                standing(&events_of(plan), verified, &identity(root, host))
            }),
            scopes: kernel.scopes(),
            notes,
        };
        Self {
            header,
            counters: found.ok(),
            kernel,
            interval: wanted.interval,
            turn,
            begun: Instant::now(),
            next: 0,
            last: Duration::ZERO,
        }
    }

    /// Returns the subject and the method of the observation.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Restarts the time now: a command was released.
    pub fn released(&mut self) {
        self.begun = Instant::now();
    }

    /// Waits until the interval is over, and gives every group its turns. `wait` waits for at most the time passed to
    /// it.
    pub fn next(&mut self, mut wait: impl FnMut(Duration) -> WaitResult) -> (Interval, WaitResult) {
        let end = self
            .interval
            .saturating_mul(u32::try_from(self.next + 1).unwrap_or(u32::MAX));
        let mut state = WaitResult::Passed;
        let mut turn_began = self.begun.elapsed();
        loop {
            let now = self.begun.elapsed();
            if state == WaitResult::Over || now >= end {
                break;
            }
            self.kernel.read_between(now);
            let of_turn = (turn_began + self.turn).saturating_sub(now);
            state = wait(of_turn.min(end.saturating_sub(now)));
            let now = self.begun.elapsed();
            if state == WaitResult::Passed && now >= turn_began + self.turn && now < end {
                turn_began = now;
                self.counters.iter_mut().for_each(Counters::next_turn);
            }
        }
        (self.close(), state)
    }

    fn close(&mut self) -> Interval {
        let mut counts = Vec::new();
        if let Some(counters) = &mut self.counters {
            counts = counters.collect();
            // The next interval begins with the next group, so that no group is always first.
            counters.next_turn();
        }
        let now = self.begun.elapsed();
        let interval = Interval {
            index: self.next,
            start_ns: nanoseconds(self.last),
            end_ns: nanoseconds(now),
            derived: derive(&counts, self.header.hardware.missing()),
            counts,
            readings: self.kernel.grown(),
        };
        self.next += 1;
        self.last = now;
        interval
    }
}

fn attach(root: &Root, opener: &dyn PerfOpen, wanted: &StatRequest) -> Result<Counters, Missing> {
    let plan = plan::plan(root, opener, wanted.mode, &wanted.events)?;
    let target = wanted.subject.target(root)?;
    let grants = Grants::read(root);
    match Counters::attach(opener, plan.clone(), &target, &grants) {
        // The kernel may allow kernel mode for this thread but not for the target: then count user mode only.
        Err(Missing::NotPermitted { .. }) if wanted.mode.is_none() => {
            let mut plan = plan;
            plan.permitted.mode = Mode::User;
            Counters::attach(opener, plan, &target, &grants)
        }
        other => other,
    }
}

fn hardware(
    found: Result<&Counters, &Missing>,
    turn: Duration,
    host: &Host,
    verification: impl Fn(&Plan) -> Verification,
) -> Hardware {
    match found {
        Err(missing) => Hardware::Missing {
            missing: missing.clone(),
        },
        Ok(counters) => Hardware::Counting {
            mode: counters.plan().permitted.mode,
            pmus: counters.plan().pmus(),
            turn_ns: nanoseconds(turn),
            refused: counters.plan().refused.clone(),
            walk_cycles: plan::walk_cycles(counters.plan(), host),
            verification: verification(counters.plan()),
        },
    }
}

/// Returns the length of a turn, so that every group gets at least one turn per interval.
fn turn(interval: Duration, turns: usize) -> Duration {
    let turns = u32::try_from(turns.max(1)).unwrap_or(u32::MAX);
    (interval / turns).clamp(SHORTEST_TURN, LONGEST_TURN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_turn_in_an_interval() {
        let ms = Duration::from_millis;
        assert_eq!(turn(ms(1000), 3), ms(50));
        assert_eq!(turn(ms(100), 5), ms(20));
        assert_eq!(turn(ms(10), 0), ms(10));
        assert_eq!(turn(ms(1), 4), ms(1));
    }
}
