//! Times as sources write them.

use super::{ReadError, number};
use crate::run::plan::{Edge, Stamp, TimeUnit};
use crate::run::trial::Timed;

/// The request whose time is written as `text`, and which took `took` nanoseconds.
pub(super) fn timed(stamp: &Stamp, line: usize, text: &str, took: u64) -> Result<Timed, ReadError> {
    let unit = stamp.unit.or_else(|| TimeUnit::of_name(&stamp.field));
    let unit = unit.unwrap_or(TimeUnit::Nanos);
    let at = exact_nanos(text, unit).ok_or_else(|| {
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

/// Whole nanoseconds of a decimal as it is written, without a detour through binary fractions
/// where the digits allow it; `None` for what is no number of time.
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
}
