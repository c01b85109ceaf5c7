//! A bench in its report: its cells as rows of the table, with the pages of each.

use std::collections::{BTreeMap, BTreeSet};

use super::{latency, plot};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_experiment::run::cells::suite::{Suite, Words};
use hugewise_experiment::run::cells::{Bench, BenchCell};
use hugewise_experiment::run::compare::Table;
use hugewise_experiment::run::compare::medians::{Medians, arm_trials};
use hugewise_experiment::run::metric::cell_label::{varies, word};
use hugewise_experiment::run::metric::cells::{CellMetric, PageKind};
use hugewise_experiment::run::metric::{cell_label as label, cells as metric};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::{CellRow, CellView, Report};
use hugewise_text::document::Level;
use hugewise_text::figure::Figure;
use hugewise_text::number::quantity;
use hugewise_text::wrap::plain;

/// Pages that could not be read.
pub(super) const UNKNOWN: &str = "not known";

/// Creates the report of any record; the report of a bench includes its cells.
#[must_use]
pub fn report<'a>(record: &'a Record, table: Table, path: Option<String>) -> Report<'a> {
    Report::new(record, table, path).with_cells(view(record))
}

/// Returns the view of the cells of a record; `None` if it has no cells, or its suite is unknown to this program.
#[must_use]
pub fn view(record: &Record) -> Option<Box<dyn CellView + '_>> {
    let bench = record.header.plan.bench.as_ref()?;
    let suite = bench.suite()?;
    Some(Box::new(View {
        record,
        bench,
        suite,
    }))
}

/// The cells of one record.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) record: &'a Record,
    pub(super) bench: &'a Bench,
    pub(super) suite: &'static Suite,
}

impl CellView for View<'_> {
    /// Returns all cells for each metric of the suite, in order. The first screen has the primary metric for as many
    /// cells as fit.
    fn rows(&self) -> Vec<CellRow> {
        let (bench, suite) = (self.bench, self.suite);
        let brief = brief(bench);
        let rows = suite.shown().flat_map(|name| {
            let brief = &brief;
            bench.cells.iter().map(move |cell| {
                let words = label::of(bench, suite, cell);
                let label = match metric::of_cell(name) {
                    Some(known) if suite.metrics.len() > 1 => format!("{words}: {}", known.label),
                    _ => words,
                };
                let is_first = name == suite.primary() && brief.contains(&cell);
                CellRow {
                    metric: cell.reading(name),
                    label,
                    level: if is_first {
                        Level::First
                    } else {
                        Level::Detail
                    },
                }
            })
        });
        rows.collect()
    }

    fn has_same_pages(&self, metric: &str, policy: &str) -> bool {
        let medians = Medians::of(self.record);
        let baseline = &self.record.header.plan.baseline;
        let cell = self.bench.cells.iter().find(|cell| {
            let mut names = self.suite.shown();
            names.any(|name| cell.reading(name) == metric)
        });
        let pages = |policy: &str, cell| pages_of_cell(self.record, policy, &medians, cell);
        cell.is_some_and(|cell| {
            let here = pages(policy, cell);
            here != UNKNOWN && here == pages(baseline, cell)
        })
    }

    fn legend(&self) -> Vec<String> {
        let policies = self.record.header.plan.policies.iter();
        let proofs = policies.filter_map(|policy| {
            let pages = proof(self.record, &policy.name, self.bench)?;
            Some(format!("Pages under {}: {pages}.", plain(&policy.name)))
        });
        let mut lines: Vec<String> = proofs.collect();
        lines.extend(zero_source(self.bench));
        lines.extend(common(self.bench, self.suite));
        lines.push(self.suite.counted.to_owned());
        lines.extend(harness(self.record));
        lines.extend(self.bench.left_out.clone());
        if let Some(summary) = latency::summary(self.record) {
            lines.extend(summary.sentences());
        }
        lines
    }

    fn figures(&self) -> Vec<Figure> {
        plot::figures(self.record)
    }

    fn drawings(&self) -> Vec<Vec<String>> {
        plot::in_text(self.record)
    }

    fn json(&self) -> Option<(&'static str, serde_json::Value)> {
        let summary = latency::summary(self.record)?;
        Some(("latency", serde_json::to_value(&summary).ok()?))
    }
}

/// The maximum of rows on the first screen.
const MOST_ROWS: usize = 10;

/// Returns the cells of the first screen: sizes that are powers of two, always including the last.
fn brief(bench: &Bench) -> Vec<&BenchCell> {
    let whole = |cell: &&BenchCell| cell.number(0).is_none_or(u64::is_power_of_two);
    let mut cells: Vec<&BenchCell> = bench.cells.iter().collect();
    if cells.len() > MOST_ROWS && bench.suite == "latency" {
        cells.retain(whole);
    }
    let step = cells.len().div_ceil(MOST_ROWS).max(1);
    cells.into_iter().rev().step_by(step).collect()
}

/// Describes the overhead and place of the measurement; `None` if the suite does not report them.
fn harness(record: &Record) -> Option<String> {
    let medians = Medians::of(record);
    let baseline = record.header.plan.baseline.as_str();
    let took = |name: &str| {
        let seconds = medians
            .get(baseline, BenchCell::harness().reading(name))
            .ok()?;
        Some(quantity(&Unit::Seconds, seconds))
    };
    let mut costs = vec![format!(
        "Overhead: clock read {}",
        took(CellMetric::TimerSeconds.name())?
    )];
    costs.extend(took(CellMetric::EmptySeconds.name()).map(|it| format!("empty pass {it}")));
    let place = nodes(record).map(|it| format!("; measured on NUMA node {it}"));
    Some(format!(
        "{}{}.",
        costs.join(", "),
        place.unwrap_or_default()
    ))
}

/// Lists the NUMA nodes on which trials were measured, in order.
fn nodes(record: &Record) -> Option<String> {
    let name = BenchCell::harness().reading(CellMetric::NodeTotal.name());
    let readings = record.trials.iter().filter_map(|trial| trial.value(&name));
    let nodes: BTreeSet<u64> = readings.map(|node| node as u64).collect();
    let nodes: Vec<String> = nodes.iter().map(u64::to_string).collect();
    (!nodes.is_empty()).then(|| nodes.join(", "))
}

/// Lists the values omitted from row headings because they are the same everywhere.
fn common(bench: &Bench, suite: &Suite) -> Option<String> {
    let cell = bench.cells.first()?;
    let axes = suite.axes.iter().enumerate();
    let same: Vec<String> = axes
        .filter(|&(index, _)| index > 0 && !varies(bench, index))
        .filter_map(|(index, axis)| {
            let word = match (axis.words, cell.part(index)?) {
                (Words::Bytes, _) => word(suite, cell, index)?,
                (_, part) => plain(part),
            };
            Some(format!("{} {word}", axis.name))
        })
        .collect();
    (!same.is_empty()).then(|| format!("In every row: {}.", same.join(", ")))
}

/// Explains the zero page: reads of never-written memory all read this single page.
fn zero_source(bench: &Bench) -> Option<String> {
    let untouched = |cell: &BenchCell| cell.parts().any(|part| part == "untouched");
    bench.cells.iter().any(untouched).then(|| {
        "Zero page: memory that was never written. The kernel maps one shared page of zeroes there; it \
         stays in the cache, so this is not memory speed."
            .to_owned()
    })
}

/// Lists the pages that a policy got, with the number of cells. `None` if they could not be read in any cell.
fn proof(record: &Record, policy: &str, bench: &Bench) -> Option<String> {
    let medians = Medians::of(record);
    let mut groups: Vec<(String, usize)> = Vec::new();
    for cell in &bench.cells {
        let pages = pages_of_cell(record, policy, &medians, cell);
        match groups.iter_mut().find(|(known, _)| *known == pages) {
            Some((_, count)) => *count += 1,
            None => groups.push((pages, 1)),
        }
    }
    let all = groups.len() == 1;
    if all && groups[0].0 == UNKNOWN {
        return None;
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(pages, count)| match (all, count) {
            (true, _) => format!("{pages} in every cell"),
            (false, 1) => format!("{pages} in 1 cell"),
            (false, _) => format!("{pages} in {count} cells"),
        })
        .collect();
    Some(groups.join("; "))
}

/// Returns the pages of a cell in bytes, by buffer and kind.
fn kinds_of_cell<'a>(
    record: &'a Record,
    policy: &str,
    medians: &Medians<'_>,
    cell: &BenchCell,
) -> BTreeMap<&'a str, BTreeMap<PageKind, f64>> {
    let mut buffers: BTreeMap<&str, BTreeMap<PageKind, f64>> = BTreeMap::new();
    let prefix = cell.reading("");
    let trials = arm_trials(record, policy);
    let names: BTreeSet<&str> = trials
        .flat_map(|trial| trial.readings.keys())
        .filter(|name| name.starts_with(&prefix))
        .map(String::as_str)
        .collect();
    for name in names {
        let Some((buffer, kind)) = name.strip_prefix(&prefix).and_then(metric::pages_of) else {
            continue;
        };
        if let Ok(bytes) = medians.get(policy, name) {
            buffers.entry(buffer).or_default().insert(kind, bytes);
        }
    }
    buffers
}

/// Returns the pages of a cell: shares by kind, and by buffer if these differ.
pub(super) fn pages_of_cell(
    record: &Record,
    policy: &str,
    medians: &Medians<'_>,
    cell: &BenchCell,
) -> String {
    let buffers = kinds_of_cell(record, policy, medians, cell);
    let pages: Vec<(&str, String)> = buffers
        .iter()
        .map(|(buffer, kinds)| (*buffer, shares(kinds)))
        .collect();
    match pages.split_first() {
        None => UNKNOWN.to_owned(),
        Some(((_, first), rest)) if rest.iter().all(|(_, other)| other == first) => first.clone(),
        _ => {
            let each = pages.iter();
            let each = each.map(|(buffer, pages)| format!("{buffer} {pages}"));
            each.collect::<Vec<_>>().join(" and ")
        }
    }
}

fn shares(kinds: &BTreeMap<PageKind, f64>) -> String {
    let total: f64 = kinds.values().sum();
    let present: Vec<(&PageKind, f64)> = kinds
        .iter()
        .filter(|(_, bytes)| **bytes > 0.0)
        .map(|(kind, bytes)| (kind, bytes / total * 100.0))
        .collect();
    let parts: Vec<String> = match present.as_slice() {
        [] => vec!["nothing".to_owned()],
        [(kind, _)] => vec![kind_word(kind)],
        several => several
            .iter()
            .map(|(kind, share)| format!("{share:.0} % {}", kind_word(kind)))
            .collect(),
    };
    parts.join(" + ")
}

fn kind_word(kind: &PageKind) -> String {
    match kind {
        PageKind::Small => "base pages".to_owned(),
        PageKind::Folio(bytes) => format!("folios of {}", bytes_text(*bytes)),
        PageKind::Huge => "huge pages".to_owned(),
        PageKind::Zero => "the zero page".to_owned(),
        PageKind::HugeZero => "the huge zero page".to_owned(),
        PageKind::Hugetlb => "hugetlb pages".to_owned(),
        PageKind::Absent => "no page".to_owned(),
    }
}
