//! Readings that only a server under load has.

use std::time::Duration;

use hugewise_model::base::missing::Missing;

use super::stacks::Stacks;

/// What is known of a server's start, of its load, and of its threads.
#[derive(Clone, Debug)]
pub(super) struct Driven {
    /// From the release of its exec until it was ready.
    pub(super) ready: Duration,
    /// Processor time of the load, in nanoseconds.
    pub(super) load_cpu_ns: u64,
    /// The stacks of the main process's threads when the load had ended.
    pub(super) stacks: Result<Stacks, Missing>,
}
