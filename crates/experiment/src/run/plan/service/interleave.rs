//! Are the servers of all policies alive at once, or what prevents it?

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CommandLine, Port, Service};

/// How trials get their server.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Each trial starts a new one, as requested.
    #[default]
    No,
    /// Each trial starts a new one, because nothing else is possible.
    Hindered(Obstacle),
    /// The servers of all policies are alive at once, and a trial is one load of one server.
    Windows(Windows),
}

/// Trials that are windows in the lifetime of servers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// All servers are restarted after this many rounds; at least 1.
    pub rounds_per_start: u32,
    /// True if the experiment fails when memory does not suffice, instead of starting a server for each trial.
    pub required: bool,
}

/// Why servers cannot be alive at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// There is one policy.
    OnePolicy,
    /// All servers would have the same address.
    SharedAddress,
    /// Commands run before or after each trial and could disturb the live servers.
    Hooks,
    /// A policy creates a hugetlb pool, which is released after each trial.
    Pool,
    /// A policy sets pages of files, which all servers share in the page cache.
    PageCache,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnePolicy => "there is one policy",
            Self::SharedAddress => {
                "each server needs an address of its own: write {port} (or a socket in {dir}) in \
                 the service, its load and --ready"
            }
            Self::Hooks => {
                "--prepare, --conclude and --fragment belong to trials that start their server"
            }
            Self::Pool => "a hugetlb pool lasts for one trial",
            Self::PageCache => {
                "all servers share the page cache, which text=file and file= set for each trial"
            }
        })
    }
}

impl Service {
    /// Returns what prevents servers from being alive at once, if `server` is their command.
    #[must_use]
    pub fn obstacle(&self, server: &CommandLine, policies: usize, hooks: bool) -> Option<Obstacle> {
        let placed = |line: &CommandLine| line.mentions("{port}") || line.mentions("{dir}");
        let fixed = |port: &Port| *port != Port::Found;
        let fixed = self.ready.address().is_some_and(|it| fixed(&it.port));
        if policies < 2 {
            Some(Obstacle::OnePolicy)
        } else if fixed || !placed(server) || !placed(&self.load) {
            Some(Obstacle::SharedAddress)
        } else {
            hooks.then_some(Obstacle::Hooks)
        }
    }
}

impl Interleave {
    /// The windows, if trials are windows.
    #[must_use]
    pub fn windows(self) -> Option<Windows> {
        match self {
            Self::Windows(windows) => Some(windows),
            Self::No | Self::Hindered(_) => None,
        }
    }

    /// Returns true if every trial starts its server because this was requested.
    pub(super) fn is_no(&self) -> bool {
        *self == Self::No
    }
}

impl Windows {
    /// The start of a round, counted from 0.
    #[must_use]
    pub fn start_of(self, round: u32) -> u32 {
        round / self.rounds_per_start.max(1)
    }

    /// Returns true if servers are restarted before a round.
    #[must_use]
    pub fn begins_at(self, round: u32) -> bool {
        round.is_multiple_of(self.rounds_per_start.max(1))
    }
}

/// Share of the available memory that the servers may take together, in percent. The rest is for the page cache, the
/// load, and peaks that no start has shown yet.
const MEMORY_PERCENT: u64 = 60;

/// The memory that `servers` servers are expected to need and the memory that they may take, in bytes, if the first is
/// more. Each counts as much as the largest started one. `available` was read before the first start.
#[must_use]
pub fn shortage(peaks: &[u64], servers: usize, available: u64) -> Option<(u64, u64)> {
    let started: u64 = peaks.iter().sum();
    let largest = peaks.iter().copied().max().unwrap_or(0);
    let left = servers.saturating_sub(peaks.len()) as u64;
    let needed = started.saturating_add(largest.saturating_mul(left));
    let most = available / 100 * MEMORY_PERCENT;
    (needed > most).then_some((needed, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obstacle(server: &str, load: &str, ready: &str) -> Option<Obstacle> {
        let line = |text: &str| CommandLine::Line(text.to_owned());
        let service = Service {
            ready: ready.parse().expect("good"),
            load: line(load),
            ..Service::example()
        };
        service.obstacle(&line(server), 2, false)
    }

    #[test]
    fn servers_need_addresses_of_their_own() {
        let shared = Some(Obstacle::SharedAddress);
        assert_eq!(obstacle("a {port}", "b {port}", "tcp:{port}"), None);
        assert_eq!(obstacle("a {dir}/s", "b {dir}/s", "log:ready"), None);
        assert_eq!(obstacle("a 80", "b 80", "tcp:80"), shared);
        assert_eq!(obstacle("a --dir {dir}", "b {dir}", "tcp:80"), shared);
        assert_eq!(obstacle("a {port}", "b", "log:ready"), shared);
    }

    #[test]
    fn one_policy_and_hooks_leave_a_server_to_each_trial() {
        let service = Service::example();
        let server = CommandLine::Line("a {port}".to_owned());
        let obstacle = |policies, hooks| service.obstacle(&server, policies, hooks);
        assert_eq!(obstacle(1, false), Some(Obstacle::OnePolicy));
        assert_eq!(obstacle(2, true), Some(Obstacle::Hooks));
        assert_eq!(obstacle(2, false), None);
    }

    #[test]
    fn starts_are_counted_by_rounds() {
        let windows = Windows {
            rounds_per_start: 3,
            required: false,
        };
        let starts: Vec<u32> = (0..7).map(|round| windows.start_of(round)).collect();
        assert_eq!(starts, [0, 0, 0, 1, 1, 1, 2]);
        let begins: Vec<u32> = (0..7).filter(|&it| windows.begins_at(it)).collect();
        assert_eq!(begins, [0, 3, 6]);
    }

    #[test]
    fn servers_together_take_no_more_than_their_share() {
        assert_eq!(shortage(&[10], 6, 100), None);
        assert_eq!(shortage(&[10], 7, 100), Some((70, 60)));
        assert_eq!(shortage(&[10, 20], 4, 100), Some((70, 60)));
        assert_eq!(shortage(&[10, 5], 5, 100), None);
        assert_eq!(shortage(&[], 5, 0), None);
        assert_eq!(shortage(&[1], 1, 0), Some((1, 0)));
    }

    #[test]
    fn it_comes_back_from_its_text() {
        let windows = Interleave::Windows(Windows {
            rounds_per_start: 5,
            required: true,
        });
        for (it, text) in [
            (Interleave::No, r#""no""#),
            (
                Interleave::Hindered(Obstacle::OnePolicy),
                r#"{"hindered":"one_policy"}"#,
            ),
            (
                windows,
                r#"{"windows":{"rounds_per_start":5,"required":true}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&it).expect("plain data"), text);
            let back: Interleave = serde_json::from_str(text).expect("its own text");
            assert_eq!(back, it);
        }
    }
}
