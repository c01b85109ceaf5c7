//! What two samples say of the time between them.

use std::collections::BTreeMap;

use super::sample::{Processes, Sample};

/// A counter of the machine that the screen shows as a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    /// What it counts, in words.
    pub(super) name: &'static str,
    /// Its names in `/proc/vmstat`, those that end in `*` as beginnings; they are added up.
    fields: &'static [&'static str],
    /// Whether a high rate is bad news.
    pub(super) is_trouble: bool,
}

/// The counters, two a line.
pub(super) const COUNTERS: [Counter; 8] = [
    counter("page faults", &["pgfault"], false),
    counter("huge faults", &["thp_fault_alloc"], false),
    counter("fallbacks", &["thp_fault_fallback"], true),
    counter("collapses", &["thp_collapse_alloc"], false),
    counter("splits", &["thp_split_page"], true),
    counter("failed collapses", &["thp_collapse_alloc_failed"], true),
    counter("compaction stalls", &["compact_stall"], true),
    counter("reclaim stalls", &["allocstall_*"], true),
];

const fn counter(name: &'static str, fields: &'static [&'static str], is_trouble: bool) -> Counter {
    Counter {
        name,
        fields,
        is_trouble,
    }
}

impl Counter {
    /// Its value; `None` where this kernel has none of its fields.
    pub(super) fn value(&self, sample: &Sample) -> Option<u64> {
        let events = sample.machine.events.value.as_ref().ok()?;
        let is_ours = |name: &str| {
            self.fields
                .iter()
                .any(|field| match field.strip_suffix('*') {
                    Some(begin) => name.starts_with(begin),
                    None => name == *field,
                })
        };
        let ours = events.iter().filter(|(name, _)| is_ours(name));
        ours.map(|(_, value)| *value).reduce(u64::saturating_add)
    }
}

/// Two samples, the earlier first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'a> {
    pub(super) before: Option<&'a Sample>,
    pub(super) now: &'a Sample,
}

impl Between<'_> {
    /// Time between them, in seconds; `None` for the first sample.
    pub(super) fn seconds(&self) -> Option<f64> {
        seconds(self.before?.at_ns, self.now.at_ns)
    }

    /// By how much a counter grows in a second; `None` where that is not known.
    pub(super) fn per_second(&self, value: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let grown = value(self.now)?.checked_sub(value(self.before?)?)?;
        Some(grown as f64 / self.seconds()?)
    }
}

fn seconds(from_ns: u64, to_ns: u64) -> Option<f64> {
    let between = to_ns.checked_sub(from_ns).filter(|between| *between > 0)?;
    Some(between as f64 / 1e9)
}

/// Page faults a second of each process that is in both lists.
pub(super) fn fault_rates(before: &Processes, now: &Processes) -> BTreeMap<(u32, u64), f64> {
    let Some(seconds) = seconds(before.at_ns, now.at_ns) else {
        return BTreeMap::new();
    };
    let earlier: BTreeMap<_, _> = before
        .list
        .iter()
        .map(|process| (process.identity(), process.faults))
        .collect();
    let rates = now.list.iter().filter_map(|process| {
        let earlier = earlier.get(&process.identity())?;
        let grown = process.faults.checked_sub(*earlier)?;
        Some((process.identity(), grown as f64 / seconds))
    });
    rates.collect()
}
