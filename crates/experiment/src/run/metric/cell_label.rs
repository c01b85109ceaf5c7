//! The label of a cell for users: sizes as `256 MiB`, and only the words that differ between cells.

use std::borrow::Cow;

use crate::base::units::bytes_text;
use crate::run::cells::suite::{Suite, Words};
use crate::run::cells::{Bench, BenchCell};
use crate::run::metric;
use crate::run::metric::Metric;
use crate::run::metric::cells::{of_cell, split};

/// The words of a cell that differ between cells, and its first.
pub fn of(bench: &Bench, suite: &Suite, cell: &BenchCell) -> String {
    let words: Vec<String> = (0..suite.axes.len())
        .filter(|&axis| axis == 0 || varies(bench, axis))
        .filter_map(|axis| word(suite, cell, axis))
        .collect();
    words.join(" ")
}

/// Returns true if the cells of a bench have more than one word for an axis.
pub fn varies(bench: &Bench, axis: usize) -> bool {
    let first = bench.cells.first().and_then(|cell| cell.part(axis));
    bench.cells.iter().any(|cell| cell.part(axis) != first)
}

/// One word of a cell; `None` for the default.
pub fn word(suite: &Suite, cell: &BenchCell, axis: usize) -> Option<String> {
    let word = cell.part(axis)?;
    let number = cell.number(axis);
    Some(match (suite.axes.get(axis)?.words, number) {
        (Words::Bytes, Some(bytes)) => bytes_text(bytes),
        (Words::Counts, Some(count)) => format!("×{count}"),
        (Words::Percent, Some(0)) => "as it is".to_owned(),
        (Words::Percent, Some(percent)) => format!("{percent} % small"),
        _ if word == "untouched" => "zero page".to_owned(),
        _ if word == "written" => return None,
        _ => word.to_owned(),
    })
}

/// A metric by its name, as in [`metric::find`]; one of a cell gets a label that fits a sentence, `latency of 256 MiB`.
#[must_use]
pub fn find_metric(bench: Option<&Bench>, name: &str) -> Option<Metric> {
    let found = metric::find(name)?;
    let said = bench.and_then(|bench| {
        let (cell, last) = split(name)?;
        let cell = of(bench, bench.suite()?, &cell.parse().ok()?);
        Some(format!("{} of {cell}", of_cell(last)?.label))
    });
    Some(match said {
        Some(label) => Metric {
            label: Cow::Owned(label),
            ..found
        },
        None => found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(suite: &str, cells: &[&str]) -> Bench {
        Bench {
            suite: suite.to_owned(),
            cells: cells.iter().map(|cell| cell.parse().unwrap()).collect(),
            processor: None,
            left_out: None,
        }
    }

    #[test]
    fn a_sentence_names_a_cell_as_the_table_does() {
        let called = |suite, cells: &[&str], metric: &str| {
            let bench = bench(suite, cells);
            let name = bench.cells.last().unwrap().reading(metric);
            find_metric(Some(&bench), &name).unwrap().label.into_owned()
        };
        assert_eq!(
            called("latency", &["4096", "268435456"], "latency_seconds"),
            "latency of 256 MiB"
        );
        let copies = ["copy/libc/4096/written/1", "copy/libc/1048576/untouched/1"];
        assert_eq!(
            called("memory", &copies, "rate_bytes_per_second"),
            "speed of copy 1 MiB zero page"
        );
        assert_eq!(
            called("slab", &["slab/100000/2000000"], "operations_per_second"),
            "operations of slab"
        );
        assert_eq!(
            called("fragment", &["80/268435456"], "time_per_gib_seconds"),
            "time per GiB of 80 % small"
        );
    }

    #[test]
    fn what_is_no_cell_keeps_its_name() {
        let bench = bench("latency", &["4096"]);
        let label = |bench, name| find_metric(bench, name).map(|it| it.label.into_owned());
        assert_eq!(
            label(Some(&bench), "wall_seconds"),
            label(None, "wall_seconds")
        );
        assert_eq!(label(Some(&bench), "no_such"), None);
    }
}
