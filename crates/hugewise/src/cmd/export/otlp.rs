//! Samples pushed to an OpenTelemetry collector, over HTTP.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hugewise_linux::machine::clock;
use hugewise_linux::machine::root::Root;
use hugewise_model::observe::export::otlp;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value as Json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Exporter;
use crate::interrupt::Interrupt;
use crate::stderr::{chain, message};

/// A collector that takes longer is given up until the next sample.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of an answer no more is read.
const MOST_ANSWER: usize = 64 << 10;
/// Where the protocol's own port has metrics.
const PATH: &str = "/v1/metrics";

/// Where samples are pushed to.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    host: String,
    port: u16,
    path: String,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
        if uri.scheme_str() != Some("http") {
            return Err(
                "it must begin with http://; a collector on this host can pass samples on by https"
                    .to_owned(),
            );
        }
        let host = uri.host().filter(|host| !host.is_empty());
        let path = match uri.path() {
            "" | "/" => PATH,
            path => path,
        };
        Ok(Self {
            host: host.ok_or("it names no host")?.to_owned(),
            port: uri.port_u16().unwrap_or(4318),
            path: path.to_owned(),
        })
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}:{}{}", self.host, self.port, self.path)
    }
}

/// Pushes one sample.
///
/// # Errors
/// The collector cannot be reached, or does not take it.
pub(super) fn push(endpoint: &Endpoint, exporter: &Exporter) -> Result<()> {
    let host = Root::real().read("proc/sys/kernel/hostname");
    let host = String::from_utf8_lossy(&host.unwrap_or_default()).into_owned();
    let now = clock::nanoseconds(clock::since_1970());
    let request = exporter.with_sample(|families| otlp::request(families, host.trim(), now));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .context("starting the client")?;
    let sent = runtime.block_on(async { timeout(PATIENCE, send(endpoint, &request)).await });
    sent.unwrap_or_else(|_| Err(anyhow!("no answer within {} s", PATIENCE.as_secs())))
        .with_context(|| format!("--otlp {endpoint}"))
}

/// Pushes again and again until a signal comes. A sample that could not be pushed is lost: the
/// next one has the same counters. It is said once, and again when it works.
pub(super) fn keep(
    endpoint: &Endpoint,
    interval: Duration,
    exporter: &Exporter,
    interrupt: &Interrupt,
) {
    message(format_args!("metrics to {endpoint}"));
    let mut had_failed = false;
    while !interrupt.asked() {
        let pushed = push(endpoint, exporter);
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

async fn send(endpoint: &Endpoint, request: &Json) -> Result<()> {
    let address = (endpoint.host.trim_matches(['[', ']']), endpoint.port);
    let stream = TcpStream::connect(address).await.context("connecting")?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the sender; what goes wrong in it is told there.
    tokio::spawn(connection);
    let request = Request::post(&endpoint.path)
        .header(HOST, format!("{}:{}", endpoint.host, endpoint.port))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(request.to_string())))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MOST_ANSWER)
        .collect()
        .await;
    let body = body.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    ensure!(
        status.is_success(),
        "the collector answers {status}: {}",
        String::from_utf8_lossy(&body).trim()
    );
    refused_points(&body)
}

/// A collector may take a request and refuse points of it.
fn refused_points(body: &[u8]) -> Result<()> {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    // A 64-bit integer is a string in JSON of protobuf; collectors write it as either.
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
    fn an_endpoint_has_the_protocols_port_and_path_unless_it_names_others() {
        let text = |word: &str| word.parse::<Endpoint>().map(|it| it.to_string());
        let usual = Ok("http://box:4318/v1/metrics".to_owned());
        assert_eq!(text("http://box"), usual);
        assert_eq!(text("http://box:4318/"), usual);
        let other = "http://[::1]:9090/otlp";
        assert_eq!(text(other), Ok(other.to_owned()));
        for bad in ["box:4318", "https://box", "/v1/metrics", "http://"] {
            assert!(text(bad).is_err(), "{bad}");
        }
    }

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
