//! Axes: map values to places in a drawing, and choose the labelled values.

use hugewise_base::units::Unit;

/// An axis between two places in a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    /// The places of the low and the high end.
    ends: (f64, f64),
    spacing: Spacing,
}

/// The spacing of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// As their differences.
    Linear,
    /// As their ratios.
    Logarithmic,
}

/// The part of the values' range left free at each end.
const MARGIN: f64 = 0.04;

impl Axis {
    /// Returns the axis of these values, from the first of the `ends` to the second; `None` without a finite value.
    #[must_use]
    pub fn linear(values: impl IntoIterator<Item = f64>, ends: (f64, f64)) -> Option<Self> {
        let (low, high) = range(values.into_iter())?;
        let margin = match high - low {
            0.0 if low == 0.0 => 1.0,
            0.0 => low.abs() * 0.1,
            range => range * MARGIN,
        };
        let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Self::new(
            (low - margin).max(floor),
            high + margin,
            ends,
            Spacing::Linear,
        )
    }

    /// Returns a linear axis that includes zero.
    #[must_use]
    pub fn from_zero(values: impl IntoIterator<Item = f64>, ends: (f64, f64)) -> Option<Self> {
        Self::linear(values.into_iter().chain([0.0]), ends)
    }

    /// Returns the logarithmic axis of the values above 0, from the smallest to the largest. A single value gets some
    /// range around it. `None` without a value.
    #[must_use]
    pub fn logarithmic(values: impl IntoIterator<Item = f64>, ends: (f64, f64)) -> Option<Self> {
        let (low, high) = range(values.into_iter().filter(|value| *value > 0.0))?;
        let wide = if low < high { 1.0 } else { 1.5 };
        Self::new(low / wide, high * wide, ends, Spacing::Logarithmic)
    }

    /// Returns the axis between two values.
    #[must_use]
    pub fn between(low: f64, high: f64, ends: (f64, f64)) -> Option<Self> {
        Self::new(low, high, ends, Spacing::Linear)
    }

    fn new(low: f64, high: f64, ends: (f64, f64), spacing: Spacing) -> Option<Self> {
        let usable = low.is_finite() && high.is_finite() && (high - low).is_finite() && low < high;
        usable.then_some(Self {
            low,
            high,
            ends,
            spacing,
        })
    }

    /// Returns the place of a value; values beyond the ends are put at the end.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.ends.0 + (self.ends.1 - self.ends.0) * share.clamp(0.0, 1.0)
    }

    /// Returns true if a value is on the axis.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        let hair = (self.high - self.low) * 1e-9;
        (self.low - hair..=self.high + hair).contains(&value)
    }

    /// Returns at most `most` round values on the axis, ascending. Sizes are round in powers of 1024.
    #[must_use]
    pub fn ticks(&self, unit: &Unit, most: usize) -> Vec<f64> {
        let most = most.max(2);
        let all = match self.spacing {
            Spacing::Linear => self.even(unit, most),
            Spacing::Logarithmic if *unit == Unit::Bytes => self.doublings(most),
            Spacing::Logarithmic => self.decades(most),
        };
        all.into_iter().filter(|value| self.holds(*value)).collect()
    }

    /// Returns the round values with their labels; fewer if two labels would be the same.
    #[must_use]
    pub fn labels(
        &self,
        unit: &Unit,
        most: usize,
        show: impl Fn(f64) -> String,
    ) -> Vec<(f64, String)> {
        let labels = |most: usize| -> Vec<(f64, String)> {
            let ticks = self.ticks(unit, most).into_iter();
            ticks.map(|value| (value, show(value))).collect()
        };
        let differ = |all: &Vec<(f64, String)>| all.windows(2).all(|two| two[0].1 != two[1].1);
        let fitting = (2..=most).rev().map(labels).find(differ);
        fitting.unwrap_or_else(|| labels(2).into_iter().take(1).collect())
    }

    /// Returns the value at a place between the ends.
    #[must_use]
    pub fn value(&self, place: f64) -> f64 {
        let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        match self.spacing {
            Spacing::Linear => self.low + (self.high - self.low) * share,
            Spacing::Logarithmic => self.low * (self.high / self.low).powf(share),
        }
    }

    fn even(&self, unit: &Unit, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most as f64;
        let step = match unit {
            Unit::Bytes => power_of_two(rough),
            Unit::Count => round(rough).max(1.0),
            _ => round(rough),
        };
        let first = (self.low / step).ceil();
        let steps = (0..=most + 1).map(|index| (first + index as f64) * step);
        steps.collect()
    }

    /// Powers of two; only every second or fourth if there are many.
    fn doublings(&self, most: usize) -> Vec<f64> {
        let all = (0..63).map(|power| 2_f64.powi(power));
        let all: Vec<f64> = all.filter(|value| self.holds(*value)).collect();
        let step = all.len().div_ceil(most).max(1).next_power_of_two();
        all.into_iter().step_by(step).collect()
    }

    /// Powers of ten, with or without 2 and 5 times them; every second power and so on if there are many.
    fn decades(&self, most: usize) -> Vec<f64> {
        let powers = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let of = |digits: &[f64], step: usize| -> Vec<f64> {
            let powers = (powers.0..=powers.1).step_by(step);
            let all = powers.flat_map(|power| digits.iter().map(move |it| it * 10_f64.powi(power)));
            all.filter(|value| self.holds(*value)).collect()
        };
        let choices = [of(&[1.0, 2.0, 5.0], 1), of(&[1.0, 3.0], 1), of(&[1.0], 1)];
        let fitting = choices.into_iter().find(|values| values.len() <= most);
        let count = (powers.1 - powers.0).unsigned_abs() as usize + 1;
        fitting.unwrap_or_else(|| of(&[1.0], count.div_ceil(most).max(1)))
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (ends.0 <= ends.1).then_some(ends)
}

/// The next of 1, 2 and 5 times a power of ten.
fn round(rough: f64) -> f64 {
    let decade = 10_f64.powf(rough.log10().floor());
    let digits = [1.0, 2.0, 5.0].into_iter();
    let fitting = digits
        .map(|digit| digit * decade)
        .find(|step| *step >= rough * 0.999);
    fitting.unwrap_or(10.0 * decade)
}

/// Returns the smallest power of two of at least `rough`, and at least 1.
fn power_of_two(rough: f64) -> f64 {
    2_f64.powf(rough.max(1.0).log2().ceil())
}
