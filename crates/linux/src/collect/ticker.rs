//! Takes readings about once a second while a service is under load.
//!
//! Huge and shared memory are taken from the regular samples: reading them walks page tables, and a second in which
//! that would have been too expensive has no value. The rest is counters.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::timeline::TrialSeconds;
use hugewise_experiment::run::trial::timeline::Second;

use super::sampler::Sampler;
use super::stalls::{Stalls, Tick};
use crate::machine::clock::{monotonic_and_offset, monotonic_ns, next_look, thread_cpu};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::observe::stat::usage::{UsageObserver, UsageScope};
use crate::proc::statm::read_resident;
use crate::proc::tree;

/// The time between two readings.
const EACH: Duration = Duration::from_secs(1);

/// Reads the tree below a keeper, second by second.
#[derive(Debug)]
pub(super) struct Ticker<'a> {
    root: &'a Root,
    keeper: u32,
    page_bytes: u64,
    stalls: Option<&'a RefCell<Stalls>>,
    begun: Instant,
    due: Duration,
    usage: UsageObserver<'a>,
    /// The number of samples at the last second.
    samples: u64,
    seen: TrialSeconds,
    trouble: Option<Error>,
}

impl<'a> Ticker<'a> {
    /// Starts before the release of the load.
    pub(super) fn begin(
        root: &'a Root,
        keeper: u32,
        page_bytes: u64,
        stalls: Option<&'a RefCell<Stalls>>,
    ) -> Result<Self> {
        let untraced = match stalls {
            Some(stalls) => {
                // Stalls before the load belong to no second.
                stalls.borrow_mut().tick()?;
                stalls.borrow().nothing()
            }
            None => Some(Missing::NotAsked),
        };
        let mut seen = TrialSeconds {
            untraced,
            ..TrialSeconds::default()
        };
        seen.clock.first = monotonic_and_offset();
        seen.began_ns = monotonic_ns();
        Ok(Self {
            root,
            keeper,
            page_bytes,
            stalls,
            begun: Instant::now(),
            due: EACH,
            usage: UsageObserver::begin(root, UsageScope::Below(keeper)),
            samples: 0,
            seen,
            trouble: None,
        })
    }

    /// Time until the next reading.
    pub(super) fn until_due(&self) -> Duration {
        self.due.saturating_sub(self.begun.elapsed())
    }

    /// Ends a second.
    pub(super) fn look(&mut self, sampler: &Sampler<'_>) {
        let before = thread_cpu();
        let now = self.begun.elapsed();
        let sample = sampler.latest().filter(|(count, _)| *count > self.samples);
        self.samples = sample.map_or(self.samples, |(count, _)| count);
        let rollup = sample.map(|(_, rollup)| rollup);
        let processes = tree::read_descendants(self.root, self.keeper);
        // One process has a counter; for several, which may share memory, the samples are used.
        let resident_bytes = match processes.len() {
            0 | 1 => read_resident(self.root, &processes, self.page_bytes),
            _ => rollup
                .filter(|_| sampler.processes() > 1)
                .map(|it| it.pss_bytes),
        };
        let mut second = Second {
            to_seconds: now.as_secs_f64(),
            resident_bytes,
            huge_bytes: rollup.map(|rollup| rollup.huge_bytes()),
            minor_faults: self
                .usage
                .growth_of(&processes)
                .map(|used| used.minor_faults),
            ..Second::default()
        };
        match self.ticks() {
            Ok(ticks) => self.add(&ticks, &mut second),
            Err(error) => self.trouble = Some(error),
        }
        self.seen.timeline.seconds.push(second);
        let cost = thread_cpu().saturating_sub(before);
        self.due = next_look(now, EACH, cost);
    }

    /// Ends with the load: adds the rest of its last second, and returns all seconds.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn finish(mut self, sampler: &Sampler<'_>) -> Result<TrialSeconds> {
        self.look(sampler);
        self.unite_the_last();
        self.seen.clock.last = monotonic_and_offset();
        match self.trouble {
            Some(error) => Err(error),
            None => Ok(self.seen),
        }
    }

    /// Merges the remainder after the last second into it: rates over a short moment have no meaning.
    fn unite_the_last(&mut self) {
        let seconds = &mut self.seen.timeline.seconds;
        if let [.., before, last] = seconds.as_slice()
            && last.to_seconds - before.to_seconds < EACH.as_secs_f64() / 2.0
            && let Some(rest) = seconds.pop()
            && let Some(last) = seconds.last_mut()
        {
            last.absorb(rest);
        }
    }

    fn ticks(&self) -> Result<Vec<Tick>> {
        match self.stalls {
            Some(stalls) => stalls.borrow_mut().tick(),
            None => Ok(Vec::new()),
        }
    }

    fn add(&mut self, ticks: &[Tick], second: &mut Second) {
        for tick in ticks {
            let seconds = tick.total_ns as f64 / 1e9;
            second.stalls.insert(tick.metric.to_string(), seconds);
            let long = tick.long.iter().map(|long| (long.begun_ns, long.ns));
            self.seen.add_stalls(tick.metric.name(), long);
            self.seen.lost += tick.dropped;
        }
    }
}
