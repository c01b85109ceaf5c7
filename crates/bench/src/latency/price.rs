//! The price of small pages: how much slower a load is with small pages than with others, at the same footprint. Lines,
//! caches and order are the same; only the translation and the placement of pages differ.

use serde::Serialize;

use super::{Curve, FootprintPoint};
use hugewise_experiment::run::stats::{ALPHA, paired};

/// The difference at one footprint.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Price {
    /// The footprint.
    pub bytes: u64,
    /// Additional seconds per load: the Hodges–Lehmann shift over rounds.
    pub seconds: f64,
    /// Its interval; `None` if there are too few rounds.
    pub interval: Option<(f64, f64)>,
}

/// Returns how much slower `dear` is than `cheap`, for each footprint.
#[must_use]
pub fn prices(dear: &Curve, cheap: &Curve) -> Vec<Price> {
    let other = |point: &FootprintPoint| cheap.points.iter().find(|it| it.bytes == point.bytes);
    let both = dear
        .points
        .iter()
        .filter_map(|point| Some((point, other(point)?)));
    both.filter_map(|(dear, cheap)| price(dear, cheap))
        .collect()
}

fn price(dear: &FootprintPoint, cheap: &FootprintPoint) -> Option<Price> {
    let differences: Vec<f64> = dear
        .seconds
        .iter()
        .filter_map(|(round, seconds)| Some(seconds - cheap.seconds.get(round)?))
        .collect();
    let shift = paired(&differences, ALPHA)?;
    Some(Price {
        bytes: dear.bytes,
        seconds: shift.estimate,
        interval: shift.interval,
    })
}
