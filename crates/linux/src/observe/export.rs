//! The huge page state of the machine, from files that need no walk of page tables.

use std::collections::BTreeMap;
use std::time::Instant;

use hugewise_base::counter::{Counter, File};
use hugewise_base::host::THP_DIR;
use hugewise_base::missing::Fact;
use hugewise_observe::machine::{Collected, Khugepaged as Work, MachineSample};

use super::khugepaged::Khugepaged;
use crate::machine::error::{Kind, Result};
use crate::machine::number;
use crate::machine::root::Root;
use crate::proc::buddyinfo::read_zones;
use crate::proc::meminfo::read_meminfo;
use crate::proc::pressure::{Resource, read_pressure};
use crate::proc::vmstat::read_vmstat;
use crate::sys::hugetlb::read_pools;
use crate::sys::thp::{parse_size_folder, read_settings};

/// Takes samples of a machine.
#[derive(Clone, Debug)]
pub struct Collector {
    root: Root,
    khugepaged: Khugepaged,
}

impl Collector {
    /// Creates a collector for the machine below `root`. Searches all processes once, for khugepaged.
    #[must_use]
    pub fn new(root: Root) -> Self {
        Self {
            khugepaged: Khugepaged::find(&root),
            root,
        }
    }

    /// Reads everything once: some hundred small files.
    #[must_use]
    pub fn sample(&self) -> MachineSample {
        let root = &self.root;
        MachineSample {
            settings: collected("nothing", || read_settings(root)),
            sizes: collected("nothing", || read_sizes(root)),
            events: collected("nothing", || read_vmstat(root)),
            memory: collected("nothing", || read_memory(root)),
            khugepaged: collected("nothing", || self.read_work()),
            zones: collected("root", || read_zones(root)),
            pools: collected("nothing", || read_pools(root)),
            pressure: collected("nothing", || read_pressure(root, Resource::Memory)),
        }
    }

    fn read_work(&self) -> Result<Work> {
        let file = |name: &str| number::read(&self.root, format!("{THP_DIR}/khugepaged/{name}"));
        Ok(Work {
            pages_collapsed: file("pages_collapsed")?,
            full_scans: file("full_scans")?,
            cpu_ns: self.khugepaged.cpu_ns(&self.root).ok(),
        })
    }
}

/// Takes a reading, and the time that it took. `grant` is the smallest privilege that helps if the kernel refuses.
pub fn collected<T>(grant: &str, read: impl FnOnce() -> Result<T>) -> Collected<T> {
    timed(|| read().map_err(|error| error.into_missing(grant)))
}

/// Reads a fact, and the time that it took.
pub fn timed<T>(read: impl FnOnce() -> Fact<T>) -> Collected<T> {
    let began = Instant::now();
    Collected {
        value: read(),
        seconds: began.elapsed().as_secs_f64(),
    }
}

/// Reads all files of each size, so that counters of newer kernels appear without a new release.
fn read_sizes(root: &Root) -> Result<BTreeMap<u64, BTreeMap<String, u64>>> {
    let mut sizes = BTreeMap::new();
    for folder in root.list(THP_DIR)? {
        let Some(kib) = parse_size_folder(&folder) else {
            continue;
        };
        let stats = format!("{THP_DIR}/{folder}/stats");
        let files = match root.list(&stats) {
            Err(error) if error.kind == Kind::NotFound => continue,
            other => other?,
        };
        let values = files.into_iter().map(|file| {
            let value = number::read(root, format!("{stats}/{file}"))?;
            Ok((file, value))
        });
        sizes.insert(kib * 1024, values.collect::<Result<_>>()?);
    }
    Ok(sizes)
}

fn read_memory(root: &Root) -> Result<BTreeMap<String, u64>> {
    let meminfo = read_meminfo(root)?;
    let fields = Counter::all()
        .filter(|counter| counter.row().file == File::Meminfo)
        .map(Counter::field);
    Ok(fields
        .filter_map(|field| Some((field.to_owned(), meminfo.get(field)?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use hugewise_monitor::export::exposition::{Family, Format, text};
    use hugewise_monitor::export::{Extras, families};

    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn a_part_that_cannot_be_read_has_no_series_and_says_so() {
        let (_folder, root) = machine_of(&[
            ("proc/vmstat", "thp_fault_alloc 44\npgfault 7\n"),
            ("proc/buddyinfo", "Node 0, zone Normal 1 1 1 1 5\n"),
        ]);
        let sample = Collector::new(root).sample();
        let text = text(&families(&sample, &Extras::default()), Format::Prometheus);
        let has = |line: &str| assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        has("hugewise_vmstat_total{event=\"thp_fault_alloc\"} 44");
        has("hugewise_free_blocks{node=\"0\",zone=\"Normal\",order=\"4\"} 5");
        has("hugewise_collector_success{collector=\"vmstat\"} 1");
        has("hugewise_collector_success{collector=\"settings\"} 0");
        assert!(
            !text.contains("pgfault") && !text.contains("thp_setting"),
            "{text}"
        );
    }

    /// The series budget of a plain host, whatever is running on it.
    #[test]
    fn this_machine_has_at_most_three_hundred_series() {
        let sample = Collector::new(Root::real()).sample();
        let families = families(&sample, &Extras::default());
        let series: usize = families.iter().map(Family::stored).sum();
        assert!((10..=300).contains(&series), "{series}");
    }
}
