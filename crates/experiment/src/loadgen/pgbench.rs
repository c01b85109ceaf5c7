//! The log of every transaction that `pgbench -l` writes.
//!
//! Source: "Per-Transaction Logging" in PostgreSQL's manual and `doLog` of pgbench.c:
//! `client transaction time script epoch µs [lag] [retries]`; `time` is in microseconds, or `skipped`, `failed` and
//! their kinds. With `--rate`, the time runs from the scheduled start of the transaction.

use super::{Latency, Load, LoadReport, ReadError, lines};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::trial::{Pacing, Timed};

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let mut log = Log::default();
    for (number, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words.is_empty() {
            log.add(&Transaction::parse(number, words)?)?;
        }
    }
    if log.all.count() + log.failed + log.skipped == 0 {
        return Err(ReadError::of("log", "it holds no transaction"));
    }
    let pacing = log.pacing();
    Ok(LoadReport {
        loads: vec![Load {
            requests: Some(log.all.count()),
            throughput: log.span.rate(log.all.count()).into_iter().collect(),
            latency: Some(Latency::Counted(log.all)),
            errors: Some(log.failed + log.skipped),
            timed: log.timed,
            ..Load::default()
        }],
        pacing,
    })
}

/// The smallest valid time since 1970 of a log, in seconds (September 2001); larger than any client number.
const EPOCH: u64 = 1_000_000_000;

const NO_SINGLE: &str = "a log with --aggregate-interval holds no single transactions";

const AGGREGATED: &str = "column 1 is a time since 1970: a log with --aggregate-interval holds no \
     single transactions; leave that out";

/// One line, with the largest possible number of columns.
struct Transaction<'a> {
    line: usize,
    words: Vec<&'a str>,
    seconds: u64,
    micros: u64,
}

impl<'a> Transaction<'a> {
    fn parse(line: usize, words: Vec<&'a str>) -> Result<Self, ReadError> {
        if !(6..=8).contains(&words.len()) {
            let problem = not_a_transaction(words.len());
            return Err(ReadError::at(line, "transaction", problem));
        }
        if whole(line, "client_id", words[0])? >= EPOCH {
            return Err(ReadError::at(line, "client_id", AGGREGATED));
        }
        let one = Self {
            line,
            seconds: whole(line, "time_epoch", words[4])?,
            micros: whole(line, "time_us", words[5])?,
            words,
        };
        one.check_time().map(|()| one)
    }

    /// Refuses other tables with as many columns.
    fn check_time(&self) -> Result<(), ReadError> {
        let fault = |field: &str, word: &str, what: &str| {
            let problem = format!("`{word}` is not {what}: this is no line of `pgbench -l`");
            Err(ReadError::at(self.line, field, problem))
        };
        if self.seconds < EPOCH {
            return fault("time_epoch", self.words[4], "a time since 1970");
        }
        if self.micros >= 1_000_000 {
            return fault("time_us", self.words[5], "a part of a second");
        }
        Ok(())
    }

    /// Its duration, in microseconds.
    fn took(&self) -> Result<u64, ReadError> {
        whole(self.line, "time", self.words[2])
    }

    /// The lag behind the rate in microseconds, or the number of retries; `-` if it was skipped.
    fn seventh(&self) -> Result<Option<u64>, ReadError> {
        match self.words.get(6) {
            None | Some(&"-") => Ok(None),
            Some(word) => whole(self.line, "schedule_lag", word).map(Some),
        }
    }
}

/// The summary of all lines.
struct Log {
    all: Distribution,
    span: Span,
    timed: Vec<Timed>,
    failed: u64,
    skipped: u64,
    largest_seventh: u64,
    fewest_columns: usize,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            all: Distribution::new(Grain::Bucket, 1_000),
            span: Span::default(),
            timed: Vec::new(),
            failed: 0,
            skipped: 0,
            largest_seventh: 0,
            fewest_columns: usize::MAX,
        }
    }
}

impl Log {
    fn add(&mut self, one: &Transaction<'_>) -> Result<(), ReadError> {
        self.fewest_columns = self.fewest_columns.min(one.words.len());
        match one.words[2] {
            "skipped" => self.skipped += 1,
            failure if failure.starts_with(|c: char| c.is_ascii_alphabetic()) => self.failed += 1,
            _ => self.add_answered(one)?,
        }
        if let Some(seventh) = one.seventh()? {
            self.largest_seventh = self.largest_seventh.max(seventh);
        }
        Ok(())
    }

    fn add_answered(&mut self, one: &Transaction<'_>) -> Result<(), ReadError> {
        let took = one.took()?;
        let took_ns = took
            .checked_mul(1_000)
            .ok_or_else(|| ReadError::at(one.line, "time", "it is centuries"))?;
        self.all.add(took_ns, 1);
        self.timed.push(Timed {
            ended_unix_ns: since_1970_ns(one.seconds, one.micros),
            took_ns,
        });
        let end = one.seconds as f64 + one.micros as f64 * 1e-6;
        self.span.add(end, took as f64 * 1e-6);
        Ok(())
    }

    /// An additional column is the lag behind the rate, or the number of retries; a transaction is never retried a
    /// hundred times.
    fn pacing(&self) -> Pacing {
        match self.fewest_columns {
            6 => Pacing::Closed,
            7 if self.largest_seventh < 100 && self.skipped == 0 => Pacing::Unknown,
            _ => Pacing::Open,
        }
    }
}

fn whole(line: usize, field: &str, word: &str) -> Result<u64, ReadError> {
    word.parse()
        .map_err(|_| ReadError::at(line, field, format!("`{word}` is not a whole number")))
}

fn since_1970_ns(seconds: u64, micros: u64) -> u64 {
    let seconds = seconds.saturating_mul(1_000_000_000);
    seconds.saturating_add(micros.saturating_mul(1_000))
}

fn not_a_transaction(columns: usize) -> String {
    let hint = if columns > 8 {
        format!("; {NO_SINGLE}")
    } else {
        String::new()
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
