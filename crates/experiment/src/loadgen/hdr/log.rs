//! Interval logs: one histogram per interval and line.
//!
//! Source: `HistogramLogWriter` and `HistogramLogReader` of HdrHistogram.

use super::super::{Latency, Load, LoadReport, ReadError, lines, number};
use super::decode;
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::TimeUnit;
use crate::run::trial::{Pacing, RequestInterval};

/// Times relative to the beginning of a log are smaller than it by at least this, in seconds (a year;
/// `HistogramLogReader`).
const RELATIVE: f64 = 365.0 * 86_400.0;

/// An interval log: comments, a legend, and lines of `[Tag=NAME,]start,length,max,histogram`. All intervals and tags
/// are added up.
pub(in super::super) fn parse_log(bytes: &[u8], unit: TimeUnit) -> Result<LoadReport, ReadError> {
    let mut all = Distribution::new(Grain::Bucket, 1);
    let (mut seconds, mut intervals, mut base) = (0.0, Vec::new(), Base::default());
    let whole_lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    for (at, line) in lines(bytes) {
        let line = line.trim();
        base.hear(line);
        if line.is_empty() || line.starts_with(['#', '"']) {
            continue;
        }
        let (row, part) = match interval(at, line, unit) {
            Ok(read) => read,
            // The last line is torn if the writer was killed; the others are complete.
            Err(_) if at > whole_lines && !intervals.is_empty() => break,
            Err(error) => return Err(error),
        };
        all.merge(&part);
        seconds += row.length;
        intervals.push(row.interval(base.of(row.start), part));
    }
    if intervals.is_empty() {
        return Err(ReadError::of("log", "it holds no interval"));
    }
    // Intervals with different tags overlap, so their lengths do not add up to elapsed time.
    let tagged = lines(bytes).any(|(_, line)| line.trim_start().starts_with("Tag="));
    let throughput = (seconds > 0.0 && !tagged).then(|| all.count() as f64 / seconds);
    Ok(LoadReport {
        loads: vec![Load {
            requests: Some(all.count()),
            latency: Some(Latency::Counted(all)),
            throughput: throughput.into_iter().collect(),
            intervals,
            ..Load::default()
        }],
        pacing: Pacing::Unknown,
    })
}

/// One line and its histogram.
fn interval(at: usize, line: &str, unit: TimeUnit) -> Result<(Row<'_>, Distribution), ReadError> {
    let row = Row::of(line).map_err(|problem| ReadError::at(at, "interval", problem))?;
    let part = decode(row.histogram, unit);
    let part = part.map_err(|problem| ReadError::at(at, "histogram", problem))?;
    Ok((row, part))
}

/// The reference of interval starts, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    start: Option<f64>,
    base: Option<f64>,
}

impl Base {
    /// Takes it from a comment line that specifies it.
    fn hear(&mut self, line: &str) {
        let after = |word: &str| {
            let rest = line.strip_prefix(word)?.trim_start();
            number(rest.split([' ', ']']).next()?)
        };
        self.start = after("#[StartTime:").or(self.start);
        self.base = after("#[BaseTime:").or(self.base);
    }

    /// The time since 1970 to which a start like this is relative.
    fn of(&mut self, start: f64) -> f64 {
        // The first interval decides for all, as in the library.
        let first = self.start.unwrap_or(start);
        let relative = start < first - RELATIVE;
        *self.base.get_or_insert(if relative { first } else { 0.0 })
    }
}

/// One line.
struct Row<'a> {
    /// Seconds, on the log's own clock.
    start: f64,
    /// Seconds.
    length: f64,
    histogram: &'a str,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Result<Self, String> {
        let mut fields = line.split(',').peekable();
        fields.next_if(|field| field.starts_with("Tag="));
        let (Some(start), Some(length), Some(_), Some(histogram), None) = (
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
        ) else {
            return Err("expected [Tag=NAME,]start,length,max,histogram".to_owned());
        };
        let seconds = |text: &str, what: &str| {
            number(text).ok_or_else(|| format!("`{text}` is not a {what}"))
        };
        Ok(Self {
            start: seconds(start, "start")?,
            length: seconds(length, "length")?,
            histogram: histogram.trim(),
        })
    }

    fn interval(&self, base: f64, requests: Distribution) -> RequestInterval {
        let from = base + self.start;
        // Times before 1970 become 1970, and so are outside of every trial.
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        RequestInterval {
            from_unix_ns: nanoseconds(from),
            to_unix_ns: nanoseconds(from + self.length),
            requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = include_str!("../../../../../fixtures/readers/hdr.hlog");

    /// Beginning and length of the intervals, in milliseconds, and their requests.
    fn intervals(log: &str) -> Vec<(u64, u64, u64)> {
        let report = parse_log(log.as_bytes(), TimeUnit::Nanos).unwrap();
        let intervals = report.loads[0].intervals.iter();
        intervals
            .map(|it| {
                let ms = it.from_unix_ns.next_multiple_of(1000) / 1_000_000;
                (ms, it.length_ns().div_ceil(1_000_000), it.requests.count())
            })
            .collect()
    }

    #[test]
    fn intervals_have_times_since_1970() {
        let own = intervals(LOG);
        let begins: Vec<u64> = own.iter().map(|(begin, ..)| *begin).collect();
        let base = 1_700_000_000_000;
        assert_eq!(begins, [base, base + 1000, base + 2000]);
        assert!(
            own.iter()
                .all(|(_, length, count)| *length == 1000 && *count > 0)
        );
        // Without a base, starts far before the beginning are relative to it.
        assert_eq!(intervals(&LOG.replace("BaseTime", "Other")), own);
        // Others are absolute times.
        let absolute = LOG.replace("BaseTime", "Other");
        let absolute = absolute.replace("\n0.000,", "\n1700000000.000,");
        let absolute = absolute.replace("\n1.000,", "\n1700000001.000,");
        let absolute = absolute.replace(",2.000,1.000", ",1700000002.000,1.000");
        assert_eq!(intervals(&absolute), own);
        // A log without a reference has absolute times.
        let bare = LOG.replace("BaseTime", "A").replace("StartTime:", "B");
        assert_eq!(intervals(&bare)[0].0, 0);
    }

    #[test]
    fn a_start_is_a_number() {
        let error = parse_log(b"now,1,2,x\n", TimeUnit::Nanos).unwrap_err();
        assert_eq!(error.to_string(), "line 1, interval: `now` is not a start");
    }
}
