//! Readings available only for a server under load.

use std::time::Duration;

use hugewise_base::missing::Missing;

use super::stacks::Stacks;

/// A server's start, its load and its threads' stacks.
#[derive(Clone, Debug)]
pub(super) struct ServiceEvidence {
    /// Time from the release of its exec until it was ready.
    pub(super) ready: Duration,
    /// Processor time of the load, in nanoseconds.
    pub(super) load_cpu_ns: u64,
    /// Processor time of the servers of other policies during the load, in nanoseconds.
    pub(super) other_servers_ns: u64,
    /// The stacks of the main process's threads at the end of the load.
    pub(super) stacks: Result<Stacks, Missing>,
}

impl ServiceEvidence {
    pub(super) fn other_server_seconds(&self) -> f64 {
        self.other_servers_ns as f64 / 1e9
    }
}
