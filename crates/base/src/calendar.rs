//! Dates of the Gregorian calendar in UTC. Years are counted from 1 March, so that the leap day is
//! the last of its year.

use toml::value::{Datetime, Offset};

/// Formats a time for file names, as `20261121T054559Z`.
#[must_use]
pub fn stamp(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// `2026-11-21`, in UTC.
#[must_use]
pub fn date(unix_ms: u64) -> String {
    let (year, month, day) = civil(unix_ms / 86_400_000);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-11-21 05:45`, in UTC.
#[must_use]
pub fn minute(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{} {hour:02}:{minute:02}", date(unix_ms))
}

/// `2026-11-21 05:45:59`, in UTC.
#[must_use]
pub fn second(unix_ms: u64) -> String {
    format!("{}:{:02}", minute(unix_ms), unix_ms / 1000 % 60)
}

/// Returns the date this many days after 1970-01-01: year, month, day.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Parses a moment in RFC 3339 into seconds and nanoseconds since 1970. `None` without an offset from UTC: such a time
/// would mean another moment on every host.
#[must_use]
pub fn moment(text: &str) -> Option<(i64, u32)> {
    let parsed: Datetime = text.trim().parse().ok()?;
    let (date, time) = (parsed.date?, parsed.time?);
    let east = match parsed.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes) * 60,
    };
    let days = days_since_1970(date.year.into(), date.month.into(), date.day.into());
    let (hour, minute) = (i64::from(time.hour), i64::from(time.minute));
    let second = i64::from(time.second.unwrap_or(0));
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - east;
    Some((seconds, time.nanosecond.unwrap_or(0)))
}

/// Returns the days from 1970-01-01 to a date, negative before.
#[must_use]
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_their_names() {
        assert_eq!(stamp(0), "19700101T000000Z");
        assert_eq!(stamp(951_782_400_000), "20000229T000000Z");
        assert_eq!(stamp(1_795_239_959_000), "20261121T054559Z");
        assert_eq!(second(1_795_239_959_999), "2026-11-21 05:45:59");
        assert_eq!(minute(1_795_239_959_000), "2026-11-21 05:45");
    }

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for days in (0..100_000).step_by(37) {
            let (year, month, day) = civil(days);
            let [year, month, day, days] = [year, month, day, days].map(u64::cast_signed);
            assert_eq!(days_since_1970(year, month, day), days);
        }
    }
}
