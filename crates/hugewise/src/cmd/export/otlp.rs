//! Pushes samples to an OpenTelemetry collector, over HTTP.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hugewise_linux::machine::clock;
use hugewise_linux::machine::root::Root;
use hugewise_monitor::export::exposition::Family;
use hugewise_monitor::export::otlp;
use serde_json::Value as Json;

use super::sampler::Sampler;
use crate::http::{Endpoint, Question};
use crate::interrupt::Interrupt;
use crate::stderr::{chain, message};

/// The time limit for a push; after it the exporter waits for the next sample.
const PATIENCE: Duration = Duration::from_secs(10);
/// The size limit of a response, in bytes.
const MOST_ANSWER: usize = 64 << 10;
/// The path for metrics of the OTLP/HTTP protocol.
const PATH: &str = "/v1/metrics";

/// Parses the collector's address from a flag.
pub(super) fn endpoint(text: &str) -> Result<Endpoint, String> {
    Ok(text.parse::<Endpoint>()?.or(4318, PATH))
}

/// Pushes one sample.
///
/// # Errors
/// The collector cannot be reached, or does not accept it.
pub(super) fn push(endpoint: &Endpoint, families: &[Family]) -> Result<()> {
    let host = Root::real().read("proc/sys/kernel/hostname");
    let host = String::from_utf8_lossy(&host.unwrap_or_default()).into_owned();
    let now = clock::nanoseconds(clock::since_1970());
    let request = otlp::request(families, host.trim(), now);
    send(endpoint, &request).with_context(|| format!("--otlp {endpoint}"))
}

/// Pushes repeatedly until a signal comes. A sample that could not be pushed is dropped, because the next one has the
/// same counters. The failure is reported once, and so is the recovery.
pub(super) fn keep(
    endpoint: &Endpoint,
    interval: Duration,
    sampler: &Sampler,
    interrupt: &Interrupt,
) {
    message(format_args!("metrics to {endpoint}"));
    let mut had_failed = false;
    while !interrupt.asked() {
        let pushed = push(endpoint, &sampler.families_or_signal(interrupt));
        match &pushed {
            Ok(()) if had_failed => message("the collector takes samples again"),
            Err(error) if !had_failed => message(format_args!(
                "{}; tried again every {} s",
                chain(error),
                interval.as_secs_f64()
            )),
            _ => {}
        }
        had_failed = pushed.is_err();
        interrupt.wait(interval);
    }
}

fn send(endpoint: &Endpoint, request: &Json) -> Result<()> {
    let answer = endpoint.ask(Question {
        path: endpoint.path(),
        body: Some(("application/json", &request.to_string())),
        patience: PATIENCE,
        most: MOST_ANSWER,
    })?;
    let (status, body) = (answer.status, answer.body);
    ensure!(
        status.is_success(),
        "the collector answers {status}: {}",
        String::from_utf8_lossy(&body).trim()
    );
    refused_points(&body)
}

/// A collector can accept a request but reject some of its points.
fn refused_points(body: &[u8]) -> Result<()> {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    // JSON of protobuf encodes a 64-bit integer as a string; some collectors write a number.
    let refused = partial["rejectedDataPoints"].as_i64();
    let refused = refused.or_else(|| partial["rejectedDataPoints"].as_str()?.parse().ok());
    match refused {
        Some(count) if count > 0 => bail!(
            "the collector refuses {count} values: {}",
            partial["errorMessage"].as_str().unwrap_or_default()
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_points_are_an_error() {
        for body in ["", "{}", r#"{"partialSuccess":{"rejectedDataPoints":"0"}}"#] {
            assert!(refused_points(body.as_bytes()).is_ok(), "{body}");
        }
        let some = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}"#;
        let error = refused_points(some.as_bytes()).expect_err("three");
        assert_eq!(error.to_string(), "the collector refuses 3 values: old");
    }
}
