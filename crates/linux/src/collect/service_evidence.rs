//! Readings that exist only for a server under load.

use std::time::Duration;

use hugewise_model::base::missing::Missing;

use super::account::Account;
use super::stacks::Stacks;

/// A server's start, its load and its threads' stacks.
#[derive(Clone, Debug)]
pub(super) struct ServiceEvidence {
    /// From the release of its exec until it was ready.
    pub(super) ready: Duration,
    /// Processor time of the load, in nanoseconds.
    pub(super) load_cpu_ns: u64,
    /// The stacks of the main process's threads when the load had ended.
    pub(super) stacks: Result<Stacks, Missing>,
}

/// A reading of that kind; one that there is none of where nothing was driven, and `None` for
/// other readings.
pub(super) fn value(
    driven: Option<&ServiceEvidence>,
    account: &Account,
    name: &str,
) -> Option<Result<f64, Missing>> {
    let wall = account.wall_ns as f64;
    let of = |value: &dyn Fn(&ServiceEvidence) -> f64| driven.map(value).ok_or(Missing::NotAsked);
    let of_stacks = |value: fn(&Stacks) -> u64| {
        let stacks = &driven.ok_or(Missing::NotAsked)?.stacks;
        let stacks = stacks.as_ref().map_err(Clone::clone)?;
        Ok(value(stacks) as f64)
    };
    Some(match name {
        "service_ready_seconds" => of(&|driven| driven.ready.as_secs_f64()),
        "service_use_ratio" => of(&|_| account.usage.cpu_ns() as f64 / wall),
        "load_use_ratio" => of(&|driven| driven.load_cpu_ns as f64 / wall),
        "thread_stacks_bytes" => of_stacks(|stacks| stacks.resident),
        "thread_stacks_huge_bytes" => of_stacks(|stacks| stacks.huge),
        "threads_total" => of_stacks(|stacks| stacks.threads),
        _ => return None,
    })
}
