//! Latency of requests in a period, by the histogram of the application.

use anyhow::Result;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Reading;
use hugewise_live::{Histogram, LatencySource, histogram_of_metrics};

use super::work::{Page, Redis};
use crate::exit;

/// An open source of latencies.
#[derive(Debug)]
pub(super) struct Latency {
    source: LatencySource,
    reader: Reader,
}

#[derive(Debug)]
enum Reader {
    /// A command, or all.
    Redis(Redis, Option<String>),
    /// A metric of a page.
    Page(Page, String),
}

/// The quantiles, and the names of their metrics.
const QUANTILES: [(f64, &str); 2] = [(0.5, "latency_p50_seconds"), (0.99, "latency_p99_seconds")];

impl Latency {
    /// Opens a source and reads it once.
    pub(super) fn open(source: &LatencySource) -> Result<Self> {
        let open = || {
            let reader = match source {
                LatencySource::Redis(place) => {
                    Reader::Redis(Redis::connect(place)?, place.field.clone())
                }
                LatencySource::Http { url, metric } => {
                    Reader::Page(Page::new(url)?, metric.clone())
                }
            };
            let mut latency = Self {
                source: source.clone(),
                reader,
            };
            latency.read().map(|_| latency)
        };
        open().map_err(|why: String| exit::usage(format!("latency cannot be read: {why}")))
    }

    /// The source.
    pub(super) fn source(&self) -> &LatencySource {
        &self.source
    }

    /// Reads the histogram so far.
    pub(super) fn read(&mut self) -> Result<Histogram, String> {
        let read = match &mut self.reader {
            Reader::Redis(redis, command) => redis.latencies(command.as_deref()),
            Reader::Page(page, metric) => page
                .text()
                .and_then(|text| histogram_of_metrics(&text, metric)),
        };
        read.map_err(|why| format!("{}: {why}", self.source))
    }
}

/// Returns the quantiles between two readings.
pub(super) fn readings(
    before: &Result<Histogram, String>,
    now: &Result<Histogram, String>,
) -> Vec<(String, Reading)> {
    let grown = before
        .clone()
        .and_then(|before| now.clone()?.since(&before));
    let of = |quantile: f64| grown.clone()?.quantile(quantile);
    let reading = |quantile: f64| match of(quantile) {
        Ok(seconds) => Reading::of(seconds),
        Err(why) => Reading::missing(Missing::unreadable(why)),
    };
    let all = QUANTILES.iter();
    all.map(|(quantile, name)| ((*name).to_owned(), reading(*quantile)))
        .collect()
}
