//! Units, and sizes and durations in the form in which people type them (`64K`, `2M`, `10s`) and read them.

use std::borrow::Cow;
use std::time::Duration;

/// Bytes in a KiB.
pub const KIB: u64 = 1024;
/// Bytes in a MiB.
pub const MIB: u64 = 1024 * KIB;
/// Bytes in a GiB.
pub const GIB: u64 = 1024 * MIB;

/// The unit of a metric.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A plain count.
    Count,
    /// A share, 0 to 1.
    Ratio,
    /// Bytes a second.
    BytesPerSecond,
    /// So many a second.
    PerSecond,
    /// A name given by the user.
    Other(Cow<'static, str>),
}

impl Unit {
    /// Returns the suffix of its metric names; `None` for a unit named by the user.
    #[must_use]
    pub fn suffix(&self) -> Option<&'static str> {
        Some(match self {
            Self::Seconds => "_seconds",
            Self::Bytes => "_bytes",
            Self::Count => "_total",
            Self::Ratio => "_ratio",
            Self::BytesPerSecond => "_bytes_per_second",
            Self::PerSecond => "_per_second",
            Self::Other(_) => return None,
        })
    }
}

/// Parses a size: a whole number with `K`, `M`, `G` or `T` (powers of 1024), or a plain number of bytes.
///
/// # Errors
/// A sentence with the text and the expected form.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let fault = || format!("`{text}` is not a size; write 64K, 2M, 1G or a number of bytes");
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match trimmed[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => KIB,
        "m" | "mb" | "mib" => MIB,
        "g" | "gb" | "gib" => GIB,
        "t" | "tb" | "tib" => 1024 * GIB,
        _ => return Err(fault()),
    };
    let number: u64 = digits.parse().map_err(|_| fault())?;
    number.checked_mul(unit).ok_or_else(fault)
}

/// Parses a duration: a number with `ms`, `s`, `m` or `h`; a plain number is seconds.
///
/// # Errors
/// A sentence with the text and the expected form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let fault = || format!("`{text}` is not a duration; write 500ms, 10s, 5m or 1h");
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &trimmed[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(fault()),
    };
    let number: f64 = digits.parse().map_err(|_| fault())?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| fault())
}

/// Returns an approximate waiting time: `45 s`, `2 min 50 s`, `12 min`, `2.5 h`.
#[must_use]
pub fn rough(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    // Rounds up to ten seconds.
    let tens = seconds.div_ceil(10) * 10;
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=590 if !tens.is_multiple_of(60) => format!("{} min {} s", tens / 60, tens % 60),
        91..=590 => format!("{} min", tens / 60),
        591..=5399 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", time.as_secs_f64() / 3600.0),
    }
}

/// Returns the time of day (UTC) of a moment in milliseconds since 1970: `05:46:00`.
#[must_use]
pub fn time_of_day(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// Units of memory in bytes with their names, the smallest first.
pub const BYTE_UNITS: [(u64, &str); 5] = [
    (1, "B"),
    (KIB, "KiB"),
    (MIB, "MiB"),
    (GIB, "GiB"),
    (1024 * GIB, "TiB"),
];

/// Returns an amount of memory for people, in the largest unit that gives at least 1, with three significant digits and
/// no trailing zeros. All output writes bytes in this form.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
    let fills = BYTE_UNITS.into_iter().rfind(|(unit, _)| bytes >= *unit);
    let (unit, name) = fills.unwrap_or((1, "B"));
    format!("{} {name}", bytes_digits(bytes as f64 / unit as f64))
}

/// Returns the digits of an amount of memory in some unit; the whole part is never cut.
#[must_use]
pub fn bytes_digits(amount: f64) -> String {
    let size = amount.abs();
    let decimals = match size {
        _ if size >= 99.95 || size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ => 3,
    };
    let digits = format!("{size:.decimals$}");
    match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rough() {
        assert_eq!(rough(Duration::from_secs(45)), "45 s");
        assert_eq!(rough(Duration::from_secs(165)), "2 min 50 s");
        assert_eq!(rough(Duration::from_secs(175)), "3 min");
        assert_eq!(rough(Duration::from_secs(700)), "12 min");
        assert_eq!(rough(Duration::from_secs(9000)), "2.5 h");
    }

    #[test]
    fn amounts_are_read_in_the_largest_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (135_168, "132 KiB"),
            (3 * MIB / 2, "1.5 MiB"),
            (1_288_490_189, "1.2 GiB"),
            (1_320_702_444, "1.23 GiB"),
            (25_276_502_016, "23.5 GiB"),
            (20 * GIB, "20 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes_text(bytes), text);
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size("64K"), Ok(65_536));
        assert_eq!(parse_size("2m"), Ok(2 * MIB));
        assert_eq!(parse_size("1GiB"), Ok(GIB));
        assert_eq!(parse_size("4096"), Ok(4096));
        for bad in ["", "M", "1.5M", "-1", "2X", "99999999999G"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(parse_duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
        for bad in ["", "s", "-3s", "nan", "inf", "3 parsecs"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
