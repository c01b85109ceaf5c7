//! Rates between two samples.

use std::collections::BTreeMap;

use hugewise_base::counter::{Counter, Place};

use super::sample::{Processes, Sample};

/// The counters of `/proc/vmstat` that the screen shows as rates, two a line.
pub(super) fn counters() -> impl Iterator<Item = Counter> {
    Counter::at(Place::Watch).filter(|counter| counter.is_in_vmstat())
}

/// The value of a counter; `None` if this kernel has none of its fields.
pub(super) fn value(counter: Counter, sample: &Sample) -> Option<u64> {
    counter.total(sample.machine.events.value.as_ref().ok()?)
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

    /// The growth of a counter per second; `None` if unknown.
    pub(super) fn per_second(&self, value: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let grown = value(self.now)?.checked_sub(value(self.before?)?)?;
        Some(grown as f64 / self.seconds()?)
    }
}

fn seconds(from_ns: u64, to_ns: u64) -> Option<f64> {
    let between = to_ns.checked_sub(from_ns).filter(|between| *between > 0)?;
    Some(between as f64 / 1e9)
}

/// Page faults per second of each process that is in both lists.
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
