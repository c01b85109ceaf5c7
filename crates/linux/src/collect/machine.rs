//! The machine's counters before and after a trial.

use std::collections::BTreeMap;
use std::time::Instant;

use hugewise_base::host::{Host, THP_DIR};
use hugewise_base::missing::Missing;

use crate::machine::clock::own_cpu_ns;
use crate::machine::root::Root;
use crate::proc::buddyinfo::read_buddyinfo;
use crate::proc::pressure::{Resource, read_pressure};
use crate::proc::stat::{MachineTime, read_stat};
use crate::proc::vmstat::read_vmstat;
use crate::sys::setting::read_setting;

/// Counters of the machine at one moment; those that could not be read contain the reason.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// `/proc/vmstat`.
    pub(super) events: Result<BTreeMap<String, u64>, Missing>,
    /// `hugepages-<N>kB/stats`, counters only, by size in KiB.
    pub(super) folio_events: BTreeMap<u64, BTreeMap<String, u64>>,
    /// `khugepaged/pages_collapsed`: huge pages that khugepaged made (Linux 2.6.38).
    pub(super) collapsed: Result<u64, Missing>,
    /// Free blocks by order.
    pub(super) free_blocks: Result<Vec<u64>, Missing>,
    /// Processor time of the machine.
    pub(super) time: Result<MachineTime, Missing>,
    /// The time during which at least one task waited for a disk, in microseconds; `None` if the kernel does not count
    /// it.
    pub(super) io_wait_us: Option<u64>,
    /// Processor time of this process, in nanoseconds.
    pub(super) own_cpu_ns: u64,
    /// The time of this reading.
    pub(super) at: Instant,
}

impl Machine {
    pub(super) fn read(root: &Root, sizes: &[u64]) -> Self {
        let events = |&kib: &u64| (kib, read_folio_events(root, kib));
        Self {
            events: read_vmstat(root).map_err(|error| error.into_missing("root")),
            folio_events: sizes.iter().map(events).collect(),
            collapsed: read_collapsed(root),
            free_blocks: read_buddyinfo(root).map_err(|error| error.into_missing("root")),
            time: read_stat(root).map_err(|error| error.into_missing("root")),
            io_wait_us: read_pressure(root, Resource::Io).ok().map(|it| it.some_us),
            own_cpu_ns: own_cpu_ns(),
            at: Instant::now(),
        }
    }
}

/// Returns the multi-size folios that may occur in this experiment: those that a program can get now, and those set by
/// any policy of the experiment. In KiB, ascending.
pub(super) fn watched_sizes(root: &Root, host: &Host, files: &[String]) -> Vec<u64> {
    let Some(pmd_bytes) = host.pmd_bytes() else {
        return Vec::new();
    };
    let global = read_setting(root, &format!("{THP_DIR}/enabled")).unwrap_or_default();
    let folders = root.list(THP_DIR).unwrap_or_default();
    let sizes = folders.iter().filter_map(|folder| {
        let kib: u64 = folder
            .strip_prefix("hugepages-")?
            .strip_suffix("kB")?
            .parse()
            .ok()?;
        let enabled = format!("{THP_DIR}/{folder}/enabled");
        let mode = match read_setting(root, &enabled).ok()?.as_str() {
            "inherit" => global.clone(),
            own => own.to_owned(),
        };
        let wanted = mode != "never" || files.contains(&enabled);
        (wanted && kib < pmd_bytes / 1024).then_some(kib)
    });
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    sizes
}

fn read_collapsed(root: &Root) -> Result<u64, Missing> {
    let path = format!("{THP_DIR}/khugepaged/pages_collapsed");
    let text = root.read_trimmed(&path);
    let text = text.map_err(|error| error.into_missing("root"))?;
    text.parse().map_err(|_| Missing::Unreadable {
        error: format!("/{path}: not a number: `{text}`"),
    })
}

/// Returns `nr_anon` of one folio size (Linux 6.12): anonymous folios on the whole machine.
pub(super) fn nr_anon(root: &Root, kib: u64) -> Option<u64> {
    let path = format!("{THP_DIR}/hugepages-{kib}kB/stats/nr_anon");
    root.read_trimmed(path).ok()?.parse().ok()
}

/// Returns the counters of one size; the files that begin with `nr_` are gauges.
fn read_folio_events(root: &Root, kib: u64) -> BTreeMap<String, u64> {
    let folder = format!("{THP_DIR}/hugepages-{kib}kB/stats");
    let names = root.list(&folder).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| !name.starts_with("nr_"))
        .filter_map(|name| {
            let text = root.read_trimmed(format!("{folder}/{name}")).ok()?;
            Some((name, text.parse().ok()?))
        })
        .collect()
}
