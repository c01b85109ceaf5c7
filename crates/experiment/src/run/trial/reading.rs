//! The reading of one metric in one trial.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::histogram::distribution::Distribution;
use crate::base::missing::Missing;
use crate::run::stats::{Sample, median};

/// One value of one metric in one trial, or the reason why there is none.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Reading {
    /// One number, in the unit of its metric.
    Value {
        /// The number.
        value: f64,
    },
    /// Several numbers of one trial, in the order in which the workload printed them; never empty.
    Values {
        /// The numbers.
        values: Vec<f64>,
    },
    /// Too many numbers to list, so they are counted: durations of requests, whose metric is in seconds.
    Histogram {
        /// The counts. Boxed because they are large, and most readings are one number.
        histogram: Box<Distribution>,
    },
    /// Not measured.
    Missing {
        /// Why.
        missing: Missing,
    },
}

impl Reading {
    /// A reading of one number.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self::Value { value }
    }

    /// The number, or the median of several.
    ///
    /// # Errors
    /// Fails with the reason if there is none.
    pub fn middle(&self) -> Result<f64, Missing> {
        let middle = match self {
            Self::Value { value } => Some(*value),
            Self::Values { values } => median(values),
            Self::Histogram { histogram } => Sample::Counted(histogram).middle(),
            Self::Missing { missing } => return Err(missing.clone()),
        };
        middle.ok_or(Missing::NotPrinted)
    }

    /// A reading that failed.
    #[must_use]
    pub fn missing(missing: Missing) -> Self {
        Self::Missing { missing }
    }
}

impl From<Result<f64, Missing>> for Reading {
    fn from(result: Result<f64, Missing>) -> Self {
        match result {
            Ok(value) => Self::of(value),
            Err(missing) => Self::missing(missing),
        }
    }
}

/// Its key identifies the kind of reading. serde's untagged enums copy each one and try the variants in turn, which
/// doubles the time to read a long record.
impl<'de> Deserialize<'de> for Reading {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadingVisitor)
    }
}

struct ReadingVisitor;

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Value,
    Values,
    Histogram,
    Missing,
    #[serde(other)]
    Unknown,
}

impl<'de> Visitor<'de> for ReadingVisitor {
    type Value = Reading;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `value`, `values`, `histogram` or `missing`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Reading, A::Error> {
        let mut reading = None;
        while let Some(key) = map.next_key()? {
            reading = Some(match key {
                Key::Value => Reading::Value {
                    value: map.next_value()?,
                },
                Key::Values => Reading::Values {
                    values: map.next_value()?,
                },
                Key::Histogram => Reading::Histogram {
                    histogram: map.next_value()?,
                },
                Key::Missing => Reading::Missing {
                    missing: map.next_value()?,
                },
                Key::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            });
        }
        reading.ok_or_else(|| {
            A::Error::custom("a reading without `value`, `values`, `histogram` or `missing`")
        })
    }
}
