//! Points in time of a plan: RFC 3339 or seconds since 1970.

use serde::{Deserialize, Deserializer};

use hugewise_base::calendar;

/// Seconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse() {
            return Ok(Self(seconds));
        }
        let found = calendar::moment(text).map(|(seconds, _)| Self(seconds));
        found.ok_or_else(|| {
            format!(
                "`{text}` is no moment; write 2026-12-01T00:00:00Z, with the offset from UTC, or \
                 seconds since 1970"
            )
        })
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::Integer(seconds) => return Ok(Self(seconds)),
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_with_its_offset() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2026-11-21T05:45:59Z", 1_795_239_959),
            ("2026-11-21T06:45:59+01:00", 1_795_239_959),
            ("1795239959", 1_795_239_959),
        ] {
            assert_eq!(text.parse(), Ok(Moment(seconds)), "{text}");
        }
        for text in ["2026-11-21", "2026-11-21T05:45:59", "tomorrow", ""] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
