//! The times of a period: calibrated in the first seconds.

use std::time::Duration;

use crate::blocks::Block;
use crate::placebo::PLACEBO_CHANCE;

/// The results of the first seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Seconds that it takes to make all blocks small.
    pub to_small: f64,
    /// Seconds that it takes to make them huge.
    pub to_huge: f64,
    /// Seconds after a switch until work is as it stays.
    pub settle: f64,
}

/// The times of all periods, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The wait after a switch.
    pub settle: f64,
    /// The count of work.
    pub period: f64,
    /// The switched share of the blocks.
    pub share: f64,
}

/// The order of periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// The number of periods that the time should have room for.
    pub periods: u32,
    /// The mean number of switches of a block before a period.
    pub switches: f64,
}

impl Order {
    /// Six random blocks of two huge and two small periods, with placebo switches.
    pub const PAIRS: Self = Self {
        periods: 24,
        switches: CHANGES + 2.0 * (1.0 - CHANGES) * PLACEBO_CHANCE,
    };

    /// Rows of a design in random order, this many in a round: at least two rounds, and 64 periods if the rows are few.
    /// A block is huge in half of the rows, so it changes before half of the periods.
    #[must_use]
    pub fn of_design(round: u32) -> Self {
        const PERIODS: u32 = 64;
        Self {
            periods: PERIODS.max(2 * round),
            switches: 0.5,
        }
    }
}

/// Switching takes at most this part of the time.
const SWITCHING: f64 = 0.1;
/// The longest period of our choice: over a longer one the load drifts.
const LONGEST: f64 = 5.0;

/// The share of periods after one of the other policy, in random blocks of 2 + 2: two thirds inside a block, half at
/// its begin.
const CHANGES: f64 = (3.0 * 2.0 / 3.0 + 0.5) / 4.0;

impl Calibration {
    /// Returns the mean seconds of switching before a period.
    #[must_use]
    pub fn of_a_period(&self, order: Order) -> f64 {
        order.switches * f64::midpoint(self.to_small, self.to_huge)
    }
}

/// Sets the times for an experiment of `total`, whose source needs periods of at least `least` seconds. `asked` is the
/// period that the user asked for.
#[must_use]
pub fn times(
    calibration: &Calibration,
    order: Order,
    total: Duration,
    least: f64,
    asked: Option<Duration>,
) -> Times {
    let settle = calibration.settle;
    let switch = calibration.of_a_period(order);
    let room = total.as_secs_f64() / f64::from(order.periods);
    let longest = asked.map_or_else(
        || (room - settle).clamp(least, LONGEST.max(least)),
        |asked| asked.as_secs_f64(),
    );
    // Switching is its part of the whole: of the count, the wait and itself.
    let allowed = SWITCHING / (1.0 - SWITCHING) * (longest + settle);
    // Who sets the period takes the time that switching takes.
    let share = match asked {
        Some(_) => 1.0,
        None => (allowed / switch.max(1e-9)).min(1.0),
    };
    let needed = (1.0 - SWITCHING) / SWITCHING * switch * share - settle;
    let period = asked.map_or_else(|| needed.clamp(least, longest), |it| it.as_secs_f64());
    Times {
        settle,
        period,
        share,
    }
}

/// Blocks are drawn in runs of neighbours of at most this length: a call makes neighbours huge together.
const LONGEST_RUN: usize = 32;
/// Fewer runs are not a sample of the memory.
const LEAST_RUNS: usize = 8;

/// Chooses so many blocks at random, in runs: which ones must not depend on their place.
#[must_use]
pub fn thinned(mut blocks: Vec<Block>, share: f64, seed: u64) -> Vec<Block> {
    let kept =
        ((blocks.len() as f64 * share).ceil() as usize).clamp(1.min(blocks.len()), blocks.len());
    if kept == blocks.len() {
        return blocks;
    }
    blocks.sort_unstable();
    let run = (kept / LEAST_RUNS).clamp(1, LONGEST_RUN);
    let mut runs: Vec<&[Block]> = blocks.chunks(run).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut runs);
    let mut drawn: Vec<Block> = runs.into_iter().flatten().copied().take(kept).collect();
    drawn.sort_unstable();
    drawn
}

/// The shortest and the longest wait.
const SETTLE: [f64; 2] = [0.05, 1.0];
/// A rate this many scatters from the rate that stays is not settled.
const SCATTERS: f64 = 2.0;

/// Returns the seconds after a switch until the work of slices of `slice` seconds is as in the later half. `rates` has
/// the slices after some switches, each as long.
#[must_use]
pub fn settle(rates: &[Vec<f64>], slice: f64) -> f64 {
    let longest = rates.iter().map(|it| unsettled(it)).max().unwrap_or(0);
    (longest as f64 * slice).clamp(SETTLE[0], SETTLE[1])
}

/// Returns the number of first slices unlike the later half. The first slice like it ends them.
fn unsettled(rates: &[f64]) -> usize {
    let late = &rates[rates.len() / 2..];
    if late.len() < 2 {
        return 0;
    }
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let squares = late.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
    let scatter = (squares / (late.len() - 1) as f64).sqrt();
    let is_unlike = |rate: &f64| (rate - mean).abs() > SCATTERS * scatter;
    rates[..rates.len() / 2]
        .iter()
        .take_while(|it| is_unlike(it))
        .count()
}
