//! Levels: ranges of footprints with a constant latency, until a cache or TLB is full.
//!
//! The logarithm of the latency over that of the footprint is fitted with as few straight lines as explain it. A level
//! ends when a line rises above the previous one and does not come back. Its end is between two measured footprints.
//! The uncertainty comes from resampling the rounds (the percentile bootstrap, Efron 1979). An end present in too few
//! of the resamples is dropped.

use serde::Serialize;

use super::fit::{Piece, Place, pieces};
use super::{Curve, FootprintPoint};
use hugewise_experiment::run::stats::quantile::median_interval;
use hugewise_experiment::run::stats::{ALPHA, median};

/// Fewer rounds give no interval.
pub const FEWEST_ROUNDS: usize = 6;
/// The smallest rise after a level, as the log of the ratio; smaller ones do not end a level.
const RISE: f64 = 0.08;
/// Straight lines fit a curve no better than this error, however exact its points are.
const MODEL_ERROR: f64 = 0.03;
/// The number of resamples of the rounds, and the minimum share of them with an end.
const DRAWS: usize = 100;
const STEADY: f64 = 0.66;
/// Ends of two resamples within this many octaves are the same end.
const SAME: f64 = 0.75;
/// A rise that gets steeper counts as a new one only this far from the start of the first, in octaves.
const APART: f64 = 1.0;

/// One level.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Level {
    /// Seconds per load at the largest footprint of the level, in the median round.
    pub seconds: f64,
    /// The interval of that median.
    pub interval: Option<(f64, f64)>,
    /// The end of the level; `None` for the last one.
    pub ends: Option<Ends>,
}

/// The end of a level, as an interval.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Ends {
    /// A footprint still in the level, in 97.5 % of the resamples.
    pub from_bytes: u64,
    /// A footprint beyond the level, in 97.5 % of the resamples.
    pub to_bytes: u64,
}

impl Ends {
    /// Returns true if the end can be at `bytes`.
    #[must_use]
    pub fn contain(&self, bytes: u64) -> bool {
        (self.from_bytes..=self.to_bytes).contains(&bytes)
    }

    /// Returns the middle, in octaves.
    pub(super) fn middle(&self) -> f64 {
        f64::midpoint(
            (self.from_bytes as f64).log2(),
            (self.to_bytes as f64).log2(),
        )
    }
}

/// Returns the levels of a curve, nearest first; `None` if there are too few rounds.
#[must_use]
pub fn levels(curve: &Curve) -> Option<Vec<Level>> {
    let rounds = curve.points.iter().map(|point| point.seconds.len()).min()?;
    if rounds < FEWEST_ROUNDS {
        return None;
    }
    let values: Vec<Vec<f64>> = curve
        .points
        .iter()
        .map(|point| point.seconds.values().copied().collect())
        .collect();
    let xs: Vec<f64> = curve
        .points
        .iter()
        .map(|point| (point.bytes as f64).log2())
        .collect();
    let places = places(&xs, &values);
    let found = ends(&places);
    let drawn = draws(&places, &values);
    let last = curve.points.len() - 1;
    let mut levels: Vec<Level> = found
        .into_iter()
        .filter_map(|end| Some((end, interval(end, &drawn, &xs)?)))
        .map(|(end, (from, to))| {
            let bytes = |index: usize| curve.points[index.min(last)].bytes;
            let ends = Ends {
                from_bytes: bytes(from),
                to_bytes: bytes(to + 1),
            };
            level(&curve.points[end], Some(ends))
        })
        .collect();
    levels.push(level(&curve.points[last], None));
    Some(levels)
}

fn level(point: &FootprintPoint, ends: Option<Ends>) -> Level {
    let values: Vec<f64> = point.seconds.values().copied().collect();
    Level {
        seconds: point.median(),
        interval: median_interval(&values, ALPHA),
        ends,
    }
}

/// Returns the points on logarithmic axes, each with the standard error of its median.
fn places(xs: &[f64], values: &[Vec<f64>]) -> Vec<Place> {
    let place = |(&x, values): (&f64, &Vec<f64>)| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let y = median(&logs).unwrap_or(f64::NAN);
        let away: Vec<f64> = logs.iter().map(|log| (log - y).abs()).collect();
        // The factor 1.4826 converts the median distance to a standard deviation, and 1.2533 that to the error of the
        // median, for normal errors.
        let spread = 1.4826 * median(&away).unwrap_or(0.0);
        let error = 1.2533 * spread / (values.len() as f64).sqrt();
        Place {
            x,
            y,
            error: error.max(MODEL_ERROR),
        }
    };
    xs.iter().zip(values).map(place).collect()
}

/// Returns the last point of every level but the last.
fn ends(places: &[Place]) -> Vec<usize> {
    let pieces = pieces(places);
    let mut ends: Vec<usize> = Vec::new();
    let mut rising = false;
    for pair in pieces.windows(2) {
        let [level, after] = [pair[0], pair[1]];
        let end = last_on(places, level);
        let apart = |&last: &usize| places[end].x - places[last].x >= APART;
        let fresh = !rising || ends.last().is_none_or(apart);
        let leaves = leaves(places, level, after);
        if leaves && fresh && stays_above(places, level, end) {
            ends.push(end);
        }
        rising = (rising || leaves) && after.slope() >= level.slope();
    }
    ends
}

/// Returns the last point on the line of a piece: a short next piece can begin with points of this one.
fn last_on(places: &[Place], level: Piece) -> usize {
    let on = |&&index: &&usize| places[index].y - level.at(places[index].x) < RISE / 2.0;
    let beyond: Vec<usize> = (level.last + 1..places.len()).collect();
    level.last + beyond.iter().take_while(on).count()
}

/// Returns true if the second piece rises above the line of the first, within an octave.
fn leaves(places: &[Place], level: Piece, after: Piece) -> bool {
    let end = places[level.last].x;
    let inside = (after.first..=after.last).rev();
    let mut inside = inside.filter(|&index| places[index].x <= end + 1.0);
    let far = places[inside.next().unwrap_or(after.first)].x;
    after.at(far) - level.at(far).max(level.at(end)) > RISE
}

/// Returns true if no footprint beyond the end is as fast as the level again.
fn stays_above(places: &[Place], level: Piece, end: usize) -> bool {
    let bound = level.at(places[level.last].x) + RISE / 2.0;
    places[end + 1..].iter().all(|place| place.y > bound) && end + 1 < places.len()
}

/// Returns the ends in each resample of the rounds.
fn draws(places: &[Place], values: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut random = fastrand::Rng::with_seed(0x6c65_7665_6c73);
    let mut draw = || {
        let drawn = places.iter().zip(values).map(|(place, values)| {
            let picked = (0..values.len()).map(|_| values[random.usize(..values.len())].ln());
            Place {
                y: median(&picked.collect::<Vec<_>>()).unwrap_or(place.y),
                ..*place
            }
        });
        ends(&drawn.collect::<Vec<_>>())
    };
    (0..DRAWS).map(|_| draw()).collect()
}

/// Returns the interval of an end, as points; `None` if too few resamples have it.
fn interval(end: usize, draws: &[Vec<usize>], xs: &[f64]) -> Option<(usize, usize)> {
    let away = |index: usize| (xs[index] - xs[end]).abs();
    let nearest = |drawn: &Vec<usize>| {
        let nearest = drawn
            .iter()
            .copied()
            .min_by(|&a, &b| away(a).total_cmp(&away(b)));
        nearest.filter(|&index| away(index) <= SAME)
    };
    let mut found: Vec<usize> = draws.iter().filter_map(nearest).collect();
    found.sort_unstable();
    if (found.len() as f64) < STEADY * draws.len() as f64 {
        return None;
    }
    let cut = (found.len() as f64 * ALPHA / 2.0) as usize;
    Some((found[cut], found[found.len() - 1 - cut]))
}
