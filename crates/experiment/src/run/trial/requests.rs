//! The requests of a trial: whether they waited for each other, and their times.

use crate::base::histogram::distribution::Distribution;

/// Did a request wait for the answer to the previous one?
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// It did: while the server stalls, nothing is sent or measured.
    Closed,
    /// It did not: requests were scheduled at a rate, and their wait counts.
    Open,
    /// The source does not say.
    Unknown,
}

/// The times of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Times {
    /// Of each individual request.
    Requests(Vec<Timed>),
    /// Of requests grouped by interval.
    Intervals(Vec<RequestInterval>),
}

/// The requests of an interval; times in nanoseconds since 1970 (UTC).
#[derive(Clone, Debug, PartialEq)]
pub struct RequestInterval {
    /// Its beginning.
    pub from_unix_ns: u64,
    /// Its end.
    pub to_unix_ns: u64,
    /// The durations.
    pub requests: Distribution,
}

impl RequestInterval {
    /// Its length, in nanoseconds.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.to_unix_ns.saturating_sub(self.from_unix_ns)
    }
}

/// One request and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// When it ended, in nanoseconds since 1970 (UTC).
    pub ended_unix_ns: u64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
}
