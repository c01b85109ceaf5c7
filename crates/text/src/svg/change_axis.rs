//! The axis of relative changes: as far from +100 % as from −50 %.

use super::{Anchor, Axis, PlotArea, Svg};
use crate::number::chosen_percent;
use hugewise_base::units::Unit;

/// If no change must be visible, larger changes than this, up or down, are off the scale.
const FARTHEST: f64 = std::f64::consts::LN_2;
/// Otherwise the axis extends at most to this multiple of the farthest change that must be visible, and at least to 10 %.
const BEYOND: f64 = 1.5;
const LEAST: f64 = 0.1;

/// Width of the part beyond a break, and distance from the end of the marks in it, in pixels.
const OFF_SCALE: f64 = 24.0;
const FROM_END: f64 = 8.0;

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
    /// The ends of the drawing, with the parts beyond the breaks.
    ends: (f64, f64),
    /// True at an end if some marks are off the scale there, so the axis is broken: low, high.
    broken: (bool, bool),
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
        let (low_end, high_end) = (low - margin, high + margin);
        let broken = (
            all().any(|log| log < low_end),
            all().any(|log| log > high_end),
        );
        let room = OFF_SCALE * (ends.1 - ends.0).signum();
        let on_scale = (
            ends.0 + if broken.0 { room } else { 0.0 },
            ends.1 - if broken.1 { room } else { 0.0 },
        );
        let axis = Axis::between(low_end, high_end, on_scale)?;
        let shares = shares(low.exp_m1(), high.exp_m1());
        let ticks = shares.into_iter().map(|share| (share.ln_1p(), text(share)));
        Some(Self {
            axis,
            ticks: ticks.filter(|(log, _)| axis.holds(*log)).collect(),
            ends,
            broken,
        })
    }

    /// The place of a logarithm; beyond the break if it is off the scale.
    #[must_use]
    pub fn place(&self, log: f64) -> f64 {
        let inwards = FROM_END * (self.ends.1 - self.ends.0).signum();
        match self.axis.holds(log) {
            true => self.axis.place(log),
            false if log < 0.0 => self.ends.0 + inwards,
            false => self.ends.1 - inwards,
        }
    }

    /// Draws the axis from left to right: lines at round changes with their labels, the line of no change, and a dashed line at each break.
    pub fn draw_across(&self, svg: &mut Svg, field: &PlotArea) {
        field.grid_across(svg, &self.axis, &self.ticks);
        let below = field.bottom + super::field::LINE;
        svg.text("muted", Anchor::Start, (0.0, below), "log scale");
        let line = |svg: &mut Svg, class: &str, x: f64| {
            svg.line(class, (x, field.top), (x, field.bottom));
        };
        line(svg, "zero", self.axis.place(0.0));
        let [low, high] = [OFF_SCALE, -OFF_SCALE];
        if self.broken.0 {
            line(svg, "fence", self.ends.0 + low);
        }
        if self.broken.1 {
            line(svg, "fence", self.ends.1 + high);
        }
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
