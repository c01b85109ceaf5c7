//! From the values of a source to the readings of a trial.

use std::collections::BTreeMap;

use super::overall::of_all;
use super::requests::Fields;
use super::{
    Failures, Latency, Load, LoadReport, ReadError, csv, fio, go, google_benchmark, hdr, hgrm,
    hyperfine, jmh, jsonl, locust, memtier, names, oha, pgbench, presets, redis, wrk, ycsb,
};
use crate::base::missing::Missing;
use crate::run::metric::requests::{RequestMetric, quantile_end};
use crate::run::plan::{LatencySource, Reader};
use crate::run::trial::timeline::Unrelated;
use crate::run::trial::{Pacing, Reading, Times};

/// The readings of one trial from a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// By metric.
    pub readings: BTreeMap<String, Reading>,
    /// Did requests wait for each other? `None` if nothing could be read.
    pub pacing: Option<Pacing>,
    /// The times of the requests, or why they are unknown.
    pub times: Result<Times, Unrelated>,
    /// The failures, if more requests failed than were answered.
    pub failures: Option<Failures>,
}

/// The reply for one trial, parsed from its output. Each document has a name for errors. If there is no output, the
/// reason becomes that of every metric of the reader.
#[must_use]
pub fn read(source: &LatencySource, documents: Result<Vec<(String, Vec<u8>)>, String>) -> Reply {
    match documents.and_then(|documents| all(source, &documents)) {
        Ok((mut report, prefixes)) => Reply {
            readings: readings(&source.reader, &report.loads, &prefixes),
            pacing: Some(report.pacing),
            times: times(source, &mut report),
            failures: report.failures(),
        },
        Err(error) => {
            let missing = Missing::Unreadable { error };
            let names = expected(&source.reader).into_iter();
            Reply {
                readings: names
                    .map(|name| (name, Reading::missing(missing.clone())))
                    .collect(),
                pacing: None,
                times: Err(Unrelated::Unread),
                failures: None,
            }
        }
    }
}

fn times(source: &LatencySource, report: &mut LoadReport) -> Result<Times, Unrelated> {
    let (mut timed, mut intervals) = (Vec::new(), Vec::new());
    for load in &mut report.loads {
        timed.append(&mut load.timed);
        intervals.append(&mut load.intervals);
    }
    if !timed.is_empty() {
        return Ok(Times::Requests(timed));
    }
    if !intervals.is_empty() {
        return Ok(Times::Intervals(intervals));
    }
    if let Some(error) = report.loads.iter_mut().find_map(|load| load.untimed.take()) {
        return Err(Unrelated::Unreadable { error });
    }
    let source = source.reader.program();
    Err(Unrelated::NoTimes { source })
}

/// The metrics of a reader without errors; the common metric of all readers if the names come from the source.
fn expected(reader: &Reader) -> Vec<String> {
    let of_wrk = |pacing| {
        let quantiles = wrk::quantiles(pacing).into_iter().map(quantile_end);
        let throughput = [RequestMetric::Throughput.to_string()];
        quantiles.chain(throughput).collect()
    };
    match reader {
        Reader::Wrk => of_wrk(Pacing::Closed),
        Reader::Wrk2 => of_wrk(Pacing::Open),
        Reader::Ycsb => vec![RequestMetric::Throughput.to_string()],
        Reader::Memtier | Reader::Oha | Reader::Locust => vec![
            RequestMetric::Latency.to_string(),
            RequestMetric::Throughput.to_string(),
        ],
        _ => vec![RequestMetric::Latency.to_string()],
    }
}

/// All documents together, and the prefix of each load's metrics.
fn all(
    source: &LatencySource,
    documents: &[(String, Vec<u8>)],
) -> Result<(LoadReport, Vec<String>), String> {
    let word = source.reader.word();
    let mut report: Option<LoadReport> = None;
    for (name, bytes) in documents {
        let wanted = source
            .reader
            .written_by()
            .map_or_else(String::new, |writer| {
                format!("; this reads what `{writer}` writes")
            });
        let more = parse(source, bytes);
        let more = more.map_err(|error| format!("{word}, {name}: {error}{wanted}"))?;
        report = Some(match report {
            None => more,
            Some(before) => merge(before, &more).ok_or_else(|| {
                format!("{word}: {name} and the files before it cannot be merged")
            })?,
        });
    }
    let mut report = report.ok_or_else(|| format!("{word}: the trial wrote nothing to read"))?;
    let prefixes = names::prefixes(&report.loads).map_err(|error| format!("{word}: {error}"))?;
    report.loads = report
        .loads
        .into_iter()
        .map(Load::without_silence)
        .collect();
    Ok((report, prefixes))
}

pub(super) fn parse(source: &LatencySource, bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let bytes = without_mark(bytes)?;
    let unit = source.unit();
    let fields = |latency| Fields {
        latency,
        unit,
        rows: &source.rows,
    };
    match &source.reader {
        Reader::Wrk => wrk::parse(bytes, Pacing::Closed),
        Reader::Wrk2 => wrk::parse(bytes, Pacing::Open),
        Reader::RedisBenchmark => redis::parse(bytes),
        Reader::Memtier => memtier::parse(bytes),
        Reader::PgbenchLog => pgbench::parse(bytes),
        Reader::HdrLog => hdr::parse_log(bytes, unit),
        Reader::Hgrm => hgrm::parse(bytes, unit),
        Reader::Jmh => jmh::parse(bytes),
        Reader::GoogleBenchmark => google_benchmark::parse(bytes),
        Reader::Go => go::parse(bytes),
        Reader::Hyperfine => hyperfine::parse(bytes),
        Reader::K6 => presets::k6(bytes),
        Reader::Vegeta => presets::vegeta(bytes),
        Reader::Hey => presets::hey(bytes),
        Reader::Oha => oha::parse(bytes),
        Reader::Locust => locust::parse(bytes),
        Reader::Fio => fio::parse(bytes),
        Reader::Ycsb => ycsb::parse(bytes),
        Reader::Csv(column) => csv::parse(bytes, fields(column)),
        Reader::Jsonl(field) => jsonl::parse(bytes, fields(field)),
    }
}

/// The text after the byte-order mark that Windows programs write.
fn without_mark(bytes: &[u8]) -> Result<&[u8], ReadError> {
    match bytes {
        [0xef, 0xbb, 0xbf, text @ ..] => Ok(text),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            let problem = "it is UTF-16; let it be written as UTF-8 (iconv -f UTF-16 -t UTF-8)";
            Err(ReadError::of("text", problem))
        }
        text => Ok(text),
    }
}

/// Merges both, if both counted their requests: nothing else can be merged. Their rates add up only if they ran at the
/// same time, as the threads of one generator do.
fn merge(mut one: LoadReport, two: &LoadReport) -> Option<LoadReport> {
    let ([a], [b]) = (one.loads.as_mut_slice(), two.loads.as_slice()) else {
        return None;
    };
    let (Some(Latency::Counted(all)), Some(Latency::Counted(more))) = (&mut a.latency, &b.latency)
    else {
        return None;
    };
    all.merge(more);
    a.untimed = a.untimed.take().or_else(|| b.untimed.clone());
    match &a.untimed {
        Some(_) => a.timed.clear(),
        None => a.timed.extend(&b.timed),
    }
    a.intervals.extend(b.intervals.iter().cloned());
    let sum = |x: Option<u64>, y: Option<u64>| x.zip(y).map(|(x, y)| x + y);
    a.requests = sum(a.requests, b.requests);
    a.errors = sum(a.errors, b.errors);
    a.sent = sum(a.sent, b.sent);
    a.throughput = match (a.throughput.as_slice(), b.throughput.as_slice()) {
        ([x], [y]) => vec![x + y],
        _ => Vec::new(),
    };
    Some(one)
}

fn readings(reader: &Reader, loads: &[Load], prefixes: &[String]) -> BTreeMap<String, Reading> {
    let each = loads.iter().zip(prefixes);
    let mut readings: BTreeMap<String, Reading> = each
        .flat_map(|(load, prefix)| of_load(load, prefix))
        .collect();
    if reader.is_of_benchmarks() {
        let all = RequestMetric::Latency.to_string();
        readings.entry(all).or_insert_with(|| of_all(loads));
    }
    readings
}

fn of_load(load: &Load, prefix: &str) -> Vec<(String, Reading)> {
    let called = |what: &str, reading| (format!("{prefix}{what}"), reading);
    let named = |what: RequestMetric, reading| called(what.name(), reading);
    let mut readings = match &load.latency {
        None => Vec::new(),
        Some(Latency::Counted(all)) => {
            vec![named(
                RequestMetric::Latency,
                Reading::Histogram {
                    histogram: Box::new(all.clone()),
                },
            )]
        }
        Some(Latency::Values(values)) => vec![named(RequestMetric::Latency, one_or_many(values))],
        Some(Latency::Quantiles(quantiles)) => quantiles
            .iter()
            .map(|(quantile, seconds)| called(&quantile_end(*quantile), Reading::of(*seconds)))
            .collect(),
        Some(Latency::Unknown { why, quantiles }) if quantiles.is_empty() => {
            vec![named(RequestMetric::Latency, Reading::missing(why.clone()))]
        }
        Some(Latency::Unknown { why, quantiles }) => quantiles
            .iter()
            .map(|it| called(&quantile_end(*it), Reading::missing(why.clone())))
            .collect(),
    };
    readings.extend(load.too_short.iter().map(|quantile| {
        let obstacle = "the source printed 0: its unit is too coarse for it".to_owned();
        let why = Missing::NotCounted { obstacle };
        called(&quantile_end(*quantile), Reading::missing(why))
    }));
    if !load.throughput.is_empty() {
        readings.push(named(
            RequestMetric::Throughput,
            one_or_many(&load.throughput),
        ));
    }
    let counts = [
        (RequestMetric::Requests, load.requests),
        (RequestMetric::Errors, load.errors),
    ];
    readings.extend(
        counts
            .into_iter()
            .filter_map(|(name, count)| Some(named(name, Reading::of(count? as f64)))),
    );
    readings
}

fn one_or_many(values: &[f64]) -> Reading {
    match values {
        [value] => Reading::of(*value),
        _ => Reading::Values {
            values: values.to_vec(),
        },
    }
}
