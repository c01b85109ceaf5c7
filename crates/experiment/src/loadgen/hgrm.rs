//! The table of percentiles that HdrHistogram prints (`outputPercentileDistribution`), on its own or in the output of
//! wrk2.

use super::moment::exact_nanos;
use super::{Latency, Load, LoadReport, ReadError, lines, number};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

/// Table values at most this close are as exact as their buckets.
const AS_EXACT: u64 = 256;

pub(super) fn parse(bytes: &[u8], unit: TimeUnit) -> Result<LoadReport, ReadError> {
    let all = distribution(&rows(bytes, unit)?, unit);
    if all.count() == 0 {
        return Err(ReadError::of("table", "there is no table of percentiles"));
    }
    Ok(LoadReport {
        loads: vec![Load {
            requests: Some(all.count()),
            latency: Some(Latency::Counted(all)),
            ..Load::default()
        }],
        pacing: Pacing::Unknown,
    })
}

fn rows(bytes: &[u8], unit: TimeUnit) -> Result<Vec<Row>, ReadError> {
    let mut table = Table::default();
    for (line, text) in lines(bytes) {
        table.read(line, &text, unit)?;
    }
    if table.place == Place::Within && !table.is_whole {
        let problem =
            "the table is cut off: neither 100 % nor the line with its Total count follows";
        return Err(ReadError::of("table", problem));
    }
    table.rows.retain(|row| row.count > 0);
    Ok(table.rows)
}

/// The position of a line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Within,
    Behind,
    /// After a table, if another one without corrections follows (wrk2 -U).
    Uncorrected,
}

/// A table of percentiles, as far as read.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    place: Place,
    /// The largest value in nanoseconds, and the count up to it.
    last: (u64, u64),
    /// True if the last row is the one for 100 %.
    is_whole: bool,
}

impl Table {
    fn read(&mut self, line: usize, text: &str, unit: TimeUnit) -> Result<(), ReadError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (self.place, words.as_slice()) {
            (Place::Before, ["Value", "Percentile", "TotalCount", ..]) => {
                self.place = Place::Within;
            }
            (Place::Within | Place::Behind, ["Value", "Percentile", "TotalCount", ..]) => {
                let problem = "a second table follows; let the load print one";
                return Err(ReadError::at(line, "table", problem));
            }
            (Place::Within | Place::Behind, [first, ..]) if first.starts_with('#') => {
                self.place = Place::Behind;
                return self.check_total(line, text);
            }
            (Place::Behind, _) if text.contains("Uncorrected") => self.place = Place::Uncorrected,
            (Place::Within, [value, percentile, count, ..]) => {
                return self.add(line, [value, percentile, count], unit);
            }
            _ => {}
        }
        Ok(())
    }

    fn add(
        &mut self,
        line: usize,
        [value, percentile, count]: [&str; 3],
        unit: TimeUnit,
    ) -> Result<(), ReadError> {
        let fault = |field: &str, text: &str| {
            ReadError::at(line, field, format!("`{text}` does not follow"))
        };
        // Both have decimals, so a comma in both comes from the locale.
        let [value, percentile] = match percentile.contains(',') {
            true => [value, percentile].map(|text| text.replace(',', ".")),
            false => [value, percentile].map(str::to_owned),
        };
        let ns = exact_nanos(&value, unit).filter(|ns| *ns >= self.last.0);
        let ns = ns.ok_or_else(|| fault("Value", &value))?;
        let share = number(&percentile).ok_or_else(|| fault("Percentile", &percentile))?;
        let total = count.parse().ok().filter(|total| *total >= self.last.1);
        let total: u64 = total.ok_or_else(|| fault("TotalCount", count))?;
        self.rows.push(Row {
            after: self.last.0,
            ns,
            count: total - self.last.1,
        });
        self.last = (ns, total);
        self.is_whole = share >= 1.0;
        Ok(())
    }

    /// Compares the rows with the count below them.
    fn check_total(&self, line: usize, text: &str) -> Result<(), ReadError> {
        let Some((_, total)) = text.split_once("Total count") else {
            return Ok(());
        };
        let total = total.trim_matches(|c: char| !c.is_ascii_digit());
        match total.parse::<u64>() {
            Ok(total) if total == self.last.1 => Ok(()),
            _ => {
                let problem = format!("`{total}`, but the rows count {}", self.last.1);
                Err(ReadError::at(line, "Total count", problem))
            }
        }
    }
}

/// Requests that took longer than `after` nanoseconds, and no longer than `ns`.
struct Row {
    after: u64,
    ns: u64,
    count: u64,
}

/// The distribution in the rows. A table that lists a value just below each of its steps (a thousandth of its unit,
/// which is its last digit) gives all values exactly. One with steps of some percent does not show the position of a
/// request between two of its values.
fn distribution(rows: &[Row], unit: TimeUnit) -> Distribution {
    let digit = exact_nanos("0.001", unit).unwrap_or(1).max(1);
    let is_exact = |row: &Row| {
        let width = row.ns - row.after;
        width <= digit || width.saturating_mul(AS_EXACT) <= row.ns
    };
    let (grain, step) = match rows.iter().all(is_exact) {
        true => (Grain::Bucket, digit),
        false => (Grain::Listed, 1),
    };
    let mut all = Distribution::new(grain, step);
    for row in rows {
        all.add(row.ns, row.count);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str) -> Distribution {
        let text = format!("Value Percentile TotalCount\n{table}");
        let report = parse(text.as_bytes(), TimeUnit::Millis).expect("a table");
        match report
            .loads
            .into_iter()
            .next()
            .and_then(|load| load.latency)
        {
            Some(Latency::Counted(all)) => all,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_between_which_nothing_lies_are_exact() {
        let exact = read("0.099 0 0\n0.100 0.5 5\n7.999 0.5 5\n8.000 1 10\n");
        assert_eq!(exact.count(), 10);
        assert_eq!(exact.quantile_ns(0.5), Some(100_095));
        assert!(exact.uncertainty(100_000) <= 0.011, "a microsecond of 100");
        assert!(exact.uncertainty(8_000_000) <= 1.0 / 256.0);
        // The same without the values below: the second five may be anywhere above 0.1 ms.
        let listed = read("0.100 0.5 5\n8.000 1 10\n");
        assert_eq!(listed.count(), 10);
        assert!(listed.uncertainty(8_000_000) > 70.0);
    }
}
