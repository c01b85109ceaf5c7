//! A server as the workload: how to detect that it is ready, how to load it, and how to stop it.
//!
//! To add a readiness check, add a variant of `Ready` in `ready.rs` and its question in `linux::collect::service::ready`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

mod interleave;
mod line;
mod ready;
mod signal;

pub use interleave::{Interleave, Obstacle, Windows, shortage};
pub use line::{CommandLine, Places};
pub use ready::{Address, Port, Ready, log_says};
pub use signal::StopSignal;

use super::seconds;

/// How a server is driven. The server is the plan's command.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// How readiness is detected.
    pub ready: Ready,
    /// The limit for this, in seconds.
    #[serde(with = "one_time")]
    pub ready_timeout: Duration,
    /// The load before the measured load; it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_load: Option<CommandLine>,
    /// The measured load: the trial lasts as long as it runs.
    pub load: CommandLine,
    /// The policy of the load.
    pub load_policy: LoadPolicy,
    /// The signal that asks the main process to end, if no command does.
    pub stop_signal: StopSignal,
    /// The command that asks it to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_command: Option<CommandLine>,
    /// Time to end before its tree is killed, in seconds.
    #[serde(with = "one_time")]
    pub grace: Duration,
    /// Processors that the server is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_cpus: Option<Vec<u32>>,
    /// Processors that the load is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_cpus: Option<Vec<u32>>,
    /// Are the servers of all policies alive at once?
    #[serde(default, skip_serializing_if = "Interleave::is_no")]
    pub interleave: Interleave,
}

/// The policy of the load.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LoadPolicy {
    /// None: it is the same in every trial.
    #[default]
    None,
    /// That of the service.
    Same,
}

mod one_time {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    use super::seconds;

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        seconds::serialize(&Some(*time), to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let time = seconds::deserialize(from)?;
        time.ok_or_else(|| serde::de::Error::custom("expected a number of seconds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Service {
        /// A service on a free port.
        pub(crate) fn example() -> Self {
            Self {
                ready: "http://127.0.0.1:{port}/ready".parse().expect("good"),
                ready_timeout: Duration::from_secs(60),
                warm_up_load: None,
                load: CommandLine::Words(vec!["wrk".to_owned(), "{port}".to_owned()]),
                load_policy: LoadPolicy::None,
                stop_signal: StopSignal::default(),
                stop_command: Some(CommandLine::Line("redis-cli shutdown".to_owned())),
                grace: Duration::from_millis(2500),
                service_cpus: Some(vec![0]),
                load_cpus: None,
                interleave: Interleave::No,
            }
        }
    }

    #[test]
    fn a_service_comes_back_from_its_text() {
        let service = Service::example();
        let text = serde_json::to_string(&service).expect("plain data");
        assert_eq!(
            text,
            r#"{"ready":"http://127.0.0.1:{port}/ready","ready_timeout":60.0,"#.to_owned()
                + r#""load":["wrk","{port}"],"load_policy":"none","stop_signal":"SIGTERM","#
                + r#""stop_command":"redis-cli shutdown","grace":2.5,"service_cpus":[0]}"#
        );
        let back: Service = serde_json::from_str(&text).expect("its own text");
        assert_eq!(back, service);
    }
}
