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

    /// As it is typed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Micros => "us",
            Self::Millis => "ms",
            Self::Seconds => "s",
        }
    }

    /// Whole nanoseconds of so many, rounded to the nearest; `None` beyond 500 years.
    #[must_use]
    pub fn to_nanos(self, value: f64) -> Option<u64> {
        let ns = (value * self.nanos() as f64).round();
        (0.0..1.6e19).contains(&ns).then_some(ns as u64)
    }

    /// Seconds of so many.
    #[must_use]
    pub fn to_seconds(self, value: f64) -> f64 {
        // Divided, not multiplied: 250 µs are then 0.00025 s to the last digit.
        value / (1_000_000_000 / self.nanos()) as f64
    }

    /// The unit in which a field is by its name: `latency_ms`, `elapsedMicros`, `time [us]`.
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
        // A short word must stand apart: `runs` and `status` end in no unit.
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

/// Whole nanoseconds of a decimal as it is written, without a detour through binary fractions
/// where the digits allow it; `None` for what is no number of time.
pub(super) fn exact_nanos(text: &str, unit: TimeUnit) -> Option<u64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let places = unit.nanos().ilog10() as usize;
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
        return unit.to_nanos(super::number(text)?);
    }
    let scale = 10_u64.pow(u32::try_from(places - fraction.len()).ok()?);
    let fraction: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(unit.nanos())?
        .checked_add(fraction.checked_mul(scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_whole_nanoseconds() {
        let cases = [
            ("0.103", TimeUnit::Millis, Some(103_000)),
            ("12.92", TimeUnit::Millis, Some(12_920_000)),
            ("250.00", TimeUnit::Micros, Some(250_000)),
            ("1.1", TimeUnit::Nanos, Some(1)),
            ("0.000000001", TimeUnit::Seconds, Some(1)),
            ("1e-3", TimeUnit::Seconds, Some(1_000_000)),
            (
                "18446744073",
                TimeUnit::Seconds,
                Some(18_446_744_073_000_000_000),
            ),
            ("18446744074", TimeUnit::Seconds, None),
            ("-1", TimeUnit::Seconds, None),
            ("x", TimeUnit::Seconds, None),
            ("inf", TimeUnit::Seconds, None),
            (".5", TimeUnit::Millis, Some(500_000)),
        ];
        for (text, unit, ns) in cases {
            assert_eq!(exact_nanos(text, unit), ns, "{text}");
        }
        assert_eq!(TimeUnit::Micros.to_seconds(250.0), 0.000_25);
    }

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
