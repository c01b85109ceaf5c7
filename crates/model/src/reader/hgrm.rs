//! The table of percentiles that HdrHistogram prints (`outputPercentileDistribution`), alone or
//! within the output of wrk2.

use super::unit::exact_nanos;
use super::{Latency, Load, Pacing, ReadError, TimeUnit, Told, lines, number};
use crate::latency::distribution::{Distribution, Grain};

pub(super) fn parse(bytes: &[u8], unit: TimeUnit) -> Result<Told, ReadError> {
    let mut all = Distribution::new(Grain::Listed, 1);
    let mut before = (0, 0);
    let mut within = false;
    for (line_number, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Value", "Percentile", "TotalCount", ..] => within = true,
            [first, ..] if within && first.starts_with('#') => break,
            [value, percentile, count, ..] if within => {
                let fault = |field: &str, text: &str| {
                    ReadError::at(line_number, field, format!("`{text}` does not follow"))
                };
                let ns = exact_nanos(value, unit).filter(|ns| *ns >= before.0);
                let ns = ns.ok_or_else(|| fault("Value", value))?;
                number(percentile).ok_or_else(|| fault("Percentile", percentile))?;
                let count = count.parse().ok().filter(|count| *count >= before.1);
                let count: u64 = count.ok_or_else(|| fault("TotalCount", words[2]))?;
                all.add(ns, count - before.1);
                before = (ns, count);
            }
            _ => {}
        }
    }
    if all.count() == 0 {
        return Err(ReadError::of("table", "there is no table of percentiles"));
    }
    Ok(Told {
        loads: vec![Load {
            requests: Some(all.count()),
            latency: Some(Latency::Counted(all)),
            ..Load::default()
        }],
        pacing: Pacing::Unknown,
    })
}
