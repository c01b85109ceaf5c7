use std::str::FromStr;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanos,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds in one.
    #[must_use]
    pub fn nanos(self) -> u64 {
        match self {
            Self::Nanos => 1,
            Self::Micros => 1_000,
            Self::Millis => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }

    /// The word that users type.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Micros => "us",
            Self::Millis => "ms",
            Self::Seconds => "s",
        }
    }

    /// Rounds to whole nanoseconds; `None` beyond 500 years.
    #[must_use]
    pub fn to_nanos(self, value: f64) -> Option<u64> {
        let ns = (value * self.nanos() as f64).round();
        (0.0..1.6e19).contains(&ns).then_some(ns as u64)
    }

    /// Converts to seconds.
    #[must_use]
    pub fn to_seconds(self, value: f64) -> f64 {
        // Divided, not multiplied: 250 µs are then 0.00025 s to the last digit.
        value / (1_000_000_000 / self.nanos()) as f64
    }

    /// The unit of a field, from its name: `latency_ms`, `elapsedMicros`, `time [us]`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        const ENDS: [(&str, TimeUnit); 12] = [
            ("nanoseconds", TimeUnit::Nanos),
            ("microseconds", TimeUnit::Micros),
            ("milliseconds", TimeUnit::Millis),
            ("seconds", TimeUnit::Seconds),
            ("nanos", TimeUnit::Nanos),
            ("micros", TimeUnit::Micros),
            ("millis", TimeUnit::Millis),
            ("usec", TimeUnit::Micros),
            ("msec", TimeUnit::Millis),
            ("ns", TimeUnit::Nanos),
            ("us", TimeUnit::Micros),
            ("ms", TimeUnit::Millis),
        ];
        let lower = name.to_ascii_lowercase();
        let name = lower.trim_end_matches([']', ')', ' ']);
        let (end, unit) = ENDS.iter().find(|(end, _)| name.ends_with(end))?;
        // A short word needs a separator: `runs` and `status` do not end in a unit.
        let before = name[..name.len() - end.len()].chars().next_back();
        let apart = before.is_none_or(|c| !c.is_ascii_alphanumeric());
        (apart || end.len() > 4).then_some(*unit)
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Nanos, Self::Micros, Self::Millis, Self::Seconds]
            .into_iter()
            .find(|unit| unit.word() == text || (text == "µs" && *unit == Self::Micros))
            .ok_or_else(|| format!("`{text}` is not a unit; write ns, us, ms or s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_tell_their_unit() {
        let cases = [
            ("latency_ms", Some(TimeUnit::Millis)),
            ("took (us)", Some(TimeUnit::Micros)),
            ("elapsed_seconds", Some(TimeUnit::Seconds)),
            ("elapsedMillis", Some(TimeUnit::Millis)),
            ("ns", Some(TimeUnit::Nanos)),
            ("status", None),
            ("columns", None),
            ("latency", None),
        ];
        for (name, unit) in cases {
            assert_eq!(TimeUnit::of_name(name), unit, "{name}");
        }
    }
}
