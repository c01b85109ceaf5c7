//! Guardrails: limits beyond which an agent restores the old settings at once.

use std::fmt;

use serde::Deserialize;

/// The limits of a plan. Omitted ones are not watched, except for OOM kills.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guardrails {
    /// The maximum number of OOM kills in one period.
    #[serde(default)]
    pub oom_kills: u64,
    /// The maximum time that all tasks wait for memory, in percent of the time since the last reading, which is at most
    /// ten seconds.
    #[serde(default)]
    pub psi_full: Option<f64>,
    /// The maximum share of huge page faults without a huge page, 0 to 1.
    #[serde(default)]
    pub refused_faults: Option<f64>,
    /// The limit of a latency.
    #[serde(default)]
    pub p99: Option<Latency>,
}

/// A latency printed by a command.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Program and arguments; it prints seconds.
    pub command: Vec<String>,
    /// The maximum, in seconds.
    pub seconds: f64,
}

/// The values read by an agent: since the beginning of the period, or since the last reading for the waiting time.
/// `None` if the value could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The number of OOM kills.
    pub oom_kills: Option<u64>,
    /// Share of time in which all tasks waited for memory, in percent.
    pub psi_full: Option<f64>,
    /// Huge page faults with a huge page, and those without.
    pub faults: Option<(u64, u64)>,
    /// The latency that the command printed, in seconds.
    pub p99: Option<f64>,
}

/// An exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Breach {
    /// OOM kills.
    OomKills {
        /// The number of kills.
        found: u64,
    },
    /// Time waiting for memory.
    PsiFull {
        /// Percent of the time.
        found: f64,
        /// The limit.
        limit: f64,
    },
    /// Huge page faults without a huge page.
    RefusedFaults {
        /// The share of all such faults.
        found: f64,
        /// The limit.
        limit: f64,
    },
    /// The latency of requests.
    P99 {
        /// Seconds.
        found: f64,
        /// The limit.
        limit: f64,
    },
}

impl Guardrails {
    /// The minimum number of huge page faults for a meaningful share.
    const LEAST_FAULTS: u64 = 100;

    /// Returns the first exceeded limit. An unreadable value never exceeds one.
    #[must_use]
    pub fn breach(&self, seen: &Seen) -> Option<Breach> {
        if let Some(found) = seen.oom_kills.filter(|&found| found > self.oom_kills) {
            return Some(Breach::OomKills { found });
        }
        if let (Some(limit), Some(found)) = (self.psi_full, seen.psi_full)
            && found > limit
        {
            return Some(Breach::PsiFull { found, limit });
        }
        if let (Some(limit), Some((got, refused))) = (self.refused_faults, seen.faults) {
            let all = got.saturating_add(refused);
            let found = refused as f64 / all.max(1) as f64;
            if all >= Self::LEAST_FAULTS && found > limit {
                return Some(Breach::RefusedFaults { found, limit });
            }
        }
        let (limit, found) = (self.p99.as_ref()?.seconds, seen.p99?);
        (found > limit).then_some(Breach::P99 { found, limit })
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let bad = |value: Option<f64>, most: f64| {
            value.is_some_and(|value| !(0.0..=most).contains(&value))
        };
        if bad(self.psi_full, 100.0) {
            return Err("guardrails: psi-full is a percentage from 0 to 100".to_owned());
        }
        if bad(self.refused_faults, 1.0) {
            return Err("guardrails: refused-faults is a share from 0 to 1".to_owned());
        }
        match &self.p99 {
            Some(p99) if p99.command.is_empty() => {
                Err("guardrails: p99 needs a command that prints seconds".to_owned())
            }
            Some(p99) if !p99.seconds.is_finite() || p99.seconds <= 0.0 => {
                Err("guardrails: the seconds of p99 must be above 0".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OomKills { found } => write!(
                f,
                "the kernel killed {found} processes due to lack of memory in this period"
            ),
            Self::PsiFull { found, limit } => write!(
                f,
                "all tasks waited for memory for {found:.1} % of the time; the limit is {limit} %"
            ),
            Self::RefusedFaults { found, limit } => write!(
                f,
                "{:.1} % of huge page faults found no huge page; the limit is {:.1} %",
                found * 100.0,
                limit * 100.0
            ),
            Self::P99 { found, limit } => {
                write!(f, "the p99 is {found} s; the limit is {limit} s")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_passed_only_by_what_was_read() {
        let rails = Guardrails {
            psi_full: Some(10.0),
            refused_faults: Some(0.5),
            ..Guardrails::default()
        };
        assert_eq!(rails.breach(&Seen::default()), None);
        let killed = Seen {
            oom_kills: Some(1),
            ..Seen::default()
        };
        assert_eq!(rails.breach(&killed), Some(Breach::OomKills { found: 1 }));
        let refused = |faults| Seen {
            faults: Some(faults),
            ..Seen::default()
        };
        assert_eq!(rails.breach(&refused((1, 9))), None);
        let breach = rails.breach(&refused((20, 80)));
        assert!(breach.unwrap().to_string().starts_with("80.0 %"));
        let waited = Seen {
            psi_full: Some(10.5),
            ..Seen::default()
        };
        assert!(rails.breach(&waited).is_some());
    }
}
