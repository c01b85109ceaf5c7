//! The last rates of each counter, and their curve.

use std::collections::VecDeque;

use super::rates::{Between, counters, value};

/// The number of stored rates: the width of the widest curve.
const LENGTH: usize = 120;

/// Heights of a curve, the lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A rate of zero.
const ZERO: char = '·';
/// An unknown rate.
const UNKNOWN: char = ' ';

/// The last rates of each counter, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    rates: Vec<VecDeque<Option<f64>>>,
}

impl History {
    /// Adds the rates between two samples.
    pub(super) fn push(&mut self, between: &Between<'_>) {
        self.rates.resize_with(counters().count(), VecDeque::new);
        for (rates, counter) in self.rates.iter_mut().zip(counters()) {
            rates.push_back(between.per_second(|sample| value(counter, sample)));
            if rates.len() > LENGTH {
                rates.pop_front();
            }
        }
    }

    /// The last rate of a counter.
    pub(super) fn last(&self, counter: usize) -> Option<f64> {
        self.rates.get(counter)?.back().copied().flatten()
    }

    /// The curve of a counter in so many columns.
    pub(super) fn curve(&self, counter: usize, columns: usize) -> String {
        let Some(rates) = self.rates.get(counter) else {
            return String::new();
        };
        let shown: Vec<_> = rates
            .iter()
            .skip(rates.len().saturating_sub(columns))
            .collect();
        let known = shown.iter().filter_map(|rate| **rate);
        let most = known.fold(0.0_f64, f64::max);
        shown.iter().map(|rate| height(**rate, most)).collect()
    }
}

fn height(rate: Option<f64>, most: f64) -> char {
    match rate {
        None => UNKNOWN,
        Some(rate) if rate <= 0.0 => ZERO,
        Some(rate) => {
            let steps = (rate / most * HEIGHTS.len() as f64).ceil() as usize;
            HEIGHTS[steps.clamp(1, HEIGHTS.len()) - 1]
        }
    }
}
