//! wrk and wrk2.
//!
//! Source: `print_stats_latency` and `format_metric` (units) of wrk 4.1 and of wrk2. Numbers are
//! printed with two decimals of their unit, so three digits at the least are known.

use super::unit::exact_nanos;
use super::{Latency, Load, Pacing, ReadError, TimeUnit, Told, lines, number};
use crate::stats::Quantile;

pub(super) fn parse(bytes: &[u8], pacing: Pacing) -> Result<Told, ReadError> {
    let mut load = Load::default();
    let mut quantiles = Vec::new();
    let mut longest = None;
    let mut errors = 0;
    let mut within = false;
    for (line_number, line) in lines(bytes) {
        let fault = |field: &str, text: &str| {
            ReadError::at(
                line_number,
                field,
                format!("`{text}` is not what wrk prints there"),
            )
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // wrk2 -U prints a second table, of what was not corrected.
            ["Latency", "Distribution", ..] => {
                within = quantiles.is_empty() || !has_tail(&quantiles);
            }
            [percent, time] if within && percent.ends_with('%') => {
                let share = number(percent.trim_end_matches('%'));
                let share = share.ok_or_else(|| fault("percentile", percent))?;
                let seconds = time_of(time).ok_or_else(|| fault("latency", time))?;
                quantiles.extend(Quantile::of_percent(share).map(|q| (q, seconds)));
            }
            ["Latency", _, _, max, _] => {
                longest = Some(time_of(max).ok_or_else(|| fault("longest", max))?);
            }
            [count, "requests", "in", ..] => {
                load.requests = Some(count.parse().map_err(|_| fault("requests", count))?);
                within = false;
            }
            ["Socket", "errors:", ..] | ["Non-2xx", ..] => {
                errors += all_numbers(&line).ok_or_else(|| fault("errors", &line))?;
            }
            ["Requests/sec:", rate] => {
                load.throughput = vec![number(rate).ok_or_else(|| fault("rate", rate))?];
            }
            [] if within => within = !has_tail(&quantiles),
            _ => {}
        }
    }
    if load.throughput.is_empty() {
        return Err(ReadError::of("Requests/sec", "wrk printed no such line"));
    }
    if !has_tail(&quantiles) {
        return Err(ReadError::of(
            "Latency Distribution",
            "wrk printed none; give it --latency",
        ));
    }
    // wrk2 lists the longest as 100 %; the one above it is that of a sample.
    if !quantiles.iter().any(|(q, _)| *q == Quantile::Max) {
        quantiles.extend(longest.map(|seconds| (Quantile::Max, seconds)));
    }
    quantiles.sort_by_key(|(quantile, _)| *quantile);
    load.latency = Some(Latency::Quantiles(quantiles));
    load.errors = Some(errors);
    Ok(Told {
        loads: vec![load],
        pacing,
    })
}

fn has_tail(quantiles: &[(Quantile, f64)]) -> bool {
    quantiles.iter().any(|(q, _)| *q == Quantile::P99)
}

/// `250.00us`, `5.80ms`, `1.20s`, `1.50m`, `1.00h`.
fn time_of(text: &str) -> Option<f64> {
    let letters = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (value, unit) = text.split_at(letters);
    let nanos = match unit {
        "us" => exact_nanos(value, TimeUnit::Micros)?,
        "ms" => exact_nanos(value, TimeUnit::Millis)?,
        "s" => exact_nanos(value, TimeUnit::Seconds)?,
        "m" => TimeUnit::Seconds.to_nanos(number(value)? * 60.0)?,
        "h" => TimeUnit::Seconds.to_nanos(number(value)? * 3600.0)?,
        _ => return None,
    };
    Some(TimeUnit::Nanos.to_seconds(nanos as f64))
}

/// The sum of the numbers after the colon.
fn all_numbers(line: &str) -> Option<u64> {
    let (_, list) = line.split_once(':')?;
    let last = |part: &str| part.split_whitespace().next_back()?.parse::<u64>().ok();
    list.split(',')
        .try_fold(0_u64, |sum, part| sum.checked_add(last(part)?))
}
