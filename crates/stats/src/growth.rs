//! The rate at which a quantity grows, and when it reaches a target.
//!
//! The increments of equal times are compared in order. A change of level ([`splits`]) ends the
//! use of everything before it: rate and forecast come from the increments after the last change. Their means over a
//! few long batches are treated as independent, so that noise with a memory shorter than a batch is covered. A forecast
//! assumes that the rate stays as it is after the last change; it covers noise, but no future change.

use crate::split::{FEWEST_FOR_A_SPLIT, splits};
use crate::student::Student;

/// The number of batches whose means give the interval of a rate.
const BATCHES: usize = 8;

/// The error of a test for a change of the rate. Noise with a memory exceeds it, and then a forecast is only missing.
const ALPHA_OF_A_CHANGE: f64 = 0.01;

/// Larger correlations of neighbours are treated as this one.
const MOST_MEMORY: f64 = 0.9;

/// The number of simulated ends.
const ENDS: usize = 2000;

/// The seed of everything drawn here: equal increments give equal results.
const SEED: u64 = 0x6772_6f77;

/// An increment of a quantity, and the time that it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Increment {
    /// In the unit of the quantity.
    pub amount: f64,
    /// In seconds.
    pub seconds: f64,
}

impl Increment {
    fn plus(self, other: Self) -> Self {
        Self {
            amount: self.amount + other.amount,
            seconds: self.seconds + other.seconds,
        }
    }

    fn rate(self) -> f64 {
        self.amount / self.seconds
    }
}

/// A rate per second with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The amount of all increments used, divided by their time.
    pub per_second: f64,
    /// The lower end of the interval of the mean rate.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The present growth of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The rate before the last change, if there was a change.
    pub before: Option<f64>,
    /// The increments since then, none longer than the others by more than their times of reading.
    since: Vec<Increment>,
}

/// The time until a target is reached, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeToTarget {
    /// The median of the simulated times.
    pub seconds: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end; `None` if growth may end before the target.
    pub high: Option<f64>,
}

impl Growth {
    /// Reads increments in their order. Those without a time are ignored.
    #[must_use]
    pub fn of(increments: &[Increment]) -> Self {
        let timed = increments.iter().filter(|it| it.seconds > 0.0);
        let all: Vec<Increment> = timed.copied().collect();
        let rates: Vec<f64> = all.iter().map(|it| it.rate()).collect();
        let changes = splits(&rates, ALPHA_OF_A_CHANGE, SEED);
        let last = changes.last().copied().unwrap_or(0);
        let earlier = changes.iter().rev().nth(1).copied().unwrap_or(0);
        Self {
            before: (last > 0).then(|| sum(&all[earlier..last]).rate()),
            since: all[last..].to_vec(),
        }
    }

    /// Returns true if the rate has not changed for long enough: only then is there a forecast.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.since.len() >= FEWEST_FOR_A_SPLIT
    }

    /// The number of increments since the last change.
    #[must_use]
    pub fn increments(&self) -> usize {
        self.since.len()
    }

    /// Returns the rate since the last change; `None` with fewer increments than batches.
    #[must_use]
    pub fn rate(&self, alpha: f64) -> Option<Rate> {
        let per_second = sum(&self.since).rate();
        let (error, freedom) = self.error()?;
        let reach = error * Student::new(freedom)?.quantile(1.0 - alpha / 2.0);
        Some(Rate {
            per_second,
            low: per_second - reach,
            high: per_second + reach,
        })
    }

    /// Returns the time until `amount` more is there; `None` if the rate is not steady or nothing grows.
    ///
    /// Each simulated end draws a rate from the interval of the mean rate, and the noise of the remaining batches.
    #[must_use]
    pub fn time_to(&self, amount: f64, alpha: f64) -> Option<TimeToTarget> {
        let rate = sum(&self.since).rate();
        if !self.is_steady() || rate <= 0.0 {
            return None;
        }
        let (error, freedom) = self.error()?;
        let batch = sum(&self.since).seconds / BATCHES as f64;
        let scatter = error * (BATCHES as f64).sqrt();
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut ends: Vec<f64> = (0..ENDS)
            .map(|_| {
                let drawn = rate + error * student(&mut random, freedom);
                if drawn <= 0.0 {
                    return f64::INFINITY;
                }
                let seconds = amount / drawn;
                let noise = scatter * (seconds / batch).sqrt() * batch * normal(&mut random);
                (seconds - noise / drawn).max(0.0)
            })
            .collect();
        ends.sort_by(f64::total_cmp);
        let at = |share: f64| ends[((ENDS - 1) as f64 * share).round() as usize];
        let high = at(1.0 - alpha / 2.0);
        Some(TimeToTarget {
            seconds: at(0.5),
            low: at(alpha / 2.0),
            high: high.is_finite().then_some(high),
        })
    }

    /// The standard error of the rate, and its degrees of freedom: the larger of the error from the batches and the one
    /// from the increments and their correlation. Either alone is too small in some series.
    fn error(&self) -> Option<(f64, f64)> {
        let means: Vec<f64> = batches(&self.since)?
            .into_iter()
            .map(Increment::rate)
            .collect();
        let rates: Vec<f64> = self.since.iter().map(|it| it.rate()).collect();
        let of_batches = variance(&means) / means.len() as f64;
        let memory = correlation(&rates).clamp(0.0, MOST_MEMORY);
        let of_increments = variance(&rates) / rates.len() as f64 * (1.0 + memory) / (1.0 - memory);
        let freedom = means.len() as f64 - 1.0;
        Some((of_batches.max(of_increments).sqrt(), freedom))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// The correlation of neighbours; 0 if all values are equal.
fn correlation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|it| (it[0] - mean) * (it[1] - mean))
        .sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

fn sum(increments: &[Increment]) -> Increment {
    let add = |all: Increment, one: &Increment| all.plus(*one);
    increments.iter().fold(Increment::default(), add)
}

/// Divides increments into [`BATCHES`] of almost equal numbers; `None` if there are too few.
fn batches(increments: &[Increment]) -> Option<Vec<Increment>> {
    let count = increments.len();
    let edge = |batch: usize| batch * count / BATCHES;
    let batch = |index: usize| sum(&increments[edge(index)..edge(index + 1)]);
    (count >= BATCHES).then(|| (0..BATCHES).map(batch).collect())
}

/// A draw from the standard normal distribution (Box and Muller).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// A draw from Student's distribution with whole degrees of freedom.
fn student(random: &mut fastrand::Rng, freedom: f64) -> f64 {
    let squares: f64 = (0..freedom as usize).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / freedom).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ALPHA;

    /// Noisy growth: each increment's noise keeps the share `memory` of the one before.
    fn noisy(random: &mut fastrand::Rng, count: usize, noise: f64, memory: f64) -> Vec<Increment> {
        let mut state = normal(random);
        let fresh = (1.0 - memory * memory).sqrt();
        let one = |_| {
            state = memory * state + fresh * normal(random);
            Increment {
                amount: 100.0 * (noise * state - noise * noise / 2.0).exp(),
                seconds: 1.0,
            }
        };
        (0..count).map(one).collect()
    }

    /// The seconds until the increments after `from` have the amount.
    fn true_time(increments: &[Increment], amount: f64) -> f64 {
        let mut sum = 0.0;
        let mut time = 0.0;
        for it in increments {
            if sum + it.amount >= amount {
                return time + (amount - sum) / it.amount * it.seconds;
            }
            sum += it.amount;
            time += it.seconds;
        }
        f64::INFINITY
    }

    /// Returns the shares of series whose interval covers the time, and of those with a forecast.
    fn coverage(noise: f64, memory: f64, known: usize, whole: usize) -> (f64, f64) {
        const SERIES: usize = 400;
        let mut random = fastrand::Rng::with_seed(11);
        let (mut covered, mut forecasts) = (0, 0_u32);
        for _ in 0..SERIES {
            let series = noisy(&mut random, 4 * whole, noise, memory);
            let growth = Growth::of(&series[..known]);
            let rest = 100.0 * (whole - known) as f64;
            let Some(time) = growth.time_to(rest, ALPHA) else {
                continue;
            };
            forecasts += 1;
            let real = true_time(&series[known..], rest);
            let is_in = real >= time.low && time.high.is_none_or(|high| real <= high);
            covered += u32::from(is_in);
        }
        let covered = f64::from(covered) / f64::from(forecasts);
        (covered, f64::from(forecasts) / SERIES as f64)
    }

    #[test]
    fn forecasts_cover_the_time_in_nine_of_ten_series() {
        for (noise, memory, known, whole) in [
            (0.1, 0.0, 16, 160),
            (0.5, 0.0, 16, 160),
            (0.5, 0.0, 16, 32),
            (0.5, 0.3, 32, 96),
            (1.0, 0.0, 32, 64),
        ] {
            let (covered, forecasts) = coverage(noise, memory, known, whole);
            assert!(covered >= 0.9, "{noise} {memory} {known}: {covered}");
            assert!(forecasts >= 0.8, "{noise} {memory} {known}: {forecasts}");
        }
    }

    #[test]
    fn a_change_of_the_rate_is_not_steady_until_enough_follows_it() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut series = noisy(&mut random, 32, 0.2, 0.0);
        series[16..].iter_mut().for_each(|it| it.amount /= 5.0);
        let fresh = Growth::of(&series[..22]);
        assert!(!fresh.is_steady());
        assert_eq!(fresh.time_to(1000.0, ALPHA), None);
        let later = Growth::of(&series);
        assert_eq!((later.is_steady(), later.increments()), (true, 16));
        let before = later.before.expect("a change");
        assert!((90.0..110.0).contains(&before), "{before}");
        let rate = later.rate(ALPHA).expect("a rate");
        assert!(
            rate.low < 20.0 && 20.0 < rate.high && rate.high < 30.0,
            "{rate:?}"
        );
    }

    #[test]
    fn without_growth_or_increments_there_is_no_forecast() {
        let one = Increment {
            amount: 0.0,
            seconds: 1.0,
        };
        assert_eq!(Growth::of(&[one; 20]).time_to(5.0, ALPHA), None);
        assert_eq!(Growth::of(&[]).rate(ALPHA), None);
        let few = Growth::of(&[one; 7]);
        assert_eq!((few.is_steady(), few.rate(ALPHA)), (false, None));
    }

    #[test]
    fn growth_that_may_end_has_no_upper_end() {
        let amounts = [9.0, -8.0, 9.0, -8.0, 7.0, 9.0, -8.0, -8.0, 9.0];
        let series = amounts.map(|amount| Increment {
            amount,
            seconds: 1.0,
        });
        let time = Growth::of(&series).time_to(100.0, ALPHA).expect("growth");
        assert_eq!(time.high, None);
        assert!(time.low < time.seconds, "{time:?}");
    }
}
