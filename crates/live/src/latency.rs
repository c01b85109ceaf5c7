//! Latency by the histogram of an application, which counts its requests by how long they took.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use hugewise_experiment::run::plan::TimeUnit;

use crate::answers::series_of_metrics;
use crate::resp::Reply;
use crate::source::{Place, metric_of_url};

/// A histogram of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LatencySource {
    /// `LATENCY HISTOGRAM` of Redis 7: one command, or all.
    Redis(Place),
    /// A histogram in the text format of Prometheus.
    Http {
        /// The address of the page.
        url: String,
        /// The histogram, without `_bucket`; labels in braces choose among its series.
        metric: String,
    },
}

/// The forms, as an error lists them.
const FORMS: &str = "redis:[HOST:]PORT[#COMMAND], http://HOST/PATH#METRIC";

impl FromStr for LatencySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let source = match word {
            "redis" => Place::parse(rest).map(Self::Redis),
            "http" => metric_of_url(text).map(|(url, metric)| Self::Http { url, metric }),
            _ => Err(format!("no such source; write one of {FORMS}")),
        };
        source.map_err(|why| format!("`{text}`: {why}"))
    }
}

impl fmt::Display for LatencySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(place) => write!(f, "redis:{place}"),
            Self::Http { url, metric } => write!(f, "{url}#{metric}"),
        }
    }
}

/// Requests that took longer than `from` and at most `to`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    from: f64,
    to: f64,
    count: f64,
}

/// Requests by latency, in buckets of ascending bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram(Vec<Bucket>);

/// A quantile needs a request beyond it: 2 requests for the median, 100 for the 99th percentile.
fn fewest(quantile: f64) -> f64 {
    (1.0 / (1.0 - quantile)).round()
}

impl Histogram {
    /// Makes one of counts by the upper bound of each bucket, in seconds.
    fn new(counts: impl IntoIterator<Item = (f64, f64)>, from: impl Fn(f64, f64) -> f64) -> Self {
        let mut below = 0.0;
        let bucket = |(to, count): (f64, f64)| {
            let from = from(std::mem::replace(&mut below, to), to);
            Bucket { from, to, count }
        };
        Self(counts.into_iter().map(bucket).collect())
    }

    /// The number of requests.
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.0.iter().map(|it| it.count).sum()
    }

    /// Returns the requests since an earlier reading of the same histogram.
    ///
    /// # Errors
    /// A count is lower than before, as after a restart.
    pub fn since(&self, before: &Self) -> Result<Self, String> {
        let then = |to: f64| before.0.iter().find(|it| it.to == to);
        let grown = self.0.iter().map(|it| Bucket {
            count: it.count - then(it.to).map_or(0.0, |then| then.count),
            ..*it
        });
        let grown: Vec<Bucket> = grown.collect();
        match grown.iter().any(|it| it.count < 0.0) {
            true => Err("the histogram went backwards".to_owned()),
            false => Ok(Self(grown)),
        }
    }

    /// Returns a quantile in seconds. Within a bucket requests count as evenly spread, as `histogram_quantile` of
    /// Prometheus has it.
    ///
    /// # Errors
    /// There are too few requests, or it is beyond the last bound.
    pub fn quantile(&self, quantile: f64) -> Result<f64, String> {
        let requests = self.requests();
        if requests < fewest(quantile) {
            return Err(format!(
                "{requests} requests in a period; it needs {}",
                fewest(quantile)
            ));
        }
        let mut rank = quantile * requests;
        for bucket in self.0.iter().filter(|it| it.count > 0.0) {
            if rank <= bucket.count {
                return match bucket.to.is_finite() {
                    true => Ok(bucket.from + (bucket.to - bucket.from) * rank / bucket.count),
                    false => Err(format!("it is above the last bound, {} s", bucket.from)),
                };
            }
            rank -= bucket.count;
        }
        Err("it is above the last bound".to_owned())
    }
}

/// Reads a histogram in the text format of Prometheus. Series of the same bound are added up. Bounds are in seconds,
/// unless the name of the metric ends in another unit.
///
/// # Errors
/// There is no such histogram, or a number is none.
pub fn histogram_of_metrics(text: &str, metric: &str) -> Result<Histogram, String> {
    let (name, labels) = metric.split_at(metric.find('{').unwrap_or(metric.len()));
    let unit = TimeUnit::of_name(name).unwrap_or(TimeUnit::Seconds);
    let buckets = series_of_metrics(text, &format!("{name}_bucket{labels}"))?;
    let mut cumulative = BTreeMap::new();
    for (labels, count) in buckets {
        let bound = labels
            .split(',')
            .find_map(|it| it.trim().strip_prefix("le=\""));
        let bound = bound.map(|it| it.trim_end_matches('"').trim_start_matches('+'));
        let bound = bound.and_then(|it| it.parse::<f64>().ok());
        let bound = bound.filter(|it| *it >= 0.0);
        let bound = bound.ok_or_else(|| format!("a series of {metric} has no bound `le`"))?;
        let (_, sum) = cumulative.entry(bound.to_bits()).or_insert((bound, 0.0));
        *sum += count;
    }
    let mut before = 0.0;
    let counts = cumulative.into_values().map(|(bound, cumulative)| {
        let count = cumulative - std::mem::replace(&mut before, cumulative);
        (unit.to_seconds(bound), count)
    });
    Ok(Histogram::new(counts, |below, _| below))
}

/// Reads the answer to `LATENCY HISTOGRAM` of Redis: the sum of all commands. Bounds are in microseconds, and each is
/// twice the one before; Redis leaves out empty buckets.
///
/// # Errors
/// It has another form.
pub fn histogram_of_redis(reply: &Reply) -> Result<Histogram, String> {
    let strange = || "it does not answer like LATENCY HISTOGRAM of redis".to_owned();
    let mut counts = BTreeMap::new();
    for command in reply.parts().iter().skip(1).step_by(2) {
        let fields = command.parts();
        let buckets = fields
            .iter()
            .position(|it| it.text() == Some("histogram_usec"));
        let buckets = buckets.and_then(|at| fields.get(at + 1));
        let mut before = 0;
        for pair in buckets.ok_or_else(strange)?.parts().as_chunks::<2>().0 {
            let [Reply::Number(bound), Reply::Number(cumulative)] = pair else {
                return Err(strange());
            };
            let count = cumulative - std::mem::replace(&mut before, *cumulative);
            *counts.entry(*bound).or_insert(0.0) += count as f64;
        }
    }
    match reply {
        Reply::List(_) => {
            let counts = counts.into_iter();
            let counts = counts.map(|(bound, count)| (bound as f64 / 1e6, count));
            Ok(Histogram::new(counts, |_, to| to / 2.0))
        }
        _ => Err(strange()),
    }
}
