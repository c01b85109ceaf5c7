//! Rival tests at their best: their runs are shuffled, and they get all parameters that they need in advance.

use anyhow::Result;
use hugewise_experiment::run::stats::{ALPHA, FEWEST_FOR_A_MEAN, radius_of_mean};
use statrs::distribution::{ContinuousCDF, Normal};

use super::noise::{Noise, Stream};
use super::side_by_side;
use super::two_samples::{Claim, MannWhitney, shuffled, welch};

/// Numbers of runs per side to try.
const SIZES: [usize; 22] = [
    4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 250, 320,
];
/// The maximum of runs per side.
pub(super) const MOST: usize = SIZES[SIZES.len() - 1];
/// The required power of a number of runs.
const POWER: f64 = 0.9;

/// A test with a fixed number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Welch,
    MannWhitney,
}

/// A test evaluated after each pair of runs, in random order within the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequential {
    /// The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), on the
    /// logarithm.
    Asymptotic,
    /// YEAST (Kurennoy, Dodin, Gurbanov and Peleteiro Ramallo, 2025): the sum of the differences against a bound from
    /// Lévy's inequality for all looks up to a horizon. It gets the spread of a difference and the best horizon in
    /// advance.
    Yeast,
}

/// How often a sequential test finds an effect, and after how many trials.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) share: f64,
    /// Mean trials of both sides together at the stop.
    pub(super) trials: f64,
}

impl Fixed {
    /// Returns the fewest trials, of both sides together, that find `effect` in 90 % of the experiments. `None` if 320
    /// per side are too few.
    ///
    /// # Errors
    /// A simulation panics.
    pub(super) fn fewest_trials(
        self,
        noise: Noise,
        effect: f64,
        experiments: u32,
    ) -> Result<Option<usize>> {
        for n in SIZES {
            let mann_whitney = MannWhitney::of(n);
            let is_found = |seed| {
                let mut stream = Stream::new(noise, seed);
                let run = |side: usize| stream.draw() + [0.0, effect.ln_1p()][side];
                let sides = shuffled(n, seed, run);
                let claim = match self {
                    Self::Welch => welch(&sides),
                    Self::MannWhitney => mann_whitney.claim(&sides),
                };
                Ok(claim == Some(Claim::Slower))
            };
            if share(&side_by_side(experiments, is_found)?) >= POWER {
                return Ok(Some(2 * n));
            }
        }
        Ok(None)
    }
}

impl Sequential {
    /// Returns the share of experiments of at most `pairs` pairs with a claim although there is no effect.
    ///
    /// # Errors
    /// A simulation panics.
    pub(super) fn errors(self, noise: Noise, pairs: usize, experiments: u32) -> Result<f64> {
        let spread = spread_of_a_pair(noise);
        let claims = side_by_side(experiments, |seed| {
            Ok(self.run(noise, 0.0, (pairs, spread), seed).0.is_some())
        })?;
        Ok(share(&claims))
    }

    /// Returns how it finds `effect` in at most `pairs` pairs.
    ///
    /// # Errors
    /// A simulation panics.
    pub(super) fn finds(
        self,
        noise: Noise,
        effect: f64,
        pairs: usize,
        experiments: u32,
    ) -> Result<Found> {
        let spread = spread_of_a_pair(noise);
        let runs = side_by_side(experiments, |seed| {
            Ok(self.run(noise, effect, (pairs, spread), seed))
        })?;
        let trials = runs.iter().map(|(_, pairs)| 2 * pairs).sum::<usize>();
        let found: Vec<bool> = runs
            .iter()
            .map(|(claim, _)| *claim == Some(Claim::Slower))
            .collect();
        Ok(Found {
            share: share(&found),
            trials: trials as f64 / f64::from(experiments),
        })
    }

    /// Returns the same with the shortest horizon that finds the effect in 90 % of the experiments, or with the longest
    /// if none does.
    ///
    /// # Errors
    /// A simulation panics.
    pub(super) fn at_best(self, noise: Noise, effect: f64, experiments: u32) -> Result<Found> {
        if self == Self::Asymptotic {
            return self.finds(noise, effect, MOST, experiments);
        }
        let mut last = self.finds(noise, effect, SIZES[0], experiments)?;
        for pairs in SIZES {
            last = self.finds(noise, effect, pairs, experiments)?;
            if last.share >= POWER {
                break;
            }
        }
        Ok(last)
    }

    /// Returns the claim of one experiment, and its number of pairs.
    fn run(
        self,
        noise: Noise,
        effect: f64,
        (horizon, spread): (usize, f64),
        seed: u64,
    ) -> (Option<Claim>, usize) {
        let mut pairs = Pairs::new(noise, seed);
        let mut sums = Sums::default();
        for pair in 1..=horizon {
            sums.add(pairs.difference(effect.ln_1p()));
            let bound = match self {
                Self::Asymptotic => sums.asymptotic_bound(),
                Self::Yeast => Some(yeast_bound(horizon, spread)),
            };
            if bound.is_some_and(|bound| sums.sum.abs() > bound) {
                let claim = match sums.sum > 0.0 {
                    true => Claim::Slower,
                    false => Claim::Faster,
                };
                return (Some(claim), pair);
            }
        }
        (None, horizon)
    }
}

/// Returns the bound that a sum exceeds at any of the looks up to `horizon` with a chance of at most 5 %. Each side has
/// half of it, and the largest sum exceeds a bound at most twice as often as the last one.
fn yeast_bound(horizon: usize, spread: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - ALPHA / 4.0) * spread * (horizon as f64).sqrt()
}

/// Differences of the pairs so far.
#[derive(Default)]
struct Sums {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, difference: f64) {
        self.n += 1.0;
        self.sum += difference;
        self.squares += difference.powi(2);
    }

    /// Returns the bound of the sum of the asymptotic confidence sequence; `None` while the spread is too rough.
    fn asymptotic_bound(&self) -> Option<f64> {
        let variance = (self.squares - self.sum.powi(2) / self.n) / (self.n - 1.0);
        (self.n >= f64::from(FEWEST_FOR_A_MEAN))
            .then(|| self.n * variance.max(0.0).sqrt() * radius_of_mean(self.n, ALPHA))
    }
}

/// Pairs of runs on one machine.
struct Pairs {
    stream: Stream,
    coin: fastrand::Rng,
}

impl Pairs {
    fn new(noise: Noise, seed: u64) -> Self {
        Self {
            stream: Stream::new(noise, seed),
            coin: fastrand::Rng::with_seed(seed ^ 0xc011),
        }
    }

    /// Returns the second program less the first, which takes `effect` less.
    fn difference(&mut self, effect: f64) -> f64 {
        let (first, second) = (self.stream.draw(), self.stream.draw());
        let later = second - first;
        effect + if self.coin.bool() { later } else { -later }
    }
}

/// Pairs of a pilot run that estimates the spread.
const PILOT: usize = 4000;
/// No experiment has this seed.
const PILOT_SEED: u64 = u64::MAX / 3;

fn spread_of_a_pair(noise: Noise) -> f64 {
    let mut pairs = Pairs::new(noise, PILOT_SEED);
    let squares = (0..PILOT).map(|_| pairs.difference(0.0).powi(2));
    (squares.sum::<f64>() / PILOT as f64).sqrt()
}

pub(super) fn share(claimed: &[bool]) -> f64 {
    claimed.iter().filter(|&&it| it).count() as f64 / claimed.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_keep_their_error_on_quiet_noise_and_find_what_is_large() {
        for rival in [Sequential::Asymptotic, Sequential::Yeast] {
            let errors = rival
                .errors(Noise::Independent, 100, 400)
                .expect("no panic");
            assert!(errors < 0.1, "{rival:?}: {errors}");
            let found = rival
                .at_best(Noise::Independent, 0.1, 200)
                .expect("no panic");
            assert!(
                found.share >= 0.9 && found.trials < 30.0,
                "{rival:?}: {found:?}"
            );
        }
        let fewest = |rival: Fixed| rival.fewest_trials(Noise::Independent, 0.03, 400);
        // A shift of one and a half deviations: 11 a side have a power of 92 % by the noncentral t.
        let welch = fewest(Fixed::Welch).expect("no panic");
        assert!(
            welch.is_some_and(|trials| (18..=28).contains(&trials)),
            "{welch:?}"
        );
    }

    /// The published bound for one side at 5 % is 1.96 deviations of the whole sum; two sides at 5 % have 2.2414.
    #[test]
    fn the_bound_of_yeast_is_that_of_its_authors() {
        assert!((yeast_bound(100, 0.5) - 2.241_402_7 * 5.0).abs() < 1e-6);
    }
}
