//! Times in the formats of sources.

use std::borrow::Cow;

use super::{ReadError, number};
use crate::base::calendar;
use crate::run::plan::{Edge, Stamp, TimeUnit};
use crate::run::trial::Timed;

/// The request with the time `text` and a duration of `took` nanoseconds.
pub(super) fn timed(stamp: &Stamp, line: usize, text: &str, took: u64) -> Result<Timed, ReadError> {
    let unit = stamp.unit.or_else(|| TimeUnit::of_name(&stamp.field));
    let unit = unit.unwrap_or(TimeUnit::Nanos);
    let at = exact_nanos(text, unit)
        .or_else(|| rfc_3339(text))
        .ok_or_else(|| {
            let problem = format!("`{text}` is no time in {}", unit.word());
            ReadError::at(line, &*stamp.field, problem)
        })?;
    Ok(Timed {
        ended_unix_ns: match stamp.edge {
            Edge::Began => at.saturating_add(took),
            Edge::Ended => at,
        },
        took_ns: took,
    })
}

/// Whole nanoseconds of a decimal number, without rounding through binary fractions if the digits allow it; `None` for
/// an invalid time.
pub(super) fn exact_nanos(text: &str, unit: TimeUnit) -> Option<u64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let places = unit.nanos().ilog10() as usize;
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
        return unit.to_nanos(number(text)?);
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

/// Units that occur only in printed times, not in fields, in seconds.
const LONG_UNITS: [(&str, f64); 2] = [("m", 60.0), ("h", 3600.0)];

/// Seconds of a time with its unit: `250.00us`, `5.80ms`, `1.20s`, `1.50m`, `1.00h`.
pub(super) fn with_unit(text: &str) -> Option<f64> {
    let letters = text.find(char::is_alphabetic)?;
    let (value, unit) = text.split_at(letters);
    let nanos = match LONG_UNITS.iter().find(|(word, _)| *word == unit) {
        Some((_, seconds)) => TimeUnit::Seconds.to_nanos(number(value)? * seconds)?,
        None => exact_nanos(value, unit.parse().ok()?)?,
    };
    Some(TimeUnit::Nanos.to_seconds(nanos as f64))
}

/// A number with a decimal point, from one with a possible decimal comma.
///
/// # Errors
///
/// Fails with a hint on what to write if a comma may also be a thousands separator.
pub(super) fn decimal(text: &str) -> Result<Cow<'_, str>, String> {
    let Some((whole, decimals)) = text.trim().split_once(',') else {
        return Ok(text.into());
    };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let may_be_thousands = decimals.len() == 3 && !whole.starts_with('0');
    if is_number(whole) && is_number(decimals) && !whole.is_empty() && !may_be_thousands {
        return Ok(format!("{whole}.{decimals}").into());
    }
    Err(format!(
        "`{text}`: the comma may be a decimal or a mark of thousands; let it be written with a \
         decimal point and no other mark (LC_ALL=C)"
    ))
}

/// Nanoseconds since 1970 of `2020-03-06T16:47:36.78+08:00`.
fn rfc_3339(text: &str) -> Option<u64> {
    let (seconds, nanos) = calendar::moment(text)?;
    let seconds = u64::try_from(seconds).ok()?;
    seconds
        .checked_mul(TimeUnit::Seconds.nanos())?
        .checked_add(nanos.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_times_since_1970() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            (
                "2020-03-06T16:47:36.78+08:00",
                Some(1_583_484_456_780_000_000),
            ),
            ("2000-02-29T23:59:59-00:30", Some(951_870_599_000_000_000)),
            (
                "2026-11-29 01:20:00.000000001Z",
                Some(1_795_915_200_000_000_001),
            ),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-29T01:20:00", None),
            ("yesterday", None),
        ];
        for (text, ns) in cases {
            assert_eq!(rfc_3339(text), ns, "{text}");
        }
    }

    #[test]
    fn a_comma_is_read_where_it_can_be_one_thing_alone() {
        for (text, plain) in [
            ("0,016", "0.016"),
            ("12,5", "12.5"),
            ("3", "3"),
            ("7.5", "7.5"),
        ] {
            assert_eq!(decimal(text).as_deref(), Ok(plain));
        }
        for text in ["1,205", "1,234.5", "1,2,3", ",5"] {
            let error = decimal(text).expect_err(text);
            assert!(error.contains("LC_ALL=C"), "{error}");
        }
    }

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
}
