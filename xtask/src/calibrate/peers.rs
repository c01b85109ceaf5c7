//! How many runs other tools need, at their best: the number is known beforehand, and the runs
//! are shuffled, so that drift does not fool them.

use hugewise_model::run::stats::{ALPHA, unpaired};

use super::noise::{Noise, Stream};

/// Runs a side that are tried.
const SIZES: [usize; 22] = [
    4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 250, 320,
];
/// Experiments for each size.
const EXPERIMENTS: u64 = 300;
/// What is asked of them.
const POWER: f64 = 0.9;

/// The fewest trials, of both sides together, with which a Mann–Whitney test at 5 % finds `effect`
/// in 90 % of the experiments: what `benchstat` tests with. `None` where 320 a side are too few.
pub fn fewest_trials(noise: Noise, effect: f64) -> Option<usize> {
    let found = |n: usize| {
        let seeds = 1..=EXPERIMENTS;
        let hits = seeds.filter(|&seed| is_found(noise, effect, n, seed, Order::Shuffled));
        hits.count() as f64 >= POWER * EXPERIMENTS as f64
    };
    SIZES.into_iter().find(|&n| found(n)).map(|n| 2 * n)
}

/// The share of experiments in which ten runs of one program and then ten of the same, as tools
/// run them, differ by that test.
pub fn false_alarms_in_blocks(noise: Noise) -> f64 {
    let seeds = 1..=EXPERIMENTS;
    let hits = seeds.filter(|&seed| is_found(noise, 0.0, 10, seed, Order::Blocks));
    hits.count() as f64 / EXPERIMENTS as f64
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Shuffled,
    Blocks,
}

fn is_found(noise: Noise, effect: f64, n: usize, seed: u64, order: Order) -> bool {
    let mut stream = Stream::new(noise, seed);
    let mut sides: Vec<usize> = (0..2 * n).map(|at| at / n).collect();
    if order == Order::Shuffled {
        fastrand::Rng::with_seed(seed ^ 0x5eed).shuffle(&mut sides);
    }
    let mut logs = [Vec::new(), Vec::new()];
    for side in sides {
        let shift = if side == 1 { f64::ln_1p(effect) } else { 0.0 };
        logs[side].push(stream.draw() + shift);
    }
    let test = unpaired(&logs[0], &logs[1], ALPHA);
    test.is_some_and(|test| test.p <= ALPHA && (effect <= 0.0 || test.estimate > 0.0))
}
