use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;

use super::arrival::Arrivals;
use super::looks::Looks;
use super::machine::nr_anon;
use super::pools::Pools;
use super::sharing::Sharing;
use crate::machine::clock::thread_cpu;
use crate::machine::error::Kind;
use crate::machine::root::Root;
use crate::proc::smaps_rollup::{Rollup, read_smaps_rollup};
use crate::proc::tree;
use crate::proc::tree_usage::TreeUsage;

/// The share of one processor that sampling may use in the long run.
pub const BUDGET: f64 = 0.005;
/// An additional allowance, earned evenly over [`HEAD_START`]: otherwise a program that runs a tenth of a second would
/// be sampled once, and its huge pages might be missed.
pub const EXTRA: Duration = Duration::from_millis(3);
/// The time in which the additional allowance is earned.
pub const HEAD_START: Duration = Duration::from_millis(200);
/// The shortest time between two samples.
pub const SHORTEST: Duration = Duration::from_millis(1);
/// The time between two samples in the long run.
pub const LONGEST: Duration = Duration::from_millis(100);
/// The factor by which the time between samples grows: samples are dense at the start, when programs build up their
/// memory, and sparse later.
const GROWTH: f64 = 1.1;
/// The assumed cost of the first sample.
const FIRST_COST: Duration = Duration::from_micros(50);

/// Computes when samples are due.
///
/// Reading a process walks its page tables under its mmap lock. This takes 13 ms per GiB of small pages and 0.1 ms per
/// GiB of huge pages (4 GiB, medians of 50 readings of smaps_rollup, Linux 6.18, a KVM guest on an AMD EPYC). So the
/// measured cost decides how soon the next sample may follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    interval: Duration,
    due: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: SHORTEST,
            due: Self::earliest(Duration::ZERO, FIRST_COST).max(SHORTEST),
        }
    }
}

impl Pace {
    /// Returns when the next sample is due, since the beginning.
    #[must_use]
    pub fn due(&self) -> Duration {
        self.due
    }

    /// Records a sample at `now` with the cost `last`; `spent` is the cost of all samples so far.
    pub fn took(&mut self, now: Duration, spent: Duration, last: Duration) {
        self.interval = self.interval.mul_f64(GROWTH).min(LONGEST);
        self.due = Self::earliest(spent, last).max(now.saturating_add(self.interval));
    }

    /// Returns the time at which the allowance covers `spent` and one more sample.
    fn earliest(spent: Duration, next: Duration) -> Duration {
        let cost = spent.saturating_add(next);
        let at_once = BUDGET + EXTRA.div_duration_f64(HEAD_START);
        let early = cost.as_secs_f64() / at_once;
        let seconds = if early <= HEAD_START.as_secs_f64() {
            early
        } else {
            cost.saturating_sub(EXTRA).as_secs_f64() / BUDGET
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Summary of the samples of one trial.
#[derive(Clone, Debug, Default)]
pub struct TrialSamples {
    /// The number of samples.
    pub count: u64,
    /// The largest sum over the tree, separately for each field.
    pub peak: Rollup,
    /// The largest number of processes in a sample.
    pub processes: usize,
    /// Time-weighted means over the trial, by field; `None` without samples.
    pub mean: Option<Mean>,
    /// Memory shared after a fork.
    pub sharing: Sharing,
    /// Largest growth of `nr_anon` by folio size in KiB, in folios.
    pub folio_growth: BTreeMap<u64, u64>,
    /// Processor time spent on sampling and waiting, in seconds.
    pub cost_seconds: f64,
    /// Time from the release until the end was detected, in seconds.
    pub span_seconds: f64,
    /// Samples in which the tree was larger than ever before.
    pub arrivals: Arrivals,
    /// Readings of the processes.
    pub looks: Looks,
    /// The reason if no attempt to read succeeded.
    pub trouble: Option<Missing>,
}

/// Means of the fields of [`Rollup`], in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// Resident memory.
    pub rss: f64,
    /// Huge anonymous memory.
    pub huge_anon: f64,
    /// Huge shared memory.
    pub huge_shmem: f64,
    /// Huge page cache.
    pub huge_file: f64,
    /// hugetlb.
    pub hugetlb: f64,
}

impl Mean {
    /// Adds the area between two successive samples, by the trapezoid rule.
    fn add(&mut self, from: Rollup, to: Rollup, seconds: f64) {
        let area = |from: u64, to: u64| (from as f64 + to as f64) / 2.0 * seconds;
        self.rss += area(from.rss_bytes, to.rss_bytes);
        self.huge_anon += area(from.huge_anon_bytes, to.huge_anon_bytes);
        self.huge_shmem += area(from.huge_shmem_bytes, to.huge_shmem_bytes);
        self.huge_file += area(from.huge_file_bytes, to.huge_file_bytes);
        self.hugetlb += area(from.hugetlb_bytes, to.hugetlb_bytes);
    }

    fn over(self, seconds: f64) -> Self {
        Self {
            rss: self.rss / seconds,
            huge_anon: self.huge_anon / seconds,
            huge_shmem: self.huge_shmem / seconds,
            huge_file: self.huge_file / seconds,
            hugetlb: self.hugetlb / seconds,
        }
    }
}

/// Takes the samples of one trial.
#[derive(Debug)]
pub struct Sampler<'a> {
    root: &'a Root,
    pools: Pools<'a>,
    begun: Instant,
    cpu_at_start: Duration,
    /// The range of this thread's processor time that counts as cost; the end is `None` while it still counts.
    cost_from: Duration,
    cost_to: Option<Duration>,
    pace: Pace,
    /// Folio sizes with their `nr_anon` before the trial.
    folios_before: BTreeMap<u64, u64>,
    last: (f64, Rollup),
    /// The number of processes in the last sample.
    processes: usize,
    area: Mean,
    samples: TrialSamples,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler for a tree; `pools` must have been read before the tree existed.
    #[must_use]
    pub fn new(root: &'a Root, sizes: &[u64], pools: Pools<'a>) -> Self {
        let gauges = sizes
            .iter()
            .filter_map(|&kib| Some((kib, nr_anon(root, kib)?)));
        Self {
            root,
            pools,
            begun: Instant::now(),
            cpu_at_start: thread_cpu(),
            cost_from: thread_cpu(),
            cost_to: None,
            pace: Pace::default(),
            folios_before: gauges.collect(),
            last: (0.0, Rollup::default()),
            processes: 0,
            area: Mean::default(),
            samples: TrialSamples::default(),
        }
    }

    /// Starts the clock: the workload was released at `now`.
    pub fn begin(&mut self, now: Instant) {
        self.begun = now;
        self.cpu_at_start = thread_cpu();
        self.cost_from = self.cpu_at_start;
    }

    /// Records that a server's load begins. Samples taken before it do not disturb the measurement.
    pub fn load_begins(&mut self) {
        self.cost_from = thread_cpu();
    }

    /// Records that a server's load has ended. Samples taken after it do not disturb the measurement.
    pub fn load_ended(&mut self) {
        self.cost_to = Some(thread_cpu());
        self.samples.span_seconds = self.begun.elapsed().as_secs_f64();
    }

    /// Returns the time until a sample is due.
    #[must_use]
    pub fn until_due(&self) -> Duration {
        self.pace.due().saturating_sub(self.begun.elapsed())
    }

    /// Reads the tree below `keeper`, and the machine's folio gauges.
    pub fn take(&mut self, keeper: u32) {
        let before = thread_cpu();
        let now = self.begun.elapsed();
        let tree = tree::read_descendants(self.root, keeper);
        if let Some(sum) = self.sum(&tree) {
            self.add(now, sum);
            let usage = || TreeUsage::read(self.root, &tree, Some(keeper));
            let (seconds, rss) = (now.as_secs_f64(), sum.rss_bytes);
            self.samples.arrivals.look(seconds, rss, usage);
        }
        self.read_folios();
        let after = thread_cpu();
        let spent = after.saturating_sub(self.cpu_at_start);
        self.pace.took(now, spent, after.saturating_sub(before));
    }

    /// Returns the number of samples, and the last one.
    pub(super) fn latest(&self) -> Option<(u64, Rollup)> {
        let count = self.samples.count;
        (count > 0).then_some((count, self.last.1))
    }

    /// Returns the number of processes in the last sample.
    pub(super) fn processes(&self) -> usize {
        self.processes
    }

    fn add(&mut self, now: Duration, sum: Rollup) {
        let now = now.as_secs_f64();
        let (then, previous) = self.last;
        self.area.add(previous, sum, now - then);
        self.samples.count += 1;
        self.samples.peak = self.samples.peak.largest(sum);
        self.last = (now, sum);
    }

    /// Returns the tree's sum; `None` if nothing could be read.
    fn sum(&mut self, tree: &BTreeSet<u32>) -> Option<Rollup> {
        let mut readable = BTreeMap::new();
        for &pid in tree {
            match read_smaps_rollup(self.root, pid) {
                Ok(rollup) => {
                    readable.insert(pid, rollup);
                }
                // Processes end at any time; only a refusal is worth reporting.
                Err(error) if error.kind == Kind::NotPermitted => {
                    self.samples.trouble = Some(error.into_missing("CAP_SYS_PTRACE"));
                }
                Err(_) => {}
            }
        }
        self.processes = readable.len();
        self.samples.processes = self.samples.processes.max(self.processes);
        self.samples.sharing.add(&readable);
        let sample = self.samples.count + 1;
        // A program may change its settings after the first samples. After the load a look disturbs no measurement.
        let is_due = sample.is_power_of_two() || self.samples.looks.is_empty();
        if is_due || self.cost_to.is_some() {
            self.samples.looks.look(self.root, sample, &readable);
        }
        let hugetlb_bytes = self.pools.held(&readable);
        let sum = readable.into_values().reduce(Rollup::plus);
        sum.map(|sum| Rollup {
            hugetlb_bytes,
            ..sum
        })
    }

    fn read_folios(&mut self) {
        for (&kib, &before) in &self.folios_before {
            let growth = nr_anon(self.root, kib).map_or(0, |now| now.saturating_sub(before));
            let largest = self.samples.folio_growth.entry(kib).or_default();
            *largest = growth.max(*largest);
        }
    }

    /// Ends the sampling. If the main process was the only one in the last sample, its last reading is one more point;
    /// otherwise the last sample counts until the end.
    #[must_use]
    pub fn finish(mut self, span: Duration, last: Option<Rollup>) -> TrialSamples {
        let span = span.as_secs_f64();
        let (then, previous) = self.last;
        if self.samples.count > 0 && span > 0.0 {
            let last = last.filter(|_| self.processes == 1);
            self.area
                .add(previous, last.unwrap_or(previous), (span - then).max(0.0));
            self.samples.mean = Some(self.area.over(span.max(then)));
        }
        if self.cost_to.is_none() {
            self.load_ended();
        }
        let cost = self.cost_to.unwrap_or_default();
        self.samples.cost_seconds = cost.saturating_sub(self.cost_from).as_secs_f64();
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the sampling cost allowed after this time.
    fn allowance(elapsed: Duration) -> Duration {
        let earned = elapsed.min(HEAD_START).div_duration_f64(HEAD_START);
        elapsed.mul_f64(BUDGET) + EXTRA.mul_f64(earned)
    }

    proptest! {
        #[test]
        fn sampling_stays_within_its_budget(costs in prop::collection::vec(1_u64..5_000, 2..300)) {
            let mut pace = Pace::default();
            let mut spent = Duration::ZERO;
            let mut expected = FIRST_COST;
            for cost in costs.into_iter().map(Duration::from_micros) {
                let now = pace.due();
                // The cost of one sample is known only afterwards; the estimate was within the allowance.
                let foreseen = (spent + expected).as_secs_f64();
                prop_assert!(foreseen <= allowance(now).as_secs_f64() * 1.000_001);
                spent += cost;
                expected = cost;
                pace.took(now, spent, cost);
                prop_assert!(pace.due() >= now + SHORTEST);
            }
        }
    }

    #[test]
    fn cheap_samples_settle_at_ten_a_second() {
        let mut pace = Pace::default();
        let mut last = Duration::ZERO;
        for count in 1..200 {
            last = pace.due();
            pace.took(
                last,
                Duration::from_micros(20 * count),
                Duration::from_micros(20),
            );
        }
        assert_eq!(pace.due().checked_sub(last), Some(LONGEST));
    }

    #[test]
    fn means_are_areas_over_time() {
        let of = |rss_bytes| Rollup {
            rss_bytes,
            ..Rollup::default()
        };
        let mut mean = Mean::default();
        mean.add(of(0), of(100), 1.0);
        mean.add(of(100), of(100), 1.0);
        assert!((mean.over(2.0).rss - 75.0).abs() < 1e-9);
    }
}
