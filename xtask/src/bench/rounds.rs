//! Several commands in the same rounds, and the cost of one relative to another.

use anyhow::Result;
use hugewise_experiment::run::stats::{ALPHA, Shift, paired};

use super::Arguments;

/// Measures `count` things once per round, in random order, and returns the results by round. The first round warms the
/// page cache and the host's memory, and is left out.
pub fn in_rounds<C>(
    arguments: &Arguments,
    usual: u32,
    count: usize,
    mut measure: impl FnMut(usize) -> Result<C>,
) -> Result<Vec<Vec<C>>> {
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let mut took: Vec<Vec<C>> = (0..count).map(|_| Vec::new()).collect();
    for round in 0..=arguments.pairs.unwrap_or(usual) {
        let mut order: Vec<usize> = (0..count).collect();
        random.shuffle(&mut order);
        for place in order {
            let one = measure(place)?;
            if round > 0 {
                took[place].push(one);
            }
        }
    }
    Ok(took)
}

/// Returns the ratio of one to the other, by pairs: the shift of the log ratios, converted back to a ratio.
pub fn ratio(
    one: impl IntoIterator<Item = f64>,
    other: impl IntoIterator<Item = f64>,
) -> Option<Shift> {
    let pairs = one.into_iter().zip(other);
    let logs: Vec<f64> = pairs.map(|(one, other)| (one / other).ln()).collect();
    let shift = paired(&logs, ALPHA)?;
    Some(Shift {
        estimate: shift.estimate.exp(),
        interval: shift.interval.map(|(low, high)| (low.exp(), high.exp())),
        ..shift
    })
}

/// Returns both ends, if there are enough values.
pub fn interval(shift: &Shift, digits: usize) -> Option<String> {
    let (low, high) = shift.interval?;
    Some(format!("{low:.digits$} to {high:.digits$}"))
}
