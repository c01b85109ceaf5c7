//! Metrics printed by the workload: `--metric 'NAME[:UNIT][:lower|:higher]=REGEX'`.

use std::ops::Range;
use std::str::FromStr;

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use crate::base::missing::Missing;
use crate::run::metric;
use crate::run::metric::Better;
use crate::run::plan::{printed_number, printed_unit};
use crate::run::trial::Reading;

/// A metric parsed from the workload's output.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PrintedMetric {
    /// Its name.
    pub name: String,
    /// Regular expression whose first group is the number; `^` and `$` match at lines.
    pub pattern: String,
    /// Unit, as it is shown; may be empty.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

impl PrintedMetric {
    /// Reads the metric from the workload's output: one match is a value. Several are the values of one trial if their
    /// lines differ only in numbers. Otherwise they are different figures, and the metric is not read.
    #[must_use]
    pub fn read(&self, output: &str) -> Reading {
        let Ok(pattern) = compile(&self.pattern) else {
            return unreadable(format!("`{}` is not a regular expression", self.pattern));
        };
        let groups = pattern.captures_iter(output);
        let groups: Vec<Range<usize>> = groups.filter_map(|it| Some(it.get(1)?.range())).collect();
        let values = groups.iter().map(|group| self.value(output, group));
        let values: Vec<f64> = match values.collect() {
            Ok(values) => values,
            Err(error) => return unreadable(error),
        };
        if let Some(error) = different_figures(output, &groups, &values) {
            return unreadable(error);
        }
        match values.as_slice() {
            [] => Reading::missing(Missing::NotPrinted),
            [value] => Reading::of(*value),
            _ => Reading::Values { values },
        }
    }

    /// Returns the number of a group, in the unit of the metric.
    fn value(&self, output: &str, group: &Range<usize>) -> Result<f64, String> {
        let value = printed_number::read(output, group.clone(), &self.pattern)?;
        let behind = &output[printed_number::end_of_exponent(output, group.clone())..];
        let factor = printed_unit::factor(&self.unit, &self.pattern, behind)?;
        Ok(value * factor)
    }
}

/// The most numbers to list.
const NAMED: usize = 4;

/// Returns the error for matches that are figures of different things: "… (mean)" and "… (all)".
fn different_figures(output: &str, groups: &[Range<usize>], values: &[f64]) -> Option<String> {
    let differ = values.iter().any(|value| *value != values[0]);
    let first = surroundings(output, groups.first()?);
    let mut others = groups.iter().map(|group| surroundings(output, group));
    if !differ || others.all(|other| other == first) {
        return None;
    }
    let named: Vec<String> = values.iter().take(NAMED).map(f64::to_string).collect();
    let named = match (named.as_slice(), values.len() > NAMED) {
        ([all @ .., last], false) => format!("{} and {last}", all.join(", ")),
        _ => format!("{}, …", named.join(", ")),
    };
    let count = values.len();
    Some(format!(
        "it matches {count} numbers in different lines: {named}; make the pattern match one"
    ))
}

/// Returns the text before and after a group in its line, with a mark for each number.
fn surroundings(output: &str, group: &Range<usize>) -> [String; 2] {
    let before = output[..group.start].rsplit('\n').next();
    let behind = output[group.end..].split('\n').next();
    [before, behind].map(|text| without_numbers(text.unwrap_or_default()))
}

fn without_numbers(text: &str) -> String {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | ' ');
    let mut plain = String::new();
    for letter in text.chars() {
        match is_of_number(letter) || letter.is_whitespace() {
            true if plain.ends_with('#') => {}
            true => plain.push('#'),
            false => plain.push(letter),
        }
    }
    plain
}

fn unreadable(error: String) -> Reading {
    Reading::missing(Missing::Unreadable { error })
}

fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

impl FromStr for PrintedMetric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, pattern) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` has no `=`; write NAME=REGEX, for example 'tps:1/s:higher=tps = ([0-9.]+)'")
        })?;
        let mut parts = head.split(':');
        let name = checked_name(parts.next().unwrap_or_default())?;
        let (mut unit, mut better) = (String::new(), Better::Neither);
        for part in parts {
            match part {
                "lower" => better = Better::Lower,
                "higher" => better = Better::Higher,
                other if unit.is_empty() => other.clone_into(&mut unit),
                other => {
                    return Err(format!(
                        "`{other}` in `{head}`: a metric has one unit and one direction (lower or higher)"
                    ));
                }
            }
        }
        let compiled = compile(pattern).map_err(|error| format!("metric {name}: {error}"))?;
        if compiled.captures_len() < 2 {
            return Err(format!(
                "metric {name}: `{pattern}` has no group; put the number in parentheses, for example ([0-9.]+)"
            ));
        }
        Ok(Self {
            name,
            pattern: pattern.to_owned(),
            unit,
            better,
        })
    }
}

fn checked_name(name: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(format!(
            "`{name}` is not a name for a metric; use letters, digits and underscores"
        ));
    }
    if metric::measured(name).is_some() {
        return Err(format!("`{name}` is measured already; choose another name"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn metric(text: &str) -> PrintedMetric {
        text.parse().expect("a good metric")
    }

    #[test]
    fn one_match_is_a_value_and_several_are_values() {
        let tps = metric(r"tps:1/s:higher=tps = ([0-9.]+)");
        assert_eq!((tps.unit.as_str(), tps.better), ("1/s", Better::Higher));
        assert_eq!(tps.read("x\ntps = 12.5\n"), Reading::of(12.5));
        assert_eq!(
            tps.read("tps = 1\ntps = 2\n"),
            Reading::Values {
                values: vec![1.0, 2.0]
            }
        );
        assert_eq!(tps.read("nothing"), Reading::missing(Missing::NotPrinted));
    }

    fn error(metric: &PrintedMetric, output: &str) -> String {
        match metric.read(output) {
            Reading::Missing {
                missing: Missing::Unreadable { error },
            } => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figures_of_different_things_are_none() {
        let ab = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/loadgen/ab.txt"
        ));
        let time = metric(r"t:ms:lower=Time per request:\s+([0-9.]+)");
        assert_eq!(
            error(&time, ab),
            "it matches 2 numbers in different lines: 21.217 and 0.212; make the pattern match one"
        );
        let ycsb = "[READ], AverageLatency(us), 2870.5\n[UPDATE], AverageLatency(us), 310.0\n";
        let latency = metric(r"t:us:lower=AverageLatency\(us\), ([0-9.]+)");
        assert!(error(&latency, ycsb).contains("2870.5 and 310;"));
        let bandwidth = metric("r:MB/s:higher=([0-9.]+) MB/s");
        let stream = "Copy: 9 MB/s\nScale: 8 MB/s\nAdd: 7 MB/s\nTriad: 6 MB/s\nX: 5 MB/s\n";
        assert!(error(&bandwidth, stream).contains("5 numbers in different lines: 9, 8, 7, 6, …"));
        let line = "min 5 MB/s, max 9 MB/s";
        assert!(error(&bandwidth, line).contains("5 and 9"));
        // Two equal lines for two seconds are the values of one trial.
        let seconds = "second 1:  5 MB/s at 2.5 s\nsecond 10: -9 MB/s at 11 s\n";
        let bandwidth = metric("r:MB/s:higher=(-?[0-9.]+) MB/s");
        assert_eq!(
            bandwidth.read(seconds),
            Reading::Values {
                values: vec![5.0, -9.0]
            }
        );
        let twice = "run: 5 MB/s\nbest: 5 MB/s\n";
        assert_eq!(
            bandwidth.read(twice),
            Reading::Values {
                values: vec![5.0, 5.0]
            }
        );
    }

    #[test]
    fn a_time_is_read_in_its_own_unit() {
        let p99 = metric(r"p99:ms:lower=99% +([0-9.]+)");
        assert_eq!(p99.read("  99%   577.28ms\n"), Reading::of(577.28));
        assert_eq!(p99.read("  99%     1.21s\n"), Reading::of(1210.0));
        let rate = metric(r"rate:GB/s:higher=copied.* ([0-9.]+)");
        assert_eq!(rate.read("copied, 0.5 s, 2.1 GB/s"), Reading::of(2.1));
        assert!(error(&rate, "copied, 1.1 s, 987 MB/s").contains("in MB/s, not in GB/s"));
    }

    #[test]
    fn what_is_not_a_number_is_said() {
        let Reading::Missing {
            missing: Missing::Unreadable { error },
        } = metric("n=n=(.*)$").read("n=abc")
        else {
            panic!("must be unreadable")
        };
        assert!(error.contains("abc"), "{error}");
    }

    #[test]
    fn bad_metrics_name_the_fault() {
        for (text, fault) in [
            ("x", "no `=`"),
            ("=a(b)", "not a name"),
            ("wall_seconds=(.)", "measured already"),
            ("x=abc", "no group"),
            ("x=(", "x:"),
            ("x:ms:lower:s=(.)", "one unit"),
        ] {
            let error = text.parse::<PrintedMetric>().expect_err(text);
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", output in ".*") {
            if let Ok(metric) = text.parse::<PrintedMetric>() {
                let _ = metric.read(&output);
            }
        }
    }
}
