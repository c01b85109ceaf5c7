//! Kernel counters, each defined once: for trials, `stat`, `export`, `watch` and fleets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod table;

pub use table::Counter;

/// Which direction is good.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither good nor bad.
    Neither,
}

/// The place of a metric in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the first table, always.
    Always,
    /// In the first table unless it is zero everywhere.
    WhenNonZero,
    /// With `--verbose`, in JSON and CSV.
    OnRequest,
}

/// A part of the program that shows counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The readings of a trial.
    Trial,
    /// `hugewise stat`.
    Stat,
    /// `hugewise export`.
    Export,
    /// `hugewise watch`.
    Watch,
    /// The trend in `hugewise watch`.
    Trend,
}

/// The kernel file of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `/proc/vmstat`.
    Vmstat,
    /// `/proc/vmstat`, and `memory.stat` of a version 2 cgroup (mm/memcontrol.c).
    VmstatAndGroups,
    /// `hugepages-SIZE/stats`: one file per counter, for one folio size.
    SizeStats,
    /// `/proc/meminfo`: amounts, converted to bytes.
    Meminfo,
    /// `transparent_hugepage/khugepaged`: one file per counter.
    Khugepaged,
}

impl File {
    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vmstat | Self::VmstatAndGroups => "vmstat",
            Self::SizeStats => "stats",
            Self::Meminfo => "meminfo",
            Self::Khugepaged => "khugepaged",
        }
    }
}

/// The full description of a counter.
#[derive(Debug)]
pub struct CounterRow {
    /// Its name in records, in JSON and on the command line; it ends in its unit.
    pub name: &'static str,
    /// Its name in a table of 80 columns.
    pub label: &'static str,
    /// Its fields in the file, which are summed. A final `*` matches several kernel names, such as one per zone.
    pub fields: &'static [&'static str],
    /// Its file.
    pub file: File,
    /// The first Linux version with these names.
    pub since: &'static str,
    /// The good direction.
    pub better: Better,
    /// Its place in reports.
    pub shown: Shown,
    /// The parts of the program that show it.
    pub places: &'static [Place],
    /// Its metric in a fleet, if any.
    pub fleet: Option<&'static str>,
    /// Its meaning.
    pub meaning: &'static str,
}

impl CounterRow {
    /// Returns source and meaning: one sentence for lists of metrics.
    #[must_use]
    pub fn doc(&self) -> String {
        let fields = self.fields.join(" and ");
        format!("{} {fields}: {}.", self.file.name(), self.meaning)
    }
}

impl Counter {
    /// All counters, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        table::ALL.iter().copied()
    }

    /// Iterates over the counters of a place.
    pub fn at(place: Place) -> impl Iterator<Item = Self> {
        Self::all().filter(move |counter| counter.row().places.contains(&place))
    }

    /// Iterates over the counters of a fleet, with their metrics there.
    pub fn of_fleets() -> impl Iterator<Item = (Self, &'static str)> {
        Self::all().filter_map(|counter| Some((counter, counter.row().fleet?)))
    }

    /// Returns the counter of a folio size, by its file name.
    #[must_use]
    pub fn of_size(file: &str) -> Option<Self> {
        Self::all().find(|it| it.row().file == File::SizeStats && it.field() == file)
    }

    /// Returns true if the counter is in `/proc/vmstat`.
    #[must_use]
    pub fn is_in_vmstat(self) -> bool {
        matches!(self.row().file, File::Vmstat | File::VmstatAndGroups)
    }

    /// Returns the kernel's name of the counter; the first one, if it is a sum.
    #[must_use]
    pub fn field(self) -> &'static str {
        self.row().fields[0]
    }

    /// Returns true if a field of the file is this counter, or a part of its sum.
    #[must_use]
    pub fn has(self, field: &str) -> bool {
        let mut own = self.row().fields.iter();
        own.any(|own| match own.strip_suffix('*') {
            Some(start) => field.starts_with(start),
            None => *own == field,
        })
    }

    /// Returns its value from the fields of its file; `None` if this kernel has none of the counter's fields.
    #[must_use]
    pub fn total(self, fields: &BTreeMap<String, u64>) -> Option<u64> {
        let own = fields.iter().filter(|(field, _)| self.has(field));
        own.map(|(_, &value)| value).reduce(u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_field_of_the_kernel_has_two_rows() {
        let all = || Counter::all().map(Counter::row);
        let names: BTreeSet<_> = all().map(|row| row.name).collect();
        assert_eq!(names.len(), all().count());
        for counter in Counter::all() {
            for field in counter.row().fields {
                let others = Counter::all().filter(|other| other.has(field));
                assert_eq!(others.collect::<Vec<_>>(), [counter], "{field}");
            }
        }
    }

    #[test]
    fn each_row_is_of_use_and_is_explained() {
        for row in Counter::all().map(Counter::row) {
            let is_used = !row.places.is_empty() || row.fleet.is_some();
            assert!(is_used, "nothing shows {}", row.name);
            let ends = match row.file {
                File::Meminfo => "_bytes",
                _ => "_total",
            };
            assert!(row.name.ends_with(ends), "{}", row.name);
            assert!(!row.meaning.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn a_counter_of_several_fields_is_their_sum() {
        let fields = [
            ("allocstall_dma", 1),
            ("allocstall_normal", 4),
            ("pswpout", 8),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(Counter::Allocstall.total(&fields), Some(5));
        assert_eq!(Counter::SwappedPages.total(&fields), Some(8));
        assert_eq!(Counter::ThpSplitPmd.total(&fields), None);
    }
}
