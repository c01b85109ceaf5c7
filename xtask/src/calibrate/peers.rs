//! What other tools say on the same noise: as they are shipped, and one of them at its best.

use anyhow::Result;
use hugewise_experiment::run::stats::ALPHA;
use hugewise_experiment::run::stats::null::Null;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::experiment::SECONDS;
use super::noise::{Noise, Stream};
use super::side_by_side;

/// A tool with its defaults: how often it runs two programs, in which order, and what of its
/// output its readers take for a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// Ten runs or three seconds of each, one program after the other; "1.05 ± 0.03 times faster"
    /// is read as a difference where 1 is not within the ±.
    Hyperfine,
    /// Five seconds of each, one program after the other; marked where the interval of the pooled
    /// t test lies beyond ± 1 %.
    Poop,
    /// Ten runs of each, one program after the other, by the Mann–Whitney test.
    Benchstat,
    /// The same runs in random order, which no tool does for you.
    BenchstatShuffled,
}

/// The two programs, and how long each of their runs took, in seconds.
type Sides = [Vec<f64>; 2];

impl Tool {
    pub(super) const ALL: [Self; 4] = [
        Self::Hyperfine,
        Self::Poop,
        Self::Benchstat,
        Self::BenchstatShuffled,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hyperfine => "hyperfine (10 runs or 3 s, ± σ)",
            Self::Poop => "poop (5 s, t test beyond 1 %)",
            Self::Benchstat => "benchstat (10 runs, Mann–Whitney)",
            Self::BenchstatShuffled => "benchstat, runs shuffled by hand",
        }
    }

    /// The share of experiments in which the tool says that the second program is slower; where
    /// there is no effect, that one of them is.
    pub(super) fn claims(self, noise: Noise, effect: f64, experiments: u32) -> Result<f64> {
        let is_claimed = |seed| {
            let ratio = self.claim(&self.runs(Stream::new(noise, seed), effect, seed));
            Ok(ratio.is_some_and(|ratio| effect == 0.0 || ratio > 1.0))
        };
        let claimed = side_by_side(experiments, is_claimed)?;
        Ok(share(&claimed))
    }

    fn runs(self, mut stream: Stream, effect: f64, seed: u64) -> Sides {
        let mut run = |side: usize| SECONDS * stream.draw().exp() * [1.0, 1.0 + effect][side];
        match self {
            Self::Hyperfine => [0, 1].map(|side| {
                let first = run(side);
                let more = ((3.0 / first) as usize).max(10) - 1;
                [vec![first], (0..more).map(|_| run(side)).collect()].concat()
            }),
            Self::Poop => [0, 1].map(|side| {
                let mut times = Vec::new();
                while times.len() < 3 || times.iter().sum::<f64>() < 5.0 {
                    times.push(run(side));
                }
                times
            }),
            Self::Benchstat => [0, 1].map(|side| (0..10).map(|_| run(side)).collect()),
            Self::BenchstatShuffled => shuffled(10, seed, run),
        }
    }

    /// The ratio of the second program to the first, where the tool says that they differ.
    fn claim(self, [first, second]: &Sides) -> Option<f64> {
        let (a, b) = (Spread::of(first), Spread::of(second));
        let ratio = b.mean / a.mean;
        match self {
            Self::Hyperfine => {
                let (faster, slower) = if ratio < 1.0 { (b, a) } else { (a, b) };
                let times = slower.mean / faster.mean;
                let sigma = times * (faster.relative().powi(2) + slower.relative().powi(2)).sqrt();
                (times - sigma > 1.0).then_some(ratio)
            }
            Self::Poop => {
                let half = a.pooled_half_width(&b) / a.mean;
                ((ratio - 1.0).abs() - half >= 0.01).then_some(ratio)
            }
            Self::Benchstat | Self::BenchstatShuffled => {
                MannWhitney::of(first.len()).claim(first, second)
            }
        }
    }
}

/// The runs of both programs in random order.
fn shuffled(n: usize, seed: u64, mut run: impl FnMut(usize) -> f64) -> Sides {
    let mut order: Vec<usize> = (0..2 * n).map(|at| at / n).collect();
    fastrand::Rng::with_seed(seed ^ 0x5eed).shuffle(&mut order);
    let mut sides = Sides::default();
    for side in order {
        let time = run(side);
        sides[side].push(time);
    }
    sides
}

/// Mean and spread of the runs of one program.
#[derive(Clone, Copy)]
struct Spread {
    n: f64,
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn of(times: &[f64]) -> Self {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (n - 1.0)).sqrt();
        Self { n, mean, deviation }
    }

    fn relative(&self) -> f64 {
        self.deviation / self.mean
    }

    /// Half of the 95 % interval of the difference of two means, if both spread alike.
    fn pooled_half_width(&self, other: &Self) -> f64 {
        let freedom = self.n + other.n - 2.0;
        let squares = |it: &Self| (it.n - 1.0) * it.deviation.powi(2);
        let pooled = ((squares(self) + squares(other)) / freedom).sqrt();
        let student = StudentsT::new(0.0, 1.0, freedom).expect("more than two runs");
        student.inverse_cdf(1.0 - ALPHA / 2.0) * pooled * (1.0 / self.n + 1.0 / other.n).sqrt()
    }
}

/// The two-sided Mann–Whitney test of two samples of one size: exact up to 50, and normal beyond,
/// as benchstat has it.
struct MannWhitney {
    /// Fewer pairs than these the other way round are a difference.
    cut: usize,
}

impl MannWhitney {
    fn of(n: usize) -> Self {
        let pairs = n * n;
        let cut = match n {
            ..=50 => Null::rank_sum(n, n).cut(pairs, ALPHA),
            _ => {
                let deviation = (pairs as f64 * (2 * n + 1) as f64 / 12.0).sqrt();
                (pairs as f64 / 2.0 + 0.5 - 1.96 * deviation).floor() as usize
            }
        };
        Self { cut }
    }

    fn claim(&self, first: &[f64], second: &[f64]) -> Option<f64> {
        let slower = pairs_above(second, first);
        let faster = pairs_above(first, second);
        let pairs = first.len() * second.len();
        // Ties count against a difference.
        if pairs - slower < self.cut {
            return Some(f64::INFINITY);
        }
        (pairs - faster < self.cut).then_some(0.0)
    }
}

/// The pairs in which the value of `high` is larger.
fn pairs_above(high: &[f64], low: &[f64]) -> usize {
    let mut low = low.to_vec();
    low.sort_unstable_by(f64::total_cmp);
    let below = |value: &f64| low.partition_point(|other| other < value);
    high.iter().map(below).sum()
}

/// Runs a side that are tried.
const SIZES: [usize; 22] = [
    4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 250, 320,
];
/// What is asked of them.
const POWER: f64 = 0.9;

/// The fewest trials, of both sides together, with which the test that `benchstat` does finds
/// `effect` in 90 % of the experiments: the number is known beforehand, and the runs are
/// shuffled, so that drift does not fool it. `None` where 320 a side are too few.
///
/// # Errors
/// When a simulation panics.
pub(super) fn fewest_trials(noise: Noise, effect: f64, experiments: u32) -> Result<Option<usize>> {
    for n in SIZES {
        let test = MannWhitney::of(n);
        let is_found = |seed| {
            let mut stream = Stream::new(noise, seed);
            let run = |side: usize| stream.draw() + [0.0, effect.ln_1p()][side];
            let [first, second] = shuffled(n, seed, run);
            Ok(test.claim(&first, &second).is_some_and(|ratio| ratio > 1.0))
        };
        if share(&side_by_side(experiments, is_found)?) >= POWER {
            return Ok(Some(2 * n));
        }
    }
    Ok(None)
}

fn share(claimed: &[bool]) -> f64 {
    claimed.iter().filter(|&&it| it).count() as f64 / claimed.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_runs_are_those_of_the_tables() {
        // Critical values of U at 5 %, two-sided, from Mann and Whitney's table: 2, 23 and 127.
        let critical = [5, 10, 20].map(|n| MannWhitney::of(n).cut - 1);
        assert_eq!(critical, [2, 23, 127]);
    }

    #[test]
    fn a_difference_needs_what_each_tool_asks_for() {
        let near = |middle: f64| -> Vec<f64> {
            let steps = (0..10).map(|at| 0.001 * (f64::from(at) - 4.5));
            steps.map(|step| middle + step).collect()
        };
        let claims = |second| Tool::ALL.map(|tool| tool.claim(&[near(0.3), near(second)]));
        assert!(claims(0.3).iter().all(Option::is_none));
        // A shift of 1.5 %: half as large as the ± of the ratio, its interval reaches below 1 %.
        let [hyperfine, poop, benchstat, _] = claims(0.3045);
        assert_eq!((hyperfine, poop), (Some(0.3045 / 0.3), None));
        assert_eq!(benchstat, Some(f64::INFINITY));
        assert!(
            claims(0.33)
                .iter()
                .all(|claim| claim.is_some_and(|ratio| ratio > 1.0))
        );
    }

    #[test]
    fn drift_fools_blocks_and_not_a_shuffle() {
        let claims = |tool: Tool| tool.claims(Noise::Drift, 0.0, 200).expect("no panic");
        assert!(claims(Tool::Benchstat) > 0.5 && claims(Tool::Poop) > 0.3);
        assert!(claims(Tool::BenchstatShuffled) < 0.1);
    }
}
