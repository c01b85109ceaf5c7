//! Metrics that the workload prints itself: `--metric 'NAME[:UNIT][:lower|:higher]=REGEX'`.

use std::str::FromStr;

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use crate::base::missing::Missing;
use crate::run::metric;
use crate::run::metric::Better;
use crate::run::trial::Reading;

/// A metric that is read from what the workload prints.
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
    /// Reads the metric from the workload's output: one match is a value, several are the
    /// values of one trial.
    #[must_use]
    pub fn read(&self, output: &str) -> Reading {
        let Ok(pattern) = compile(&self.pattern) else {
            return unreadable(format!("`{}` is not a regular expression", self.pattern));
        };
        let mut values = Vec::new();
        for found in pattern.captures_iter(output) {
            let Some(text) = found.get(1) else { continue };
            match text.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() => values.push(value),
                _ => return unreadable(format!("`{}` is not a number", text.as_str())),
            }
        }
        match values.as_slice() {
            [] => Reading::missing(Missing::NotPrinted),
            [value] => Reading::of(*value),
            _ => Reading::Values { values },
        }
    }
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
