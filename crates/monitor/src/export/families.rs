//! The families of the machine's totals: one function for each part.

use std::collections::BTreeMap;

use super::exposition::{Family, Kind, Series, Value};
use hugewise_base::counter::{Counter, File, Place};
use hugewise_base::host::HugetlbPool;
use hugewise_base::units::bytes_text;
use hugewise_observe::machine::{Collected, Khugepaged, MachineSample, Pressure, Setting, Zone};

/// The smallest exported order. Free blocks of smaller orders do not matter for huge pages, and there are many.
const LEAST_ORDER: usize = 4;

/// The families of the totals.
pub(super) fn totals(sample: &MachineSample) -> Vec<Family> {
    let mut all = Vec::new();
    all.extend(of(&sample.settings, |it| vec![settings(it)]));
    all.extend(of(&sample.sizes, sizes));
    all.extend(of(&sample.events, |it| vec![events(it)]));
    all.extend(of(&sample.memory, |it| vec![memory(it)]));
    all.extend(of(&sample.khugepaged, khugepaged));
    all.extend(of(&sample.zones, |it| vec![free_blocks(it)]));
    all.extend(of(&sample.pools, |it| vec![pools(it)]));
    all.extend(of(&sample.pressure, |it| vec![pressure(it)]));
    all
}

pub(super) fn of<T>(part: &Collected<T>, families: impl Fn(&T) -> Vec<Family>) -> Vec<Family> {
    part.value.as_ref().map(families).unwrap_or_default()
}

pub(super) fn family(name: &str, kind: Kind, help: &str, series: Vec<Series>) -> Family {
    Family {
        name: format!("hugewise_{name}"),
        help: help.to_owned(),
        kind,
        series,
    }
}

pub(super) fn series(labels: Vec<(&'static str, String)>, value: f64) -> Series {
    let value = Value::Number(value);
    Series { labels, value }
}

/// A size as in flags, `2M` or `64K`, because users type labels.
fn size_label(bytes: u64) -> String {
    let text = bytes_text(bytes).replace(' ', "");
    text.trim_end_matches("iB").to_owned()
}

fn settings(settings: &[Setting]) -> Family {
    let one = |setting: &Setting| {
        let mut labels = vec![("file", setting.file.clone())];
        labels.extend(setting.size.map(|size| ("size", size_label(size))));
        labels.push(("mode", setting.mode.clone()));
        series(labels, 1.0)
    };
    family(
        "thp_setting",
        Kind::Info,
        "A setting of transparent huge pages and its current value.",
        settings.iter().map(one).collect(),
    )
}

/// A family for each file of the sizes that this kernel has.
fn sizes(sizes: &BTreeMap<u64, BTreeMap<String, u64>>) -> Vec<Family> {
    let mut by_file: BTreeMap<&str, Vec<Series>> = BTreeMap::new();
    for (&size, files) in sizes {
        for (file, &value) in files {
            let labels = vec![("size", size_label(size))];
            let of_file = by_file.entry(file).or_default();
            of_file.push(series(labels, value as f64));
        }
    }
    let by_file = by_file.into_iter();
    let by_file = by_file.map(|(file, series)| size_family(file, series));
    by_file.chain(in_part(sizes)).collect()
}

/// Folios mapped in part as memory, over all sizes: a program has given back a part that is not yet free.
fn in_part(sizes: &BTreeMap<u64, BTreeMap<String, u64>>) -> Option<Family> {
    let of_size = |(size, files): (&u64, &BTreeMap<String, u64>)| {
        Some(
            Counter::NrAnonPartiallyMapped
                .total(files)?
                .saturating_mul(*size),
        )
    };
    let bytes = sizes
        .iter()
        .filter_map(of_size)
        .reduce(u64::saturating_add)?;
    Some(family(
        "thp_anon_partially_mapped_bytes",
        Kind::Gauge,
        "Anonymous folios of all sizes with a part no longer mapped, which is free after a split.",
        vec![series(Vec::new(), bytes as f64)],
    ))
}

fn size_family(file: &str, series: Vec<Series>) -> Family {
    let help = format!("{file} of hugepages-SIZE/stats.");
    match file.strip_prefix("nr_") {
        Some(state) => family(&format!("thp_{state}_folios"), Kind::Gauge, &help, series),
        None => family(&format!("thp_{file}"), Kind::Counter, &help, series),
    }
}

/// Huge page events, and the compaction that makes room for them: a series for each field. Fields that a kernel does
/// not have are left out.
fn events(events: &BTreeMap<String, u64>) -> Family {
    let given: Vec<Counter> = Counter::at(Place::Export)
        .filter(|counter| counter.is_in_vmstat())
        .collect();
    let is_given = |field: &str| given.iter().any(|counter| counter.has(field));
    let there = events.iter().filter(|(field, _)| is_given(field));
    family(
        "vmstat",
        Kind::Counter,
        "A counter of /proc/vmstat on huge pages or compaction.",
        there
            .map(|(field, value)| series(vec![("event", field.clone())], *value as f64))
            .collect(),
    )
}

fn memory(memory: &BTreeMap<String, u64>) -> Family {
    let there = Counter::at(Place::Export)
        .filter(|counter| counter.row().file == File::Meminfo)
        .filter_map(|counter| {
            let kind = counter.name().trim_end_matches("_bytes").to_owned();
            Some(series(vec![("kind", kind)], counter.total(memory)? as f64))
        });
    family(
        "memory_bytes",
        Kind::Gauge,
        "Memory of the machine: all, available, anonymous, shared; and what PMDs map of each kind.",
        there.collect(),
    )
}

fn khugepaged(work: &Khugepaged) -> Vec<Family> {
    let one = |name: &str, help: &str, value: f64| {
        family(name, Kind::Counter, help, vec![series(Vec::new(), value)])
    };
    let mut all = vec![
        one(
            "khugepaged_pages_collapsed",
            "Huge pages that khugepaged made.",
            work.pages_collapsed as f64,
        ),
        one(
            "khugepaged_full_scans",
            "Passes of khugepaged over all memory.",
            work.full_scans as f64,
        ),
    ];
    all.extend(work.cpu_ns.map(|ns| {
        let help = "Processor time of khugepaged.";
        one("khugepaged_cpu_seconds", help, ns as f64 / 1e9)
    }));
    all
}

fn free_blocks(zones: &[Zone]) -> Family {
    let of_zone = |zone: &Zone| {
        let (node, name) = (zone.node.to_string(), zone.name.clone());
        let large = zone.blocks.iter().enumerate().skip(LEAST_ORDER);
        large
            .map(|(order, &count)| {
                let labels = vec![
                    ("node", node.clone()),
                    ("zone", name.clone()),
                    ("order", order.to_string()),
                ];
                series(labels, count as f64)
            })
            .collect::<Vec<_>>()
    };
    family(
        "free_blocks",
        Kind::Gauge,
        "Free blocks of 2^order pages; a huge page of 2 MiB has order 9.",
        zones.iter().flat_map(of_zone).collect(),
    )
}

fn pools(pools: &BTreeMap<u64, HugetlbPool>) -> Family {
    let of_pool = |(&size, pool): (&u64, &HugetlbPool)| {
        let states = [
            ("total", pool.total),
            ("free", pool.free),
            ("reserved", pool.reserved),
            ("overcommit", pool.overcommit),
        ];
        states.map(|(state, pages)| {
            let labels = vec![("size", size_label(size)), ("state", state.to_owned())];
            series(labels, pages as f64)
        })
    };
    family(
        "hugetlb_pages",
        Kind::Gauge,
        "Pages of a hugetlb pool.",
        pools.iter().flat_map(of_pool).collect(),
    )
}

fn pressure(pressure: &Pressure) -> Family {
    let one = |kind: &str, us: u64| series(vec![("kind", kind.to_owned())], us as f64 / 1e6);
    family(
        "memory_pressure_seconds",
        Kind::Counter,
        "Time in which some or all tasks waited for memory.",
        vec![one("some", pressure.some_us), one("full", pressure.full_us)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each field of each counter has a series if and only if its row requires one.
    #[test]
    fn the_rows_say_which_counters_are_given() {
        let fields = |of: fn(&Counter) -> bool| -> BTreeMap<String, u64> {
            let counters = Counter::all().filter(of);
            let fields = counters.flat_map(|counter| counter.row().fields);
            fields.map(|field| ((*field).to_owned(), 1)).collect()
        };
        let given = |counter: &Counter| counter.row().places.contains(&Place::Export);
        let vmstat = fields(|it| it.is_in_vmstat());
        let wanted = Counter::all().filter(|it| it.is_in_vmstat()).filter(given);
        let wanted: usize = wanted.map(|counter| counter.row().fields.len()).sum();
        assert_eq!(events(&vmstat).series.len(), wanted);
        assert!(wanted < vmstat.len());
        let amounts = fields(|it| it.row().file == File::Meminfo);
        assert_eq!(memory(&amounts).series.len(), amounts.len());
    }
}
