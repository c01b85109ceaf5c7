//! The axis of relative changes: as far from +100 % as from −50 %.

use super::Axis;
use crate::number::chosen_percent;
use hugewise_base::units::Unit;

/// If no change must be visible, larger changes than this, up or down, are cut at the edge.
const FARTHEST: f64 = std::f64::consts::LN_2;
/// Otherwise the axis extends at most to this multiple of the farthest change that must be visible, and at least to 10 %.
const BEYOND: f64 = 1.5;
const LEAST: f64 = 0.1;

/// Round changes for an axis too long for even steps.
const ROUND: [f64; 14] = [
    -0.99, -0.9, -0.75, -0.5, -0.25, 0.0, 0.5, 1.0, 2.0, 4.0, 9.0, 19.0, 49.0, 99.0,
];

/// An axis of logarithms of ratios, with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeAxis {
    /// The axis, of logarithms.
    pub axis: Axis,
    /// Logarithms of round changes, with their labels.
    pub ticks: Vec<(f64, String)>,
}

impl ChangeAxis {
    /// Returns the axis of these logarithms. It includes the threshold and all of `must`, however far those are.
    pub fn of(logs: &[f64], must: &[f64], threshold: f64, ends: (f64, f64)) -> Option<Self> {
        let known = |logs: &[f64]| -> Vec<f64> {
            logs.iter().copied().filter(|log| log.is_finite()).collect()
        };
        let (logs, must) = (known(logs), known(must));
        let decides = must.iter().map(|log| log.abs()).reduce(f64::max);
        let farthest = decides.map_or(FARTHEST, |log| (BEYOND * log).max(LEAST));
        let least = 2.0 * threshold.clamp(0.001, 1.0).ln_1p();
        let all = || logs.iter().chain(&must).copied();
        let low = all().fold(-least, f64::min).max(-farthest);
        let high = all().fold(least, f64::max).min(farthest);
        let margin = (high - low) * 0.03;
        let axis = Axis::between(low - margin, high + margin, ends)?;
        let shares = shares(low.exp_m1(), high.exp_m1());
        let ticks = shares.into_iter().map(|share| (share.ln_1p(), text(share)));
        Some(Self {
            axis,
            ticks: ticks.filter(|(log, _)| axis.holds(*log)).collect(),
        })
    }
}

fn shares(low: f64, high: f64) -> Vec<f64> {
    if high - low > 0.8 {
        return ROUND.to_vec();
    }
    let even = Axis::between(low, high, (0.0, 1.0));
    even.map_or_else(Vec::new, |axis| axis.ticks(&Unit::Ratio, 6))
}

fn text(share: f64) -> String {
    if share.abs() < 1e-9 {
        return "0".to_owned();
    }
    let plus = if share > 0.0 { "+" } else { "" };
    format!("{plus}{} %", chosen_percent(share))
}
