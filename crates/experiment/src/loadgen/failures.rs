//! Runs without answers, or with hardly any.
//!
//! A broken server answers fast, or not at all: its percentiles are not latencies.

use super::{Latency, Load, LoadReport};
use crate::base::missing::Missing;
use crate::run::stats::Quantile;

/// The requests of a failed run: more than half failed, or none was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Number of failed requests.
    pub failed: u64,
    /// Number of sent requests; 0 if the source counts neither answers nor failures.
    pub sent: u64,
}

impl LoadReport {
    /// Returns the failures if they outweigh the answers.
    pub(super) fn failures(&self) -> Option<Failures> {
        // Locust has one row for all requests in addition to those for each kind.
        let total = self.loads.iter().filter(|load| load.name.is_none());
        let total: Vec<_> = total.filter_map(Load::failed_of_sent).collect();
        let kinds = self.loads.iter().filter_map(Load::failed_of_sent);
        let counted = match total.is_empty() {
            true => kinds.collect(),
            false => total,
        };
        let all = counted
            .into_iter()
            .fold(Failures::default(), |all, (failed, sent)| Failures {
                failed: all.failed.saturating_add(failed),
                sent: all.sent.saturating_add(sent),
            });
        let is_silent = self.loads.iter().all(Load::answered_nothing) && !self.loads.is_empty();
        (is_silent || all.failed > all.sent - all.failed).then_some(all)
    }
}

impl Load {
    /// Returns the same without latencies if no request was answered.
    pub(super) fn without_silence(self) -> Self {
        let quantiles = match &self.latency {
            Some(Latency::Unknown { .. }) => return self,
            Some(Latency::Quantiles(quantiles)) => quantiles.iter().map(|it| it.0).collect(),
            None if !self.throughput.is_empty() || self.errors.is_none_or(|it| it == 0) => {
                return self;
            }
            _ => Vec::new(),
        };
        match (self.answered_nothing(), &self.latency) {
            (true, _) => self.without_latency(NO_ANSWER, quantiles),
            (false, None) => self.without_latency(NO_RUN, quantiles),
            (false, Some(latency)) if latency.is_zero() => self.without_latency(ZEROS, quantiles),
            (false, Some(_)) => self,
        }
    }

    /// Returns the same with a reason and no latencies.
    pub(super) fn without_latency(self, why: &str, quantiles: Vec<Quantile>) -> Self {
        let obstacle = why.to_owned();
        Self {
            latency: Some(Latency::Unknown {
                why: Missing::NotCounted { obstacle },
                quantiles,
            }),
            ..self
        }
    }

    /// Returns the failed and the sent requests.
    fn failed_of_sent(&self) -> Option<(u64, u64)> {
        let failed = self.errors.unwrap_or(0);
        let told = || Some(self.requests?.saturating_add(failed));
        let sent = self.sent.or_else(told)?;
        Some((failed, sent.max(failed)))
    }

    /// Returns true if the source counts no answer.
    fn answered_nothing(&self) -> bool {
        let is_counted = matches!(&self.latency, Some(Latency::Counted(all)) if all.count() == 0);
        let has_no_rate =
            || !self.throughput.is_empty() && self.throughput.iter().all(|rate| *rate == 0.0);
        match self.requests {
            Some(requests) => requests == 0,
            None => is_counted || has_no_rate(),
        }
    }
}

impl Latency {
    /// Returns true if every time is 0, which is impossible.
    fn is_zero(&self) -> bool {
        match self {
            Self::Quantiles(all) => !all.is_empty() && all.iter().all(|(_, it)| *it == 0.0),
            Self::Values(all) => !all.is_empty() && all.iter().all(|it| *it == 0.0),
            Self::Counted(_) | Self::Unknown { .. } => false,
        }
    }
}

pub(super) const NO_ANSWER: &str = "no request was answered";
const NO_RUN: &str = "every run of it failed";
const ZEROS: &str = "every time in the output is 0";
