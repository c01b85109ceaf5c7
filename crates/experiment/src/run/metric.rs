//! The metrics: one table, used by the code, the reports, the JSON and the documents.
//!
//! To add a metric, add a row to `metric/table.rs` and its arm to `readings.rs` in `linux::collect`. Neither compiles
//! without the other. A kernel counter needs only a row of [`crate::base::counter::Counter`].

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use crate::base::counter::{Better, Counter, Shown};
pub use crate::base::units::Unit;
use requests::suffix_metric;

/// Defines a table of metrics, and an enum with one variant for each of its rows. Code for every metric is a `match`,
/// which does not compile while one is missing.
#[macro_export]
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $id:ident in $table:ident;
        $($variant:ident $name:literal $label:literal
            $unit:ident$(($custom:literal))? $better:ident $scope:ident $shown:ident $doc:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        $visibility enum $id {
            $(#[doc = $doc] #[serde(rename = $name)] $variant,)*
        }

        /// The rows of the table, in the order of reports.
        $visibility static $table: &[$crate::run::metric::Metric] = &[
            $($crate::metrics!(
                @row $name $label $unit$(($custom))? $better $scope $shown $doc
            ),)*
        ];

        impl $id {
            /// All variants, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in records, options and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The row of the table.
            #[must_use]
            pub fn metric(self) -> &'static $crate::run::metric::Metric {
                &$table[self as usize]
            }
        }

        impl std::str::FromStr for $id {
            type Err = $crate::run::metric::UnknownMetric;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err($crate::run::metric::UnknownMetric),
                }
            }
        }

        $crate::metrics!(@text $id);
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $id:ident in $table:ident;
        $($variant:ident $name:literal $label:literal
            $unit:ident $better:ident $scope:ident $shown:ident $doc:literal;)*
        ..counters at $place:ident;
        $($later:ident $later_name:literal $later_label:literal
            $later_unit:ident $later_better:ident $later_scope:ident $later_shown:ident
            $later_doc:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility enum $id {
            $(#[doc = $doc] $variant,)*
            /// A counter of the kernel.
            Counter(Counter),
            $(#[doc = $later_doc] $later,)*
        }

        /// The rows of the table, in the order of reports.
        $visibility static $table: std::sync::LazyLock<Vec<$crate::run::metric::Metric>> =
            std::sync::LazyLock::new(|| {
                let mut rows = vec![$($crate::metrics!(
                    @row $name $label $unit $better $scope $shown $doc
                ),)*];
                rows.extend(Counter::at(Place::$place).map($crate::run::metric::Metric::from));
                rows.extend([$($crate::metrics!(
                    @row $later_name $later_label $later_unit $later_better $later_scope
                        $later_shown $later_doc
                ),)*]);
                rows
            });

        impl $id {
            /// All variants, in the order of the table.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$variant,)*]
                    .into_iter()
                    .chain(Counter::at(Place::$place).map(Self::Counter))
                    .chain([$(Self::$later,)*])
            }

            /// The name in records, options and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Counter(counter) => counter.name(),
                    $(Self::$later => $later_name,)*
                }
            }

            /// The row of the table.
            ///
            /// # Panics
            /// Panics if the counter is not one of this table.
            #[must_use]
            pub fn metric(self) -> &'static $crate::run::metric::Metric {
                let row = $table.iter().find(|row| row.name == self.name());
                row.unwrap_or_else(|| panic!("{self} has no row"))
            }
        }

        impl std::str::FromStr for $id {
            type Err = $crate::run::metric::UnknownMetric;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let mut all = Self::all();
                all.find(|id| id.name() == name).ok_or($crate::run::metric::UnknownMetric)
            }
        }

        impl serde::Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }

        $crate::metrics!(@text $id);
    };
    (
        @row $name:literal $label:literal $unit:ident$(($custom:literal))?
            $better:ident $scope:ident $shown:ident $doc:literal
    ) => {
        $crate::run::metric::Metric {
            name: std::borrow::Cow::Borrowed($name),
            label: std::borrow::Cow::Borrowed($label),
            unit: $crate::run::metric::Unit::$unit$((std::borrow::Cow::Borrowed($custom)))?,
            better: $crate::run::metric::Better::$better,
            scope: $crate::run::metric::Scope::$scope,
            shown: $crate::run::metric::Shown::$shown,
            doc: std::borrow::Cow::Borrowed($doc),
        }
    };
    (@text $id:ident) => {
        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl AsRef<str> for $id {
            fn as_ref(&self) -> &str {
                self.name()
            }
        }
    };
}
pub mod cell_label;
pub mod cells;
pub mod live;
pub mod requests;
mod table;

pub use table::{METRICS, MetricId};

/// A quantity measured in a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its one name everywhere; ends in its unit, as OpenMetrics requires.
    pub name: Cow<'static, str>,
    /// Its label for users, in a table of 80 columns.
    pub label: Cow<'static, str>,
    /// Its unit.
    pub unit: Unit,
    /// The good direction.
    pub better: Better,
    /// The processes that it covers.
    pub scope: Scope,
    /// The place where it is shown.
    pub shown: Shown,
    /// Its meaning, and the file or call that it comes from.
    pub doc: Cow<'static, str>,
}

impl Metric {
    /// Returns true if it was measured in a cell of a bench: `bench/CELL/METRIC`.
    #[must_use]
    pub fn is_of_cell(&self) -> bool {
        cells::split(&self.name).is_some()
    }
}

/// A kernel counter as a metric: its growth.
impl From<Counter> for Metric {
    fn from(counter: Counter) -> Self {
        let row = counter.row();
        Self {
            name: Cow::Borrowed(row.name),
            label: Cow::Borrowed(row.label),
            unit: Unit::Count,
            better: row.better,
            scope: Scope::Machine,
            shown: row.shown,
            doc: Cow::Owned(row.doc()),
        }
    }
}

/// The processes that a reading covers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// The workload's whole process tree.
    Tree,
    /// The largest single process of the tree.
    Process,
    /// The started process, without its children.
    Main,
    /// The cgroup made for the trial: the tree with its page cache and kernel memory.
    Group,
    /// The whole machine, including other programs.
    Machine,
    /// The measurement process.
    Own,
}

pub use metrics;

/// A name that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no metric has this name")]
pub struct UnknownMetric;

/// Metrics with a common origin and naming scheme.
#[derive(Debug)]
pub struct Family {
    /// The naming scheme: `METRIC` is the placeholder for the name of a row.
    pub names: &'static str,
    /// The things that have them.
    pub doc: &'static str,
    /// The rows; empty if the names depend on the machine.
    pub metrics: &'static [Metric],
}

/// Every metric that the experiments of this program know.
pub static FAMILIES: LazyLock<[Family; 5]> = LazyLock::new(|| {
    [
        Family {
            names: "METRIC",
            doc: "Every trial.",
            metrics: METRICS.as_slice(),
        },
        Family {
            names: "mthp_<N>kib_{peak_bytes,exit_bytes,<COUNTER>_total}",
            doc: "Every trial, for each folio size of N KiB that the machine has.",
            metrics: &[],
        },
        Family {
            names: "[PREFIX_]METRIC, [PREFIX_]latency_{p50,p90,p99,p99_9,…}_seconds",
            doc: "A trial with --latency; PREFIX names one of several loads.",
            metrics: requests::REQUEST_METRICS,
        },
        Family {
            names: "bench/CELL/METRIC, bench/CELL/BUFFER_KIND_bytes",
            doc: "A cell of a bench.",
            metrics: cells::CELL_METRICS,
        },
        Family {
            names: "METRIC",
            doc: "A period of a process under `live`.",
            metrics: live::LIVE_METRICS,
        },
    ]
});

/// Finds a metric that is always measured, or one from a reader of `--latency`.
#[must_use]
pub fn find(name: &str) -> Option<Metric> {
    measured(name).or_else(|| suffix_metric(name))
}

/// Finds a metric of the table, or of the families that depend on the machine's folio sizes: `mthp_<N>kib_peak_bytes`,
/// `mthp_<N>kib_exit_bytes` and `mthp_<N>kib_<counter>_total`. Also finds cells of a bench, `bench/<cell>/<metric>`
/// (see [`crate::run::metric::cells`]).
#[must_use]
pub fn measured(name: &str) -> Option<Metric> {
    name.parse::<MetricId>()
        .ok()
        .map(|id| id.metric().clone())
        .or_else(|| find_mthp(name))
        .or_else(|| cells::find(name))
        .or_else(|| live::find(name))
}

fn find_mthp(name: &str) -> Option<Metric> {
    let rest = name.strip_prefix("mthp_")?;
    let (size, what) = rest.split_once("kib_")?;
    let kib: u64 = size.parse().ok()?;
    let of_size = match what {
        "peak_bytes" => mthp_peak(kib),
        "exit_bytes" => mthp_at_exit(kib),
        _ => mthp_counter(kib, what.strip_suffix("_total")?),
    };
    Some(Metric {
        name: Cow::Owned(name.to_owned()),
        ..of_size
    })
}

fn mthp_peak(kib: u64) -> Metric {
    Metric {
        unit: Unit::Bytes,
        shown: Shown::WhenNonZero,
        ..mthp(
            format!("{kib} KiB folios, peak"),
            format!(
                "Largest growth of hugepages-{kib}kB/stats/nr_anon during the trial, times the \
                 size (Linux 6.12); it includes other programs."
            ),
        )
    }
}

fn mthp_at_exit(kib: u64) -> Metric {
    Metric {
        unit: Unit::Bytes,
        scope: Scope::Main,
        ..mthp(
            format!("{kib} KiB folios, at exit"),
            format!(
                "Anonymous memory of the main process in folios of {kib} KiB at its end, by \
                 /proc/kpageflags."
            ),
        )
    }
}

fn mthp_counter(kib: u64, counter: &str) -> Metric {
    let known = Counter::of_size(counter);
    Metric {
        shown: known.map_or(Shown::OnRequest, |known| known.row().shown),
        ..mthp(
            format!("{kib} KiB {}", counter.replace('_', " ")),
            format!("Growth of hugepages-{kib}kB/stats/{counter} during the trial."),
        )
    }
}

/// The common properties of metrics of folio sizes; the caller sets the name.
fn mthp(label: String, doc: String) -> Metric {
    Metric {
        name: Cow::Borrowed(""),
        label: Cow::Owned(label),
        unit: Unit::Count,
        better: Better::Neither,
        scope: Scope::Machine,
        shown: Shown::OnRequest,
        doc: Cow::Owned(doc),
    }
}

#[cfg(test)]
mod tests;
