//! `collapse=`: when resident memory is made huge.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::parse_duration;

/// `collapse=`: once or periodically. The time counts from the start of the program.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(try_from = "String", into = "String")]
pub enum Collapse {
    /// `after:TIME`: once, at that time.
    After(Duration),
    /// `every:TIME`: at that time, and then at this interval.
    Every(Duration),
}

/// As it is offered.
pub(super) const OFFERED: &str = "after:TIME|every:TIME";

impl Collapse {
    /// The time of the first pass, and the interval between passes.
    #[must_use]
    pub fn time(self) -> Duration {
        match self {
            Self::After(time) | Self::Every(time) => time,
        }
    }

    /// As a clause: `after 2s`, `every 500ms`.
    #[must_use]
    pub fn clause(self) -> String {
        self.to_string().replace(':', " ")
    }
}

impl fmt::Display for Collapse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, time) = match self {
            Self::After(time) => ("after", time),
            Self::Every(time) => ("every", time),
        };
        match time.as_millis() {
            whole if whole % 1000 == 0 => write!(f, "{word}:{}s", whole / 1000),
            milliseconds => write!(f, "{word}:{milliseconds}ms"),
        }
    }
}

impl FromStr for Collapse {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("`collapse={text}`: expected after:TIME or every:TIME, as in after:2s");
        let (word, time) = text.split_once(':').ok_or_else(expected)?;
        let time = parse_duration(time)?;
        // Longer than any program runs, but safe to add to any other time.
        const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
        let milliseconds = u64::try_from(time.min(LONGEST).as_millis()).unwrap_or(u64::MAX);
        let time = Duration::from_millis(milliseconds);
        let shortest = match word {
            "after" => Duration::from_millis(1),
            "every" => Duration::from_millis(10),
            _ => return Err(expected()),
        };
        if time < shortest {
            let least = shortest.as_millis();
            return Err(format!("`collapse={text}`: at least {least}ms"));
        }
        Ok(match word {
            "after" => Self::After(time),
            _ => Self::Every(time),
        })
    }
}

impl TryFrom<String> for Collapse {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Collapse> for String {
    fn from(collapse: Collapse) -> Self {
        collapse.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_in_their_shortest_form() {
        for (text, canonical) in [
            ("after:2s", "after:2s"),
            ("after:0.5s", "after:500ms"),
            ("every:1m", "every:60s"),
            ("every:250ms", "every:250ms"),
            ("after:3", "after:3s"),
        ] {
            let collapse: Collapse = text.parse().unwrap();
            assert_eq!(collapse.to_string(), canonical);
            assert_eq!(canonical.parse(), Ok(collapse));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for (text, word) in [
            ("2s", "expected after:TIME or every:TIME"),
            ("later:2s", "expected after:TIME"),
            ("after:soon", "is not a duration"),
            ("after:0s", "at least 1ms"),
            ("every:1ms", "at least 10ms"),
        ] {
            let error = text.parse::<Collapse>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
