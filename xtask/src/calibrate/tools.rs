//! Claims of other tools on the same noise, in their usual use.

use anyhow::Result;

use super::experiment::SECONDS;
use super::noise::{Noise, Stream};
use super::rivals::share;
use super::side_by_side;
use super::two_samples::{Claim, MannWhitney, Sides, Spread, shuffled, welch};

/// A tool in its usual use: its number of runs of two programs, their order, and the output that readers take as a
/// difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) label: &'static str,
    runs: Runs,
    order: Order,
    test: Test,
}

/// The number of runs of each program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// So many.
    Each(usize),
    /// As many as take three seconds, estimated from the first run; at least ten.
    ThreeSeconds,
    /// As many as take five seconds; at least three.
    FiveSeconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// All runs of one program, then all of the other.
    OneAfterTheOther,
    /// In random order, which none of these tools does for you.
    Shuffled,
}

/// The criterion for a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// "1.05 ± 0.03 times faster" if 1 is not within the ±.
    WithinSigma,
    /// The interval of the pooled t test beyond ± 1 %.
    PooledBeyondOnePercent,
    MannWhitney,
    Welch,
}

const fn tool(label: &'static str, runs: Runs, order: Order, test: Test) -> Tool {
    Tool {
        label,
        runs,
        order,
        test,
    }
}

impl Tool {
    pub(super) const ALL: [Self; 8] = {
        use Order::{OneAfterTheOther, Shuffled};
        use Runs::{Each, FiveSeconds, ThreeSeconds};
        use Test::{MannWhitney, PooledBeyondOnePercent, Welch, WithinSigma};
        [
            tool(
                "hyperfine (10 runs or 3 s, ± σ)",
                ThreeSeconds,
                OneAfterTheOther,
                WithinSigma,
            ),
            tool(
                "poop (5 s, t test beyond 1 %)",
                FiveSeconds,
                OneAfterTheOther,
                PooledBeyondOnePercent,
            ),
            tool(
                "benchstat (10 runs, Mann–Whitney)",
                Each(10),
                OneAfterTheOther,
                MannWhitney,
            ),
            tool(
                "benchstat (20 runs)",
                Each(20),
                OneAfterTheOther,
                MannWhitney,
            ),
            tool("Welch t (20 runs)", Each(20), OneAfterTheOther, Welch),
            tool(
                "benchstat, 10 runs shuffled by hand",
                Each(10),
                Shuffled,
                MannWhitney,
            ),
            tool(
                "benchstat, 20 runs shuffled by hand",
                Each(20),
                Shuffled,
                MannWhitney,
            ),
            tool(
                "Welch t, 20 runs shuffled by hand",
                Each(20),
                Shuffled,
                Welch,
            ),
        ]
    };

    /// Returns the share of experiments in which the tool reports the second program as slower. Without an effect, it
    /// counts reports that either one is.
    ///
    /// # Errors
    /// A simulation panics.
    pub(super) fn claims(self, noise: Noise, effect: f64, experiments: u32) -> Result<f64> {
        let is_claimed = |seed| {
            let claim = self.claim(&self.sides(Stream::new(noise, seed), effect, seed));
            Ok(claim.is_some_and(|claim| effect == 0.0 || claim == Claim::Slower))
        };
        Ok(share(&side_by_side(experiments, is_claimed)?))
    }

    fn sides(self, mut stream: Stream, effect: f64, seed: u64) -> Sides {
        let mut run = |side: usize| SECONDS * stream.draw().exp() * [1.0, 1.0 + effect][side];
        match (self.order, self.runs) {
            (Order::Shuffled, Runs::Each(n)) => shuffled(n, seed, run),
            (_, runs) => [0, 1].map(|side| runs.of(|| run(side))),
        }
    }

    fn claim(self, sides: &Sides) -> Option<Claim> {
        let [first, second] = sides;
        let (a, b) = (Spread::of(first), Spread::of(second));
        let by_means = match b.mean > a.mean {
            true => Claim::Slower,
            false => Claim::Faster,
        };
        match self.test {
            Test::WithinSigma => {
                let (faster, slower) = if b.mean < a.mean { (b, a) } else { (a, b) };
                let times = slower.mean / faster.mean;
                let sigma = times * (faster.relative().powi(2) + slower.relative().powi(2)).sqrt();
                (times - sigma > 1.0).then_some(by_means)
            }
            Test::PooledBeyondOnePercent => {
                let half = a.pooled_half_width(&b)? / a.mean;
                ((b.mean / a.mean - 1.0).abs() - half >= 0.01).then_some(by_means)
            }
            Test::MannWhitney => MannWhitney::of(first.len()).claim(sides),
            Test::Welch => welch(sides),
        }
    }
}

impl Runs {
    /// Returns the times of the runs of one program.
    fn of(self, mut run: impl FnMut() -> f64) -> Vec<f64> {
        let mut times = Vec::new();
        let is_enough = |times: &[f64]| match self {
            Self::Each(n) => times.len() >= n,
            Self::ThreeSeconds => {
                let foretold = times.first().map_or(0, |first| (3.0 / first) as usize);
                times.len() >= foretold.max(10)
            }
            Self::FiveSeconds => times.len() >= 3 && times.iter().sum::<f64>() >= 5.0,
        };
        while !is_enough(&times) {
            times.push(run());
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(label: &str) -> Tool {
        let mut all = Tool::ALL.into_iter();
        all.find(|tool| tool.label.starts_with(label)).expect("one")
    }

    #[test]
    fn a_difference_needs_what_each_tool_asks_for() {
        let near = |middle: f64| -> Vec<f64> {
            let steps = (0..10).map(|at| 0.001 * (f64::from(at) - 4.5));
            steps.map(|step| middle + step).collect()
        };
        let claims = |second| Tool::ALL.map(|tool| tool.claim(&[near(0.3), near(second)]));
        assert_eq!(claims(0.3), [None; 8]);
        // A shift of 1.5 %: half as large as the ± of the ratio, its interval reaches below 1 %.
        let slower = Some(Claim::Slower);
        let [hyperfine, poop, others @ ..] = claims(0.3045);
        assert_eq!((hyperfine, poop), (slower, None));
        assert_eq!(others, [slower; 6]);
        assert_eq!(claims(0.33), [slower; 8]);
        assert_eq!(claims(0.27), [Some(Claim::Faster); 8]);
    }

    #[test]
    fn drift_fools_blocks_and_not_a_shuffle() {
        let claims = |label| {
            let claims = named(label).claims(Noise::Drift, 0.0, 200);
            claims.expect("no panic")
        };
        assert!(claims("benchstat (10") > 0.5 && claims("poop") > 0.3);
        assert!(claims("Welch t (20") > 0.9);
        assert!(claims("benchstat, 10") < 0.1 && claims("Welch t, 20") < 0.1);
    }
}
