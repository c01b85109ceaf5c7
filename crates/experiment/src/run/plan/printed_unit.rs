//! The unit after a printed number. A program that prints `577.28ms` in one run may print `1.21s` in the next, so the
//! declared unit of a metric may differ from that of the number.

/// The quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// A time of so many nanoseconds.
    Time(f64),
    /// An amount of so many bytes or bits, or a rate per second.
    Amount(f64),
}

const UNITS: [(&str, Measure); 33] = [
    ("ns", Measure::Time(1.0)),
    ("us", Measure::Time(1e3)),
    ("\u{b5}s", Measure::Time(1e3)),
    ("\u{3bc}s", Measure::Time(1e3)),
    ("usec", Measure::Time(1e3)),
    ("ms", Measure::Time(1e6)),
    ("msec", Measure::Time(1e6)),
    ("s", Measure::Time(1e9)),
    ("sec", Measure::Time(1e9)),
    ("secs", Measure::Time(1e9)),
    ("second", Measure::Time(1e9)),
    ("seconds", Measure::Time(1e9)),
    ("m", Measure::Time(60e9)),
    ("min", Measure::Time(60e9)),
    ("h", Measure::Time(3600e9)),
    ("B", Measure::Amount(1.0)),
    ("bytes", Measure::Amount(1.0)),
    ("kB", Measure::Amount(1e3)),
    ("KB", Measure::Amount(1e3)),
    ("MB", Measure::Amount(1e6)),
    ("GB", Measure::Amount(1e9)),
    ("TB", Measure::Amount(1e12)),
    ("KiB", Measure::Amount(1024.0)),
    ("MiB", Measure::Amount(1_048_576.0)),
    ("GiB", Measure::Amount(1_073_741_824.0)),
    ("TiB", Measure::Amount(1_099_511_627_776.0)),
    ("bits", Measure::Amount(0.125)),
    ("Kbits", Measure::Amount(125.0)),
    ("Mbits", Measure::Amount(125e3)),
    ("Gbits", Measure::Amount(125e6)),
    ("Kbit", Measure::Amount(125.0)),
    ("Mbit", Measure::Amount(125e3)),
    ("Gbit", Measure::Amount(125e6)),
];

/// The prefix letters that programs put directly after a number.
const MULTIPLES: [&str; 5] = ["k", "K", "M", "G", "T"];

/// Returns the factor from the unit after a number to the declared one; 1 if one is unknown.
///
/// # Errors
///
/// The number has a different unit from the declared one.
pub(super) fn factor(declared: &str, pattern: &str, behind: &str) -> Result<f64, String> {
    let word = word(behind);
    let is_apart = behind.starts_with(' ');
    // The pattern allows no other unit.
    let is_fixed = || {
        pattern
            .rsplit_once(')')
            .is_some_and(|it| it.1.contains(word))
    };
    match (measure(declared), measure(word)) {
        (Some(Measure::Time(wanted)), Some(Measure::Time(found))) => Ok(found / wanted),
        (Some(Measure::Amount(wanted)), Some(Measure::Amount(found))) if wanted != found => Err(
            format!("a number is in {word}, not in {declared}; let the program print one unit"),
        ),
        (None, Some(_)) if declared.is_empty() && !is_fixed() => Err(format!(
            "a number is in {word}, which the program may change; name the unit: NAME:{word}=\u{2026}"
        )),
        _ if MULTIPLES.contains(&word) && !is_apart && word != declared && !is_fixed() => {
            Err(format!(
                "a number ends in `{word}`, which stands for a multiple; let the program print \
                 the whole number"
            ))
        }
        _ => Ok(1.0),
    }
}

/// Returns the word after a number, with or without a space.
fn word(behind: &str) -> &str {
    let text = behind.strip_prefix(' ').unwrap_or(behind);
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '/');
    &text[..end.unwrap_or(text.len())]
}

fn measure(word: &str) -> Option<Measure> {
    let rates = ["/s", "/sec", "/second"];
    let plain = rates.iter().find_map(|rate| word.strip_suffix(rate));
    let found = UNITS
        .iter()
        .find(|(name, _)| *name == plain.unwrap_or(word));
    let measure = found.map(|(_, measure)| *measure)?;
    // A time per second is not a time.
    (plain.is_none() || matches!(measure, Measure::Amount(_))).then_some(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_brought_to_the_declared_unit() {
        for (declared, behind, wanted) in [
            ("ms", "ms", 1.0),
            ("ms", "s   1.47k", 1000.0),
            ("s", " ms \u{b1} 3 ms", 0.001),
            ("us", "\u{b5}s", 1.0),
            ("ms", " seconds.", 1000.0),
            ("s", "m", 60.0),
            ("ms", "", 1.0),
            ("ms", " mean", 1.0),
            ("1/s", " s", 1.0),
            ("1/s", " per sec", 1.0),
            ("MB/s", " MB/s", 1.0),
            ("MB/s", " MB", 1.0),
            ("x", " samples", 1.0),
            ("", " samples", 1.0),
            ("frames", " k", 1.0),
        ] {
            let found = factor(declared, "([0-9.]+)", behind);
            assert_eq!(found, Ok(wanted), "{declared} {behind}");
        }
    }

    #[test]
    fn another_unit_is_refused() {
        for (declared, pattern, behind, fault) in [
            ("GB/s", "([0-9.]+)", " MB/s", "in MB/s, not in GB/s"),
            ("Gbits/sec", "([0-9.]+)", " Mbits/sec", "in Mbits/sec"),
            ("MB", "([0-9.]+)", "MiB", "in MiB, not in MB"),
            ("", "([0-9.]+)", "ms", "NAME:ms="),
            ("1/s", "Req/Sec +([0-9.]+)", "k   470.08", "ends in `k`"),
        ] {
            let error = factor(declared, pattern, behind).expect_err(behind);
            assert!(error.contains(fault), "{error}");
        }
        assert_eq!(factor("", "([0-9.]+) ms", " ms"), Ok(1.0));
        assert_eq!(factor("k/s", "([0-9.]+)k", "k"), Ok(1.0));
    }
}
