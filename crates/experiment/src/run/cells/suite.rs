//! The suites as data. Code specific to one suite is in a separate file.

/// A set of cells with common axes.
#[derive(Debug)]
pub struct Suite {
    /// The word after `hugewise bench`, and after `hugewise-lab bench`.
    pub name: &'static str,
    /// The meaning of a cell's words, in order.
    pub axes: &'static [CellAxis],
    /// The displayed metrics, the deciding one first.
    pub metrics: &'static [&'static str],
    /// The definition of the numbers: a sentence below the table.
    pub counted: &'static str,
}

/// The meaning of one word of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellAxis {
    /// Its name.
    pub name: &'static str,
    /// The kind of its words.
    pub words: Words,
    /// Its place in the report.
    pub place: Place,
}

/// The kind of an axis's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Names.
    Names,
    /// Numbers of bytes.
    Bytes,
    /// Counts.
    Counts,
    /// Shares in percent; 0 is the unmodified machine.
    Percent,
}

/// The place of an axis in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the heading of a block of rows.
    Heading,
    /// At the beginning of each row.
    Row,
}

impl Suite {
    /// The metric that decides.
    #[must_use]
    pub fn primary(&self) -> &'static str {
        self.metrics.first().copied().unwrap_or("time_seconds")
    }

    /// The metrics in the order of rows: the huge share comes first, because it explains all the others.
    pub fn shown(&self) -> impl Iterator<Item = &'static str> {
        let huge = self.metrics.iter().filter(|&&name| name == HUGE);
        let others = self.metrics.iter().filter(|&&name| name != HUGE);
        huge.chain(others).copied()
    }
}

/// The metric for the share of memory that became huge.
pub const HUGE: &str = "huge_ratio";

const fn axis(name: &'static str, words: Words, place: Place) -> CellAxis {
    CellAxis { name, words, place }
}

/// All suites.
pub static SUITES: &[Suite] = &[
    Suite {
        name: "memory",
        axes: &[
            axis("operation", Words::Names, Place::Heading),
            axis("kernel", Words::Names, Place::Heading),
            axis("block", Words::Bytes, Place::Row),
            axis("source", Words::Names, Place::Heading),
            axis("threads", Words::Counts, Place::Heading),
        ],
        metrics: &["rate_bytes_per_second"],
        counted: "GB/s is 10⁹ bytes a second. A copy counts each byte once; a triad counts its \
                  three arrays, as STREAM does. With threads each has blocks of its own, and \
                  their bytes are added.",
    },
    Suite {
        name: "latency",
        axes: &[axis("footprint", Words::Bytes, Place::Row)],
        metrics: &["latency_seconds"],
        counted: "One load after the other over a random cycle of all cache lines of the \
                  footprint.",
    },
    Suite {
        name: "prefault",
        axes: &[
            axis("method", Words::Names, Place::Row),
            axis("memory", Words::Bytes, Place::Heading),
            axis("threads", Words::Counts, Place::Heading),
        ],
        metrics: &[
            "time_per_gib_seconds",
            "faults_total",
            "later_faults_total",
            "splits_total",
        ],
        counted: "Time for each GiB brought in. Faults then are those of one store to every page \
                  afterwards. Splits are of the whole machine.",
    },
    Suite {
        name: "growth",
        axes: &[
            axis("means", Words::Names, Place::Heading),
            axis("step", Words::Bytes, Place::Row),
            axis("start", Words::Names, Place::Heading),
            axis("touched", Words::Names, Place::Heading),
            axis("heap", Words::Bytes, Place::Heading),
        ],
        metrics: &["time_per_gib_seconds", "huge_ratio", "faults_total"],
        counted: "A heap grown step by step to its size, in a process of its own; `at-once` \
                  uses each step before the next one, `later` all of them at the end. Time is \
                  for each GiB grown and touched.",
    },
    Suite {
        name: "heap",
        axes: &[
            axis("program", Words::Names, Place::Row),
            axis("heap", Words::Bytes, Place::Heading),
        ],
        metrics: &["time_per_gib_seconds", "huge_ratio", "faults_total"],
        counted: "A heap grown as the program grows it. Rows of glibc are malloc of this \
                  process in objects of 100 KiB; the others are the laboratory's imitations.",
    },
    Suite {
        name: "fork",
        axes: &[
            axis("moment", Words::Names, Place::Row),
            axis("memory", Words::Bytes, Place::Heading),
            axis("writes", Words::Counts, Place::Heading),
        ],
        metrics: &[
            "p99_seconds",
            "fork_seconds",
            "p50_seconds",
            "max_seconds",
            "faults_total",
            "splits_total",
            "added_bytes",
        ],
        counted: "Writes to words at random, each with one reading of the clock; `forked` \
                  beside a child that holds the memory and does nothing, `alone` without one. \
                  Splits are of the whole machine.",
    },
    Suite {
        name: "slab",
        axes: &[
            axis("source", Words::Names, Place::Row),
            axis("places", Words::Counts, Place::Heading),
            axis("operations", Words::Counts, Place::Heading),
        ],
        metrics: &[
            "operations_per_second",
            "later_operations_per_second",
            HUGE,
            "faults_total",
            "kernel_ratio",
            "zeroing_ratio",
        ],
        counted: "Objects of 16 to 1,040 bytes taken and given back at random places, by one \
                  thread. The zeroing share is an estimate from below: the memory that came in, \
                  at the speed at which the same process clears memory.",
    },
    Suite {
        name: "fragment",
        axes: &[
            axis("state", Words::Percent, Place::Row),
            axis("memory", Words::Bytes, Place::Heading),
        ],
        metrics: &[
            "time_per_gib_seconds",
            "huge_ratio",
            "faults_total",
            "stalls_total",
            "fragmented_ratio",
            "later_fragmented_ratio",
            "reaching_seconds",
            "kept_bytes",
        ],
        counted: "Fresh memory written while so much of free memory is in blocks smaller than a \
                  huge page; `as it is` is the state that was found. Time is for each GiB \
                  written. Compactions are of the whole machine.",
    },
];

/// The suite of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::metric::cells::of_cell;

    #[test]
    fn every_suite_is_named_once_and_shows_metrics_of_the_table() {
        let mut seen = std::collections::BTreeSet::new();
        for suite in SUITES {
            assert!(seen.insert(suite.name), "{} twice", suite.name);
            assert!(!suite.metrics.is_empty() && !suite.axes.is_empty());
            for name in suite.metrics {
                assert!(of_cell(name).is_some(), "{}: {name}", suite.name);
            }
        }
    }
}
