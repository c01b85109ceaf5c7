//! An effect in words: how large, which way, and whether that is good.

use super::sentence_label;
use crate::run::compare::Comparison;
use crate::run::metric::{Better, Metric, MetricId};
use crate::text::number::{percent, quantity, three_digits};

/// The size of an effect and which way it goes.
pub(super) struct Effect {
    size: Size,
    rises: bool,
}

enum Size {
    /// Ten times or more, where a percentage is hard to read.
    Times(f64),
    /// A share or a quantity, with its unit.
    By(String),
}

impl Effect {
    pub(super) fn of(metric: &Metric, comparison: &Comparison) -> Option<Self> {
        let (size, rises) = match (comparison.ratio, comparison.difference) {
            (Some(ratio), _) if ratio >= 10.0 => (Size::Times(ratio), true),
            (Some(ratio), _) => {
                let share = format!("{} %", percent((ratio - 1.0).abs()));
                (Size::By(share), ratio > 1.0)
            }
            (None, Some(difference)) => {
                let size = quantity(&metric.unit, difference.abs());
                (Size::By(size), difference > 0.0)
            }
            (None, None) => return None,
        };
        Some(Self { size, rises })
    }

    /// `19.8 % less wall time`; for other metrics than time `p99 4.2 % higher`.
    pub(super) fn phrase(&self, metric: &Metric) -> String {
        let label = sentence_label(metric).replace(", ", " ");
        let is_time = metric.name == MetricId::WallSeconds.name();
        match (&self.size, self.rises) {
            (Size::Times(ratio), _) if is_time => format!("{} times as long", three_digits(*ratio)),
            (Size::Times(ratio), _) => format!("{label} {} times as high", three_digits(*ratio)),
            (Size::By(size), true) if is_time => format!("{size} more {label}"),
            (Size::By(size), false) if is_time => format!("{size} less {label}"),
            (Size::By(size), true) => format!("{label} {size} higher"),
            (Size::By(size), false) => format!("{label} {size} lower"),
        }
    }

    /// What stands beside a [phrase](Self::phrase) of the same metric: `19.8 % less`.
    pub(super) fn brief(&self, metric: &Metric) -> String {
        match &self.size {
            Size::By(size) if metric.name == MetricId::WallSeconds.name() => {
                format!("{size} {}", if self.rises { "more" } else { "less" })
            }
            _ => self.phrase(metric),
        }
    }

    /// `takes 19.8 % less wall time than`; for other metrics than time, with what is good:
    /// `is 4.2 % higher in p99 (worse) than`.
    pub(super) fn text(&self, metric: &Metric) -> String {
        let label = sentence_label(metric);
        let is_time = metric.name == MetricId::WallSeconds.name();
        let worth = match (metric.better, self.rises) {
            (Better::Neither, _) => "",
            (Better::Lower, false) | (Better::Higher, true) => " (better)",
            (Better::Lower, true) | (Better::Higher, false) => " (worse)",
        };
        match (&self.size, self.rises) {
            (Size::Times(ratio), _) if is_time => {
                format!("takes {} times as long as", three_digits(*ratio))
            }
            (Size::Times(ratio), _) => {
                format!("has {} times the {label}{worth} of", three_digits(*ratio))
            }
            (Size::By(size), true) if is_time => format!("takes {size} more {label} than"),
            (Size::By(size), false) if is_time => format!("takes {size} less {label} than"),
            (Size::By(size), true) => format!("is {size} higher in {label}{worth} than"),
            (Size::By(size), false) => format!("is {size} lower in {label}{worth} than"),
        }
    }
}
