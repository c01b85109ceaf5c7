//! Conditions that end the experiment: `--guard 'METRIC > X'`.

use std::fmt;
use std::str::FromStr;

use hugewise_experiment::run::metric::live::LiveMetric;

use crate::Source;

/// A condition that ends the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// Its subject.
    pub watched: Watched,
    /// The bound.
    pub limit: Limit,
}

/// The subject of a guard.
#[derive(Clone, Debug, PartialEq)]
pub enum Watched {
    /// The share of time in which some task waited for memory (PSI).
    MemoryPressure,
    /// A metric of a period.
    Period(LiveMetric),
    /// The growth per second of a counter.
    Counter(Source),
}

/// The bound of a guard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// It may not be more.
    Above(f64),
    /// It may not be less.
    Below(f64),
}

/// The name of [`Watched::MemoryPressure`].
const PRESSURE: &str = "memory_pressure_ratio";

impl Guard {
    /// Returns the guard of every experiment: a tenth of the time waiting for memory.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            watched: Watched::MemoryPressure,
            limit: Limit::Above(0.1),
        }
    }

    /// Returns true for a value that ends the experiment.
    #[must_use]
    pub fn is_broken_by(&self, value: f64) -> bool {
        match self.limit {
            Limit::Above(limit) => value > limit,
            Limit::Below(limit) => value < limit,
        }
    }
}

impl FromStr for Guard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}`: write 'METRIC > X' or 'METRIC < X', where METRIC is {PRESSURE}, \
                 a metric of the report, or a source as --work takes it"
            )
        };
        let at = text.rfind(['<', '>']).ok_or_else(form)?;
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let value = match value.strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|it: f64| it / 100.0),
            None => value.parse(),
        };
        let value = value
            .ok()
            .filter(|it: &f64| it.is_finite())
            .ok_or_else(form)?;
        let limit = match text.as_bytes()[at] {
            b'<' => Limit::Below(value),
            _ => Limit::Above(value),
        };
        let watched = match (name, name.parse()) {
            (PRESSURE, _) => Watched::MemoryPressure,
            (_, Ok(metric)) => Watched::Period(metric),
            _ => Watched::Counter(name.parse()?),
        };
        Ok(Self { watched, limit })
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.watched {
            Watched::MemoryPressure => f.write_str(PRESSURE)?,
            Watched::Period(metric) => write!(f, "{metric}")?,
            Watched::Counter(source) => write!(f, "{source}")?,
        }
        match self.limit {
            Limit::Above(limit) => write!(f, " > {limit}"),
            Limit::Below(limit) => write!(f, " < {limit}"),
        }
    }
}
