//! Numbers for people, in one notation everywhere:
//!
//! * Three significant digits, a space, and the unit with its prefix: `36.5 ms`, `812 MiB`.
//! * A count below 100,000 is whole, with thousands separators if it has five digits or more: `4096`, `12,852`. A
//!   larger count has three digits and a prefix: `123 k`.
//! * All values of one row of a comparison share the prefix of the smallest.

use hugewise_base::units::{BYTE_UNITS, Unit, bytes_digits};

/// The minus sign. A hyphen is shorter than the plus sign and hard to see next to digits.
pub const MINUS: char = '\u{2212}';

/// The prefix shared by all values of one row, so that readers can compare the digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    factor: f64,
    suffix: String,
    is_count: bool,
}

const SECONDS: &[(f64, &str)] = &[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")];
const BYTES: [(f64, &str); 5] = {
    let mut steps = [(1.0, "B"); 5];
    let mut at = 0;
    while at < steps.len() {
        steps[at] = (BYTE_UNITS[at].0 as f64, BYTE_UNITS[at].1);
        at += 1;
    }
    steps
};
const COUNTS: &[(f64, &str)] = &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
const RATIO: &[(f64, &str)] = &[(0.01, "%")];
/// Powers of ten, as memory vendors count.
const RATES: &[(f64, &str)] = &[
    (1.0, "B/s"),
    (1e3, "kB/s"),
    (1e6, "MB/s"),
    (1e9, "GB/s"),
    (1e12, "TB/s"),
];
const PER_SECOND: &[(f64, &str)] = &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")];

impl Scaler {
    /// Returns the prefix for a row. The smallest value sets it, so that its digits are kept. A larger prefix is used
    /// if the largest value would need more than six digits, or four for a time.
    #[must_use]
    pub fn for_row(unit: &Unit, values: &[f64]) -> Self {
        let sizes = values
            .iter()
            .map(|v| v.abs())
            .filter(|v| *v > 0.0 && v.is_finite());
        let (smallest, largest) = sizes.fold((f64::INFINITY, 0.0_f64), |(low, high), size| {
            (low.min(size), high.max(size))
        });
        let steps = match unit {
            Unit::Seconds => SECONDS,
            Unit::Bytes => &BYTES,
            Unit::Count => COUNTS,
            Unit::Ratio => RATIO,
            Unit::BytesPerSecond => RATES,
            Unit::PerSecond => PER_SECOND,
            Unit::Other(name) => return Self::for_own_unit(name, values),
        };
        let most = most(unit);
        let (factor, suffix) = steps
            .iter()
            .rev()
            .find(|(factor, _)| smallest >= from(unit, *factor) && largest > 0.0)
            .into_iter()
            .chain(steps.iter().filter(|(factor, _)| largest / factor < most))
            .find(|(factor, _)| largest / factor < most)
            .unwrap_or(&steps[steps.len() - 1]);
        Self {
            factor: *factor,
            suffix: (*suffix).to_owned(),
            is_count: *unit == Unit::Count,
        }
    }

    /// The same for a unit named by the user: times are scaled like all others.
    fn for_own_unit(name: &str, values: &[f64]) -> Self {
        let step = SECONDS.iter().find(|(_, word)| *word == name);
        let factor = match name {
            "us" => Some(1e-6),
            _ => step.map(|(factor, _)| *factor),
        };
        let Some(own) = factor else {
            return Self {
                factor: 1.0,
                suffix: name.to_owned(),
                is_count: false,
            };
        };
        let seconds: Vec<f64> = values.iter().map(|value| value * own).collect();
        let scaler = Self::for_row(&Unit::Seconds, &seconds);
        Self {
            factor: scaler.factor / own,
            ..scaler
        }
    }

    /// Returns a value with its unit.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let scaled = value / self.factor;
        let digits = match self.suffix.as_str() {
            "" | "B" if self.factor == 1.0 => whole(scaled),
            suffix if scaled.is_finite() && BYTES.iter().any(|step| step.1 == suffix) => {
                signed(scaled, &bytes_digits(scaled))
            }
            _ => three_digits(scaled),
        };
        match self.suffix.as_str() {
            "" => digits,
            suffix => format!("{digits} {suffix}"),
        }
    }

    /// Returns a change with its sign but without its unit, for use after a number that has one.
    #[must_use]
    pub fn bare_change(&self, value: f64) -> String {
        let text = self.show_change(value);
        let unit = format!(" {}", self.suffix);
        text.strip_suffix(&unit).map(str::to_owned).unwrap_or(text)
    }

    /// Returns a change with its sign. Counts have at most one decimal, for a median between two counts.
    #[must_use]
    pub fn show_change(&self, value: f64) -> String {
        let plus = |value: f64| if value > 0.0 { "+" } else { "" };
        if !self.is_count || self.factor != 1.0 || value.abs() >= 100.0 {
            return format!("{}{}", plus(value), self.show(value));
        }
        let tenths = (value * 10.0).round() / 10.0;
        let size = tenths.abs();
        format!("{}{}", plus(tenths), signed(tenths, &size.to_string()))
    }
}

/// Counts below this have no prefix: five digits are easier to read.
const SHORT_COUNT: f64 = 100_000.0;

/// The first number too long for a row. Times have a prefix for every third digit.
fn most(unit: &Unit) -> f64 {
    match unit {
        Unit::Seconds => 1e4,
        _ => 1e6,
    }
}

/// The smallest value that uses this prefix.
fn from(unit: &Unit, factor: f64) -> f64 {
    match unit {
        Unit::Count if factor > 1.0 => factor.max(SHORT_COUNT),
        _ => factor,
    }
}

/// Returns one value with a suitable prefix.
#[must_use]
pub fn quantity(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Count if value.abs() < SHORT_COUNT => whole(value),
        Unit::Count => {
            let step = COUNTS
                .iter()
                .rev()
                .find(|(factor, _)| value.abs() >= *factor);
            let (factor, suffix) = step.unwrap_or(&COUNTS[0]);
            format!("{} {suffix}", three_digits(value / factor))
        }
        _ => Scaler::for_row(unit, &[value]).show(value),
    }
}

/// Returns one count with a suitable prefix.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub fn count(number: u64) -> String {
    quantity(&Unit::Count, number as f64)
}

/// Returns a number with its noun: `1 trial`, `12 trials`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let nouns = if number == 1 {
        noun.to_owned()
    } else {
        plural(noun)
    };
    format!("{} {nouns}", count(number))
}

/// `trial` → `trials`, `process` → `processes`, `policy` → `policies`.
fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with("ess") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Returns three significant digits; the whole part is never cut.
#[must_use]
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "~".to_owned();
    }
    let size = value.abs();
    let decimals = if size == 0.0 {
        0
    } else {
        (0..6)
            .find(|&d| size * 10_f64.powi(d) >= 99.95)
            .unwrap_or(6)
    };
    let decimals = usize::try_from(decimals).unwrap_or(0);
    signed(value, &format!("{size:.decimals$}"))
}

/// Returns a count. Whole or large numbers have no decimals; five digits or more get thousands separators.
#[must_use]
pub fn whole(value: f64) -> String {
    if value.is_finite() && (value.fract() == 0.0 || value.abs() >= 10_000.0) {
        signed(value, &grouped(&format!("{:.0}", value.abs())))
    } else {
        three_digits(value)
    }
}

fn grouped(digits: &str) -> String {
    if digits.len() < 5 {
        return digits.to_owned();
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns a share chosen by a person, such as a threshold: `1`, not `1.0`.
#[must_use]
pub fn chosen_percent(share: f64) -> String {
    let text = percent(share);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns a share as a percentage with one decimal. More decimals are used if it would round to 0 or 100 %, and none
/// above 100 %.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let size = value.abs();
    let plain = |decimals: usize| format!("{size:.decimals$}");
    // If three decimals round it to 100 %, it is 100 %: a logarithm and its inverse leave an error below 1e-12.
    let decimals = if size >= 99.9995 {
        Some(0)
    } else {
        (1..4).find(|&d| {
            let hides_rest = size < 100.0 && plain(d).starts_with("100");
            let hides_all = size >= 0.001 && plain(d).chars().all(|c| matches!(c, '0' | '.'));
            !hides_rest && !hides_all
        })
    };
    signed(value, &plain(decimals.unwrap_or(3)))
}

/// Returns a share as a percentage, with a plus sign for an increase.
#[must_use]
pub fn percent_change(share: f64) -> String {
    let plus = if share > 0.0 { "+" } else { "" };
    format!("{plus}{}", percent(share))
}

/// Adds the sign, unless the value rounds to zero.
fn signed(value: f64, digits: &str) -> String {
    let is_zero = digits.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !is_zero {
        format!("{MINUS}{digits}")
    } else {
        digits.to_owned()
    }
}

#[cfg(test)]
mod tests;
