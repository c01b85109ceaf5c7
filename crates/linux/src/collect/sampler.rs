//! The memory of the tree while it runs, read often at first and rarely later.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::proc::smaps_rollup::{Rollup, read_smaps_rollup};
use crate::proc::tree::read_descendants;
use crate::root::Root;

use super::machine::read_folio_gauge;

/// Share of the elapsed time that the sampling thread may use of one processor.
const COST_LIMIT: f64 = 0.005;
/// The first look; a shorter program is seen at its end only.
const FIRST: Duration = Duration::from_millis(1);
/// No more looks than this in steady state: smaps_rollup holds the lock of the address space
/// for reading, and lets it go only when somebody waits for it (Linux 5.9).
const STEADY: Duration = Duration::from_millis(100);

/// One look at the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    /// Time since the release.
    pub(super) at: Duration,
    /// Sum over the processes that could be read.
    pub(super) tree: Rollup,
    /// `nr_anon` of the enabled folio sizes, by KiB.
    pub(super) folios: BTreeMap<u64, u64>,
}

/// All looks of one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// In order of time; looks that found no process that could be read are left out.
    pub(super) looks: Vec<Sample>,
    /// Processor time of the sampling thread.
    pub(super) cost: Duration,
}

impl Samples {
    /// The largest value; `None` without a look.
    pub(super) fn peak(&self, of: impl Fn(&Sample) -> u64) -> Option<u64> {
        self.looks.iter().map(of).max()
    }

    /// The time-weighted mean from the release, when there was nothing, to `end`, when there
    /// was `last`: straight lines between looks.
    #[expect(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
    pub(super) fn mean(
        &self,
        of: impl Fn(&Sample) -> u64,
        end: Duration,
        last: Option<u64>,
    ) -> Option<f64> {
        let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        let looks = self.looks.iter().filter(|look| look.at < end);
        points.extend(looks.map(|look| (look.at.as_secs_f64(), of(look) as f64)));
        if points.len() == 1 && last.is_none() {
            return None;
        }
        let final_value =
            last.map_or_else(|| points.last().map_or(0.0, |p| p.1), |last| last as f64);
        points.push((end.as_secs_f64(), final_value));
        let area: f64 = points
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) * pair[0].1.midpoint(pair[1].1))
            .sum();
        Some(if end.is_zero() {
            final_value
        } else {
            area / end.as_secs_f64()
        })
    }
}

/// The sampling thread.
#[derive(Debug)]
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl Sampler {
    /// Begins to look at all descendants of `keeper`.
    pub(super) fn start(root: &Root, keeper: u32, sizes: Vec<u64>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let root = root.clone();
        let thread = thread::spawn(move || sample_until(&root, keeper, &sizes, &stopped));
        Self { stop, thread }
    }

    /// Ends it. A panic of the thread is a mistake of ours and goes on here.
    pub(super) fn stop(self) -> Samples {
        drop(self.stop);
        match self.thread.join() {
            Ok(samples) => samples,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn sample_until(root: &Root, keeper: u32, sizes: &[u64], stopped: &Receiver<()>) -> Samples {
    let began = Instant::now();
    let mut samples = Samples::default();
    let mut pause = FIRST;
    while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let at = began.elapsed();
        if let Some(tree) = read_tree(root, keeper) {
            let folios = sizes
                .iter()
                .filter_map(|&kib| Some((kib, read_folio_gauge(root, kib)?)))
                .collect();
            samples.looks.push(Sample { at, tree, folios });
        }
        let cost = thread_cpu_time();
        pause = next_pause(began.elapsed(), cost.saturating_sub(samples.cost), cost);
        samples.cost = cost;
    }
    samples
}

/// How long to wait after a look that cost `look`, all looks so far `total`: a tenth of the
/// time that has passed, so that short and long programs get equally many looks, and long
/// enough to stay within the limit of cost.
fn next_pause(elapsed: Duration, look: Duration, total: Duration) -> Duration {
    let usual = (elapsed / 10).clamp(FIRST, STEADY);
    let affordable = (total + look).div_f64(COST_LIMIT).saturating_sub(elapsed);
    usual.max(affordable)
}

/// The sum over all processes of the tree that can be read; `None` when none can.
fn read_tree(root: &Root, keeper: u32) -> Option<Rollup> {
    read_descendants(root, keeper)
        .into_iter()
        .filter_map(|pid| read_smaps_rollup(root, pid).ok())
        .reduce(Rollup::plus)
}

fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn look(ms: u64, rss_bytes: u64) -> Sample {
        let tree = Rollup {
            rss_bytes,
            ..Rollup::default()
        };
        Sample {
            at: Duration::from_millis(ms),
            tree,
            folios: BTreeMap::new(),
        }
    }

    fn rss(sample: &Sample) -> u64 {
        sample.tree.rss_bytes
    }

    #[test]
    fn the_mean_is_weighted_by_time() {
        let samples = Samples {
            looks: vec![look(0, 100), look(10, 100)],
            cost: Duration::ZERO,
        };
        let end = Duration::from_millis(20);
        assert_eq!(samples.mean(rss, end, Some(100)), Some(100.0));
        assert_eq!(samples.mean(rss, end, Some(0)), Some(75.0));
        assert_eq!(
            samples.mean(rss, end, None),
            Some(100.0),
            "the last look holds"
        );
        assert_eq!(samples.peak(rss), Some(100));
    }

    #[test]
    fn without_a_look_only_the_end_is_known() {
        let none = Samples::default();
        let end = Duration::from_millis(2);
        assert_eq!(none.mean(rss, end, None), None);
        assert_eq!(none.mean(rss, end, Some(10)), Some(5.0));
        assert_eq!(none.peak(rss), None);
    }

    proptest! {
        #[test]
        fn looking_stays_within_its_share(costs in prop::collection::vec(1_u64..50_000, 1..200)) {
            let (mut elapsed, mut total) = (Duration::ZERO, Duration::ZERO);
            for cost in costs {
                let cost = Duration::from_micros(cost);
                total += cost;
                elapsed += cost;
                elapsed += next_pause(elapsed, cost, total);
                prop_assert!(total.as_secs_f64() <= COST_LIMIT * elapsed.as_secs_f64() * 1.001);
            }
        }

        #[test]
        fn the_mean_lies_between_nothing_and_the_peak(
            values in prop::collection::vec(0_u64..1 << 40, 1..20), last: Option<u32>,
        ) {
            let looks: Vec<Sample> =
                (1..).zip(&values).map(|(ms, &value)| look(ms, value)).collect();
            let samples = Samples { looks, cost: Duration::ZERO };
            let last = last.map(u64::from);
            let end = Duration::from_millis(values.len() as u64 + 1);
            let mean = samples.mean(rss, end, last).expect("there are looks");
            let most = samples.peak(rss).max(last).expect("a peak") as f64;
            prop_assert!(mean >= 0.0 && mean <= most * (1.0 + 1e-12), "{mean} {most}");
        }
    }
}
