//! The log of every transaction that `pgbench -l` writes.
//!
//! Source: "Per-Transaction Logging" in PostgreSQL's manual and `doLog` of pgbench.c: `client
//! transaction time script epoch µs [lag] [retries]`; `time` is in microseconds, or `skipped`,
//! `failed` and their kinds. With `--rate` the time runs from when the transaction was due.

use super::{Latency, Load, Pacing, ReadError, Timed, Told, lines};
use crate::latency::distribution::{Distribution, Grain};

pub(super) fn parse(bytes: &[u8]) -> Result<Told, ReadError> {
    let mut all = Distribution::new(Grain::Bucket, 1_000);
    let (mut span, mut timed) = (Span::default(), Vec::new());
    let (mut errors, mut skipped, mut longest_seventh, mut fewest) = (0, 0, 0, usize::MAX);
    for (number, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if !(6..=8).contains(&words.len()) {
            return Err(ReadError::at(
                number,
                "transaction",
                not_a_transaction(words.len()),
            ));
        }
        let whole = |index: usize, field: &str| {
            words[index].parse::<u64>().map_err(|_| {
                ReadError::at(
                    number,
                    field,
                    format!("`{}` is not a whole number", words[index]),
                )
            })
        };
        let (seconds, micros) = (whole(4, "time_epoch")?, whole(5, "time_us")?);
        fewest = fewest.min(words.len());
        match words[2] {
            "skipped" => skipped += 1,
            failure if failure.starts_with(|c: char| c.is_ascii_alphabetic()) => errors += 1,
            _ => {
                let took = whole(2, "time")?;
                let ns = took
                    .checked_mul(1_000)
                    .ok_or_else(|| ReadError::at(number, "time", "it is centuries"))?;
                all.add(ns, 1);
                timed.push(Timed {
                    ended_unix_ns: since_1970_ns(seconds, micros),
                    took_ns: ns,
                });
                span.add(seconds as f64 + micros as f64 * 1e-6, took as f64 * 1e-6);
            }
        }
        if words.len() >= 7 && words[6] != "-" {
            longest_seventh = longest_seventh.max(whole(6, "schedule_lag")?);
        }
    }
    if all.count() == 0 {
        return Err(ReadError::of("log", "it holds no transaction"));
    }
    // One column more is the lag behind the rate, or how often a transaction was tried again;
    // nothing is tried again a hundred times.
    let pacing = match fewest {
        6 => Pacing::Closed,
        7 if longest_seventh < 100 && skipped == 0 => Pacing::Unknown,
        _ => Pacing::Open,
    };
    Ok(Told {
        loads: vec![Load {
            requests: Some(all.count()),
            throughput: span.rate(all.count()).into_iter().collect(),
            latency: Some(Latency::Counted(all)),
            errors: Some(errors + skipped),
            timed,
            ..Load::default()
        }],
        pacing,
    })
}

fn since_1970_ns(seconds: u64, micros: u64) -> u64 {
    let seconds = seconds.saturating_mul(1_000_000_000);
    seconds.saturating_add(micros.saturating_mul(1_000))
}

fn not_a_transaction(columns: usize) -> String {
    let hint = if columns > 8 {
        "; a log with --aggregate-interval holds no single transactions"
    } else {
        ""
    };
    format!("it has {columns} columns instead of 6 to 8{hint}")
}

/// From the beginning of the first transaction to the end of the last, in seconds.
#[derive(Default)]
struct Span(Option<(f64, f64)>);

impl Span {
    fn add(&mut self, end: f64, took: f64) {
        let (first, last) = self.0.unwrap_or((end - took, end));
        self.0 = Some((first.min(end - took), last.max(end)));
    }

    fn rate(&self, count: u64) -> Option<f64> {
        let (first, last) = self.0?;
        (last > first).then(|| count as f64 / (last - first))
    }
}
