//! Load generators that write a row for each request: k6, vegeta and hey.
//!
//! k6 writes `http_req_duration` in milliseconds ("Results output" of its manual). Its JSON has lines of type `Point`
//! and `Metric`. `vegeta encode` writes nanoseconds, and CSV without a heading. `hey -o csv` writes seconds, and omits
//! requests without an answer.

use super::columns::{Each, HEY, K6_JSON, K6_TABLE, VEGETA_JSON, VEGETA_TABLE};
use super::requests::Fields;
use super::{LoadReport, ReadError, csv, jsonl};
use crate::run::plan::{Edge, Failed, FailedBy, Only, Rows, Stamp, TimeUnit};

pub(super) fn k6(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    const METRIC: &str = "http_req_duration";
    if is_json(bytes) {
        let rows = Rows {
            only: vec![only("type", "Point"), only("metric", METRIC)],
            failed: had(bytes, "expected_response")
                .then(|| failed("data.tags.expected_response", FailedBy::Ok)),
            ..Rows::default()
        };
        return jsonl::parse(bytes, fields(&K6_JSON, &rows));
    }
    let rows = Rows {
        only: vec![only("metric_name", METRIC)],
        failed: had(bytes, "expected_response").then(|| failed("expected_response", FailedBy::Ok)),
        ..Rows::default()
    };
    csv::parse(bytes, fields(&K6_TABLE, &rows))
}

pub(super) fn vegeta(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    if is_json(bytes) {
        return jsonl::parse(bytes, fields(&VEGETA_JSON, &rows(&VEGETA_JSON)));
    }
    if !begins_with_time(bytes) {
        let problem = "it has no time in nanoseconds; write it with `vegeta encode` or `--to csv`";
        return Err(ReadError::at(1, "timestamp", problem));
    }
    csv::parse(bytes, fields(&VEGETA_TABLE, &rows(&VEGETA_TABLE)))
}

pub(super) fn hey(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    csv::parse(bytes, fields(&HEY, &rows(&HEY)))
}

/// The rows of a source with a status or a time for each request.
fn rows(each: &Each) -> Rows {
    Rows {
        stamp: each.began.map(|field| Stamp {
            edge: Edge::Began,
            field: field.to_owned(),
            unit: Some(TimeUnit::Nanos),
        }),
        failed: each.status.map(|field| failed(field, FailedBy::Status)),
        ..Rows::default()
    }
}

fn fields<'a>(each: &Each, rows: &'a Rows) -> Fields<'a> {
    Fields {
        latency: each.took,
        unit: each.unit,
        rows,
    }
}

fn only(field: &str, value: &str) -> Only {
    Only {
        field: field.to_owned(),
        value: value.to_owned(),
    }
}

fn failed(field: &str, by: FailedBy) -> Failed {
    Failed {
        field: field.to_owned(),
        by,
    }
}

fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

/// Returns true if the first cell is a number of nanoseconds since 1970.
fn begins_with_time(bytes: &[u8]) -> bool {
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    digits >= 18 && bytes.get(digits) == Some(&b',')
}

/// Returns true if a word is in the output: old versions lack it.
fn had(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|part| part == word.as_bytes())
}
