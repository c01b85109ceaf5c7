//! The machine before and after a trial: counters that everybody on it moves.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hugewise_model::host::{Host, THP_DIR};
use hugewise_model::observation::Missing;

use super::readback::in_force;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::stat::{MachineTime, read_stat, ticks_per_second};
use crate::proc::vmstat::read_vmstat;
use crate::root::Root;

/// What needs which privilege here: nothing, except that buddyinfo is for root on some systems.
const GRANT: &str = "root";

/// All counters at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    at: Instant,
    vmstat: Result<BTreeMap<String, u64>, Missing>,
    time: Result<MachineTime, Missing>,
    own_cpu: Duration,
    /// Free memory in huge pages.
    pub(super) free_huge_pages: Result<u64, Missing>,
    /// `hugepages-<N>kB/stats/*` of the sizes that are enabled.
    pub(super) folios: BTreeMap<u64, BTreeMap<String, u64>>,
}

impl Snapshot {
    pub(super) fn take(root: &Root, host: &Host, sizes: &[u64]) -> Self {
        Self {
            at: Instant::now(),
            vmstat: read_vmstat(root).map_err(|error| error.into_missing(GRANT)),
            time: read_stat(root).map_err(|error| error.into_missing(GRANT)),
            own_cpu: process_cpu_time(),
            free_huge_pages: read_free(root, host),
            folios: sizes
                .iter()
                .map(|&kib| (kib, read_folio_stats(root, kib)))
                .collect(),
        }
    }

    /// Time from this snapshot to a later one.
    pub(super) fn until(&self, later: &Self) -> Duration {
        later.at - self.at
    }

    /// Growth of the counters whose names are wanted, summed.
    pub(super) fn growth(
        &self,
        later: &Self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<u64, Missing> {
        let (before, after) = (self.vmstat.as_ref(), later.vmstat.as_ref());
        let (before, after) = (before.map_err(Clone::clone)?, after.map_err(Clone::clone)?);
        let mut growth = None;
        for (name, value) in after.iter().filter(|(name, _)| wanted(name)) {
            let earlier = before.get(name).copied().unwrap_or(0);
            growth = Some(growth.unwrap_or(0) + value.saturating_sub(earlier));
        }
        growth.ok_or_else(|| Missing::NotSupported {
            what: "this counter of /proc/vmstat".to_owned(),
        })
    }

    /// Time stolen by the hypervisor until a later snapshot, in seconds.
    pub(super) fn steal_seconds(&self, later: &Self) -> Result<f64, Missing> {
        let (before, after) = self.times(later)?;
        Ok(seconds(
            after.steal_ticks.saturating_sub(before.steal_ticks),
        ))
    }

    /// Busy time of everybody but the tree and ourselves until a later snapshot, in seconds.
    /// Ticks are coarse, so a small negative remainder is no remainder.
    pub(super) fn other_busy_seconds(&self, later: &Self, tree: Duration) -> Result<f64, Missing> {
        let (before, after) = self.times(later)?;
        let busy = seconds(after.busy_ticks.saturating_sub(before.busy_ticks));
        let own = later.own_cpu.saturating_sub(self.own_cpu);
        Ok((busy - tree.as_secs_f64() - own.as_secs_f64()).max(0.0))
    }

    fn times(&self, later: &Self) -> Result<(MachineTime, MachineTime), Missing> {
        Ok((self.time.clone()?, later.time.clone()?))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ticks since boot are far below 2^53"
)]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / ticks_per_second() as f64
}

fn read_free(root: &Root, host: &Host) -> Result<u64, Missing> {
    let huge_bytes = host.thp.as_ref().map_err(Clone::clone)?.pmd_bytes;
    let blocks = read_buddyinfo(root).map_err(|error| error.into_missing(GRANT))?;
    Ok(free_huge_pages(&blocks, host.page_bytes, huge_bytes))
}

/// The folio sizes below a PMD that are enabled now, for anybody, in KiB.
pub(super) fn folio_sizes(root: &Root, host: &Host) -> Vec<u64> {
    let Ok(thp) = &host.thp else {
        return Vec::new();
    };
    let global = in_force(root, &format!("{THP_DIR}/enabled"));
    let is_on = |kib: u64| {
        let own = in_force(root, &format!("{THP_DIR}/hugepages-{kib}kB/enabled"));
        let mode = if own.as_deref() == Some("inherit") {
            global.clone()
        } else {
            own
        };
        mode.is_some_and(|mode| mode != "never")
    };
    let pmd_kib = thp.pmd_bytes / 1024;
    thp.sizes
        .keys()
        .copied()
        .filter(|&kib| kib < pmd_kib && is_on(kib))
        .collect()
}

/// `nr_anon` of a size: how many anonymous folios of it the machine has (Linux 6.12).
pub(super) fn read_folio_gauge(root: &Root, kib: u64) -> Option<u64> {
    let path = format!("{THP_DIR}/hugepages-{kib}kB/stats/nr_anon");
    root.read_trimmed(path).ok()?.parse().ok()
}

/// All counters of a size; files that are not there or no number are left out (Linux 6.10).
fn read_folio_stats(root: &Root, kib: u64) -> BTreeMap<String, u64> {
    let folder = format!("{THP_DIR}/hugepages-{kib}kB/stats");
    let names = root.list(&folder).unwrap_or_default();
    names
        .into_iter()
        .filter_map(|name| {
            let value = root
                .read_trimmed(format!("{folder}/{name}"))
                .ok()?
                .parse()
                .ok()?;
            Some((name, value))
        })
        .collect()
}

fn process_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
