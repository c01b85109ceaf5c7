//! Moments of a plan: RFC 3339 or seconds since 1970.

use serde::{Deserialize, Deserializer};
use toml::value::{Datetime, Offset};

use hugewise_base::calendar::days_since_1970;

/// Seconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse() {
            return Ok(Self(seconds));
        }
        let fault = || {
            format!(
                "`{text}` is no moment; write 2026-12-01T00:00:00Z, with the offset from UTC, or \
                 seconds since 1970"
            )
        };
        let parsed: Datetime = text.parse().map_err(|_| fault())?;
        of_datetime(&parsed).ok_or_else(fault)
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

/// Without its offset a time means another moment on every host, so it is none.
fn of_datetime(parsed: &Datetime) -> Option<Moment> {
    let (date, time) = (parsed.date?, parsed.time?);
    let east = match parsed.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes) * 60,
    };
    let days = days_since_1970(date.year.into(), date.month.into(), date.day.into());
    let (hour, minute) = (i64::from(time.hour), i64::from(time.minute));
    let second = i64::from(time.second.unwrap_or(0));
    Some(Moment(
        days * 86_400 + hour * 3600 + minute * 60 + second - east,
    ))
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
