//! The ends of an interval, in one notation for sentences, tables and figures.

use super::number::{MINUS, percent, percent_change};

/// Returns the ends of an interval of shares as percentages with their signs: `−42`, `−5`.
///
/// The ends are whole numbers if they differ by ten points or more, and above 100 %. Otherwise they have one decimal,
/// or more if that would print zero. Further decimals would claim a precision that the interval does not have. Ends are
/// rounded outward; rounded inward, they could exclude the estimate.
#[must_use]
pub fn percent_ends(low: f64, high: f64) -> [String; 2] {
    let decimals = |share| least_decimals(share, high - low);
    [
        end(low, decimals(low), f64::floor),
        end(high, decimals(high), f64::ceil),
    ]
}

/// Returns an estimate as a percentage, with no more decimals than an interval of this `width` has.
#[must_use]
pub fn percent_beside(share: f64, width: f64) -> String {
    match least_decimals(share, width) == 0 && share.abs() >= 0.01 {
        true => format!("{:.0}", share * 100.0),
        false => percent(share),
    }
}

/// Returns the smallest change that the interval leaves open, as [`percent_ends`] writes it: 0.009 for −1.4 to −0.9 %.
/// Zero if the interval contains zero.
#[must_use]
pub fn least_shown(low: f64, high: f64) -> f64 {
    let (share, outward): (f64, fn(f64) -> f64) = match (low > 0.0, high < 0.0) {
        (true, _) => (low, f64::floor),
        (false, true) => (high, f64::ceil),
        (false, false) => return 0.0,
    };
    let shown = figure(share, least_decimals(share, high - low), outward);
    shown.map_or(0.0, |(_, percent)| percent.abs() / 100.0)
}

fn least_decimals(share: f64, width: f64) -> usize {
    usize::from(width < WIDE && share.abs() < 1.0)
}

/// Intervals at least this wide need no decimals.
const WIDE: f64 = 0.1;

/// Larger increases are not reliable figures.
const MOST: f64 = 10.0;

/// Rounding errors of a computed whole number stay below this.
const NOISE: f64 = 1e-6;

fn end(share: f64, least_decimals: usize, outward: fn(f64) -> f64) -> String {
    if share >= MOST {
        return ">+999".to_owned();
    }
    match figure(share, least_decimals, outward) {
        None => "0".to_owned(),
        // Almost −100 % is not −100 %.
        Some((_, ..=-100.0)) if share * 100.0 > NOISE - 100.0 => percent_change(share),
        Some((decimals, value)) => {
            let sign = if value < 0.0 { MINUS } else { '+' };
            format!("{sign}{:.decimals$}", value.abs())
        }
    }
}

/// Returns an end in percent with its decimals; `None` if no decimal shows it.
fn figure(share: f64, least_decimals: usize, outward: fn(f64) -> f64) -> Option<(usize, f64)> {
    let all =
        (least_decimals..=3).map(|decimals| (decimals, rounded(share * 100.0, decimals, outward)));
    let mut shown = all.filter(|(_, value)| *value != 0.0);
    shown.next()
}

fn rounded(value: f64, decimals: usize, outward: fn(f64) -> f64) -> f64 {
    let units = [1.0, 10.0, 100.0, 1000.0][decimals];
    let nearest = (value * units).round();
    let is_whole = (value * units - nearest).abs() < NOISE;
    let whole = if is_whole {
        nearest
    } else {
        outward(value * units)
    };
    whole / units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_as_many_digits_as_an_interval_knows() {
        let ends = |low, high| percent_ends(low, high).join(" ");
        assert_eq!(ends(-0.4149, -0.0561), "−42 −5");
        assert_eq!(ends(-0.2021, -0.1889), "−20.3 −18.8");
        assert_eq!(ends(-0.0042, 0.0031), "−0.5 +0.4");
        assert_eq!(ends(0.05, 0.09), "+5.0 +9.0");
        assert_eq!(ends(0.0004, 0.09), "+0.04 +9.0");
        assert_eq!(ends(1.234, 9.991), "+123 +1000");
        assert_eq!(ends(0.5, 10.5), "+50 >+999");
        assert_eq!(ends(-0.9997, -0.5), "−99.97 −50");
        assert_eq!(ends(-1.0, 0.0), "−100 0");
        assert_eq!(ends(1e-9, 1e-9), "0 +0.1");
    }

    #[test]
    fn the_least_change_is_the_end_that_is_shown() {
        for (low, high, least) in [
            (-0.0142, -0.00995, 0.009),
            (-0.0142, -0.01, 0.01),
            (0.0199, 0.15, 0.01),
            (0.0104, 0.02, 0.01),
            (-0.01, 0.02, 0.0),
        ] {
            let shown = least_shown(low, high);
            assert!((shown - least).abs() < 1e-12, "{low} {high}: {shown}");
        }
    }

    #[test]
    fn no_end_leaves_out_what_the_interval_holds() {
        for step in -9_900..9_999 {
            let share = f64::from(step) / 10_000.0;
            let [low, high] = percent_ends(share, share);
            let read = |text: &str| text.replace(MINUS, "-").parse::<f64>().unwrap() / 100.0;
            let (low, high) = (read(&low), read(&high));
            assert!(low <= share + 1e-7 && share <= high + 1e-7, "{share}");
        }
    }
}
