//! What a forecast needs from this machine, put together.

use std::time::Duration;

use anyhow::Result;
use hugewise_linux::error::Kind;
use hugewise_linux::probe;
use hugewise_linux::root::Root;
use hugewise_linux::sys::thp::read_thp;
use hugewise_linux::tlb::read_tlb;
use hugewise_linux::used_bits::{clear_used_bits, read_used_where};
use hugewise_model::doctor::{Rung, Support};
use hugewise_model::forecast::{Forecast, bloat, worth};
use hugewise_model::host::Fact;
use hugewise_model::observation::Missing;
use hugewise_model::space::Space;

use crate::{exit, places};

/// How long a process is watched for what it uses, unless told otherwise.
pub const WATCH: Duration = Duration::from_secs(5);

/// Clears the used bits of a process, so that what it uses from here on can be read later.
pub fn clear_used(root: &Root, pid: u32) -> Result<()> {
    clear_used_bits(root, pid).map_err(|error| match error.kind {
        Kind::NotFound => exit::usage(format!("there is no process {pid}")),
        _ => exit::refused(format!(
            "{error}; needs the same user id, or CAP_DAC_OVERRIDE"
        )),
    })
}

/// The forecast for an address space of this machine. `watched_seconds` says how long before
/// the reading its used bits were cleared, where they were.
pub fn of(root: &Root, space: &Space, watched_seconds: Option<f64>) -> Forecast {
    let thp = read_thp(root).map_err(|error| error.into_missing("root"));
    Forecast {
        bloat: bloat(space, &thp),
        worth: worth(
            space,
            read_tlb(root),
            watched_seconds,
            read_used_where(root),
            walk_share(root),
        ),
    }
}

/// Time in page walks is not measured here: a forecast reads, and does not count over time.
/// What is told is whether it could be.
fn walk_share(root: &Root) -> Fact<f64> {
    let unreadable = |error: String| Missing::Unreadable { error };
    let answers = probe::answers_without_tracing(root, places::environment());
    let answers = answers.map_err(|error| unreadable(error.to_string()))?;
    let examination = probe::examine(root, &answers);
    let examination = examination.map_err(|error| unreadable(error.to_string()))?;
    Err(match examination.ladder.get(&Rung::Cycles) {
        Some(Support::No { missing }) => missing.clone(),
        Some(Support::Unknown { error }) => unreadable(error.clone()),
        Some(Support::Yes { .. }) | None => Missing::NotAsked,
    })
}
