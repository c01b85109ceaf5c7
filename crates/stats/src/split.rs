//! Detects level changes in a series with Pettitt's test (A Non-Parametric Approach to the Change-Point Problem, 1979),
//! by permutation.
//!
//! If nothing changes, every order of the values is equally likely, for any distribution. The largest rank statistic
//! over all split positions is compared with that of shuffled series. A series without a change has a split with
//! probability at most `alpha`. After a split, both sides are searched again.

/// The number of shuffles of a series.
const SHUFFLES: usize = 1999;

/// A shorter series has no split: too few orders are extreme at 5 %.
pub const FEWEST_FOR_A_SPLIT: usize = 8;

/// Returns the positions of the first values of new levels, ascending.
#[must_use]
pub fn splits(values: &[f64], alpha: f64, seed: u64) -> Vec<usize> {
    if values.len() < FEWEST_FOR_A_SPLIT {
        return Vec::new();
    }
    let mut ranks = ranks(values);
    let (at, seen) = largest(&ranks);
    let mut random = fastrand::Rng::with_seed(seed);
    let extreme = (0..SHUFFLES).filter(|_| {
        random.shuffle(&mut ranks);
        largest(&ranks).1 >= seen - 1e-9
    });
    let p = (extreme.count() + 1) as f64 / (SHUFFLES + 1) as f64;
    if p > alpha {
        return Vec::new();
    }
    let (before, after) = values.split_at(at);
    let mut all = splits(before, alpha, seed);
    all.push(at);
    all.extend(splits(after, alpha, seed).into_iter().map(|it| it + at));
    all
}

/// Returns ranks less their mean; equal values share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let less = values.iter().filter(|it| *it < value).count() as f64;
        let more = values.iter().filter(|it| *it > value).count() as f64;
        (less - more) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Returns the split between the two parts whose ranks differ most, relative to their scatter.
fn largest(ranks: &[f64]) -> (usize, f64) {
    let n = ranks.len() as f64;
    let mut sum: f64 = 0.0;
    let mut best = (1, 0.0);
    for (index, rank) in ranks.iter().enumerate().take(ranks.len().saturating_sub(1)) {
        sum += rank;
        let size = index as f64 + 1.0;
        let apart = sum.abs() / (size * (n - size)).sqrt();
        if apart > best.1 {
            best = (index + 1, apart);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ALPHA;

    fn noise(random: &mut fastrand::Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| random.f64()).collect()
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let mut values = noise(&mut fastrand::Rng::with_seed(1), 24);
        values[9..].iter_mut().for_each(|value| *value += 2.0);
        values[16..].iter_mut().for_each(|value| *value -= 4.0);
        assert_eq!(splits(&values, ALPHA, 7), [9, 16]);
        assert!(splits(&values[9..16], ALPHA, 7).is_empty());
        assert!(splits(&[1.0; 30], ALPHA, 7).is_empty());
    }

    #[test]
    fn a_series_without_a_change_has_a_split_as_seldom_as_is_stated() {
        const SERIES: usize = 300;
        let mut random = fastrand::Rng::with_seed(2);
        let called = (0..SERIES).filter(|_| !splits(&noise(&mut random, 12), ALPHA, 3).is_empty());
        // 15 are expected at most; more than 26 would occur once in 200 times.
        let called = called.count();
        assert!((1..=26).contains(&called), "{called}");
    }
}
