//! The readings of each arm, metric by metric, the judged metric first.

use std::collections::{BTreeMap, BTreeSet};

use super::Work;
use crate::base::missing::Missing;
use crate::run::answer::{Cell, Row};
use crate::run::compare::columns::Forms;
use crate::run::compare::labels::{label, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, Comparison, PERCENTILES, Statistic, percentile};
use crate::run::metric::requests::{RequestMetric, order, quantile_end};
use crate::run::metric::{Counter, METRICS, Metric, MetricId, Shown};
use crate::run::stats::Quantile;
use crate::run::trial::readings;
use crate::text::document::Level;
use crate::text::wrap::plain;

/// Samples that contain less than this share of the memory from huge faults missed most of it.
const SEEN: f64 = 0.5;

/// Every row. Those on the first screen are marked.
pub(super) fn rows(work: &Work<'_>) -> Vec<Row> {
    let table = Table::of(work);
    let mut rows = match work.source.cells {
        Some(cells) => {
            let cells = cells.rows().into_iter();
            let rows = cells.map(|cell| {
                let metric = metric_of(work.record(), &cell.metric);
                let row = table.row(&metric, Statistic::Center);
                Row {
                    label: cell.label,
                    first_screen: cell.level == Level::First,
                    ..row
                }
            });
            rows.filter(is_requested).collect()
        }
        None => table.all(),
    };
    let page = work.record().header.host.pmd_bytes().unwrap_or(0);
    either_huge_pages_or_faults(&mut rows, page as f64);
    another_kind_instead(&mut rows, page as f64);
    rows
}

/// The inputs of rows.
struct Table<'a, 'w> {
    work: &'w Work<'a>,
    medians: Medians<'a>,
    /// Metrics with counted values, represented by percentiles.
    counted: BTreeSet<&'a str>,
    arms: Vec<&'a str>,
}

impl<'a, 'w> Table<'a, 'w> {
    fn of(work: &'w Work<'a>) -> Self {
        let others = work.policies().map(|policy| policy.name.as_str());
        let arms = std::iter::once(work.baseline).chain(others);
        Self {
            medians: Medians::of(work.record()),
            counted: Forms::of(work.record()).counted.into_iter().collect(),
            arms: arms.collect(),
            work,
        }
    }

    fn all(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for name in self.names() {
            let metric = metric_of(self.work.record(), &name);
            for statistic in self.statistics(&name) {
                let mut row = self.row(&metric, statistic);
                let decides =
                    name == self.work.table().verdict.metric && statistic == Statistic::Center;
                row.first_screen = decides || self.is_first(&metric, &row);
                if decides || is_requested(&row) {
                    rows.push(row);
                }
            }
        }
        rows
    }

    /// The metrics: the judged one, the printed ones, those of requests, and the others.
    fn names(&self) -> Vec<String> {
        let record = self.work.record();
        let mut present = readings::names(record.trials.iter().map(|trial| &trial.readings));
        let compared = self.work.table().comparisons.iter();
        present.extend(compared.map(|row| row.metric.as_str()));
        let printed = record.header.plan.printed.iter().map(|it| it.name.as_str());
        let requests = present
            .iter()
            .filter_map(|name| Some((order(name)?, *name)));
        let requests: BTreeMap<_, &str> = requests.collect();
        let mut names: Vec<&str> = std::iter::once(self.work.table().verdict.metric.as_str())
            .chain(printed)
            .chain(requests.into_values())
            .chain(METRICS.iter().map(|metric| metric.name.as_ref()))
            .chain(present.iter().copied())
            .collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| present.contains(name) && seen.insert(*name));
        names.into_iter().map(str::to_owned).collect()
    }

    fn statistics(&self, metric: &str) -> BTreeSet<Statistic> {
        let rows = self.work.table().comparisons.iter();
        let compared = rows
            .filter(|row| row.metric == metric)
            .map(|row| row.statistic);
        let percentiles = PERCENTILES.map(Statistic::Quantile).into_iter();
        let percentiles = percentiles.filter(|_| self.counted.contains(metric));
        compared
            .chain([Statistic::Center])
            .chain(percentiles)
            .collect()
    }

    fn row(&self, metric: &Metric, statistic: Statistic) -> Row {
        let counted = self.counted.contains(&*metric.name);
        let cells = self.arms.iter().map(|arm| {
            let value = self.value(metric, statistic, arm);
            Cell {
                arm: (*arm).to_owned(),
                value: value.as_ref().ok().copied(),
                missing: value.err(),
            }
        });
        Row {
            metric: metric.name.to_string(),
            statistic,
            label: match statistic {
                // In addition to the percentiles of all trials together.
                Statistic::Center if counted => format!("{}, by trial", plain(&metric.label)),
                _ => label(metric, statistic),
            },
            first_screen: false,
            stays: stays(&metric.name, statistic),
            cells: cells.collect(),
        }
    }

    fn value(&self, metric: &Metric, statistic: Statistic, arm: &str) -> Result<f64, Missing> {
        let counted = self.counted.contains(&*metric.name);
        match statistic {
            Statistic::Center => self.medians.get(arm, &metric.name),
            Statistic::Quantile(quantile) if counted => {
                percentile(self.work.record(), arm, &metric.name, quantile).ok_or(Missing::TooShort)
            }
            // A property of a sample that only its comparison contains.
            Statistic::Quantile(_) => {
                let rows = self.comparisons(metric, statistic);
                let mut known = rows.filter(|row| row.n > 0);
                let value = match arm == self.work.baseline {
                    true => known
                        .max_by_key(|row| row.n)
                        .and_then(|row| row.baseline_value),
                    false => known
                        .find(|row| row.policy == arm)
                        .and_then(|row| row.policy_value),
                };
                value.ok_or(Missing::TooFewValues)
            }
        }
    }

    fn comparisons(
        &self,
        metric: &Metric,
        statistic: Statistic,
    ) -> impl Iterator<Item = &'a Comparison> {
        let name = metric.name.to_string();
        let rows = self.work.table().comparisons.iter();
        rows.filter(move |row| row.metric == name && row.statistic == statistic)
    }

    fn is_first(&self, metric: &Metric, row: &Row) -> bool {
        let counted = self.counted.contains(&*metric.name);
        let decided = || {
            let mut rows = self.comparisons(metric, row.statistic);
            rows.any(|row| matches!(row.change, Change::Higher | Change::Lower))
        };
        let above_zero = || {
            row.cells
                .iter()
                .any(|cell| cell.value.is_some_and(|it| it != 0.0))
        };
        let is_shown = is_requested(row)
            && match metric.shown {
                Shown::Always if counted => row.statistic != Statistic::Center,
                Shown::Always => row.statistic == Statistic::Center || decided(),
                Shown::WhenNonZero => above_zero(),
                Shown::OnRequest => false,
            };
        let is_service = self.work.record().header.plan.service.is_some();
        is_shown && (!is_service || is_of_a_server(row, &decided))
    }
}

/// The first screen of a server has two percentiles of requests; the duration of its load adds nothing.
fn is_of_a_server(row: &Row, decided: &dyn Fn() -> bool) -> bool {
    let is_one_of = |ids: &[MetricId]| ids.iter().any(|id| id.name() == row.metric);
    let is_left = is_one_of(&[
        MetricId::MinorFaultsTotal,
        MetricId::Counter(Counter::ThpSplitPmd),
        MetricId::WallSeconds,
        MetricId::ServiceReadySeconds,
    ]);
    let is_aside = is_one_of(&[MetricId::SystemSeconds, MetricId::CgroupPeakBytes]);
    let ends = [
        "_p90_seconds",
        "_p95_seconds",
        "_p99_9_seconds",
        "_max_seconds",
    ];
    let is_other_tail = ends.iter().any(|end| row.metric.ends_with(end));
    let is_other_quantile = match row.statistic {
        Statistic::Center => false,
        Statistic::Quantile(quantile) => ![Quantile::P50, Quantile::P99].contains(&quantile),
    };
    !is_left && !is_other_tail && !is_other_quantile && (!is_aside || decided())
}

/// The cost in memory, the huge pages and the tail of requests: they show whether a policy did anything, and its price.
fn stays(metric: &str, statistic: Statistic) -> bool {
    let kept = [MetricId::PeakRssBytes, MetricId::HugeAnonPeakBytes];
    let is_tail = match statistic {
        Statistic::Center => metric.ends_with(&quantile_end(Quantile::P99)),
        Statistic::Quantile(quantile) => {
            quantile == Quantile::P99 && metric.ends_with(RequestMetric::Latency.name())
        }
    };
    is_tail || statistic == Statistic::Center && kept.iter().any(|id| id.name() == metric)
}

/// If no anonymous page is huge, and the policies differ in huge shared memory or huge pages of files, the first screen
/// has that row instead.
fn another_kind_instead(rows: &mut [Row], huge_page_bytes: f64) {
    let anonymous = MetricId::HugeAnonPeakBytes.name();
    let kinds = [
        MetricId::HugeShmemPeakBytes.name(),
        MetricId::HugeFilePeakBytes.name(),
    ];
    let is_huge = |row: &Row| row.metric == anonymous && values(row).any(|bytes| bytes > 0.0);
    if rows.iter().any(is_huge) {
        return;
    }
    let differs = |row: &Row| {
        let most = values(row).fold(0.0, f64::max);
        let least = values(row).fold(f64::INFINITY, f64::min);
        row.first_screen && most - least > huge_page_bytes
    };
    let other = rows
        .iter_mut()
        .find(|row| kinds.contains(&&*row.metric) && differs(row));
    let Some(other) = other else { return };
    other.stays = true;
    for row in rows.iter_mut().filter(|row| row.metric == anonymous) {
        row.first_screen = false;
    }
}

fn values(row: &Row) -> impl Iterator<Item = f64> {
    row.cells.iter().filter_map(|cell| cell.value)
}

/// Returns true if an arm should have a value.
fn is_requested(row: &Row) -> bool {
    row.cells.iter().any(|cell| {
        !matches!(
            cell.missing,
            Some(Missing::NotAsked | Missing::TooFewValues | Missing::NotRun)
        )
    })
}

/// The first screen has the huge pages from samples, or the huge faults of a short program whose huge pages came and
/// went between two samples.
fn either_huge_pages_or_faults(rows: &mut [Row], huge_page_bytes: f64) {
    let most = |rows: &[Row], id: MetricId| {
        let row = rows
            .iter()
            .find(|row| row.metric == id.name() && row.first_screen);
        let values = row
            .into_iter()
            .flat_map(|row| &row.cells)
            .filter_map(|cell| cell.value);
        values.fold(0.0, f64::max)
    };
    let seen = most(rows, MetricId::HugeAnonPeakBytes);
    let faults = most(rows, MetricId::Counter(Counter::ThpFaultAlloc));
    let left_out = match seen {
        0.0 => return,
        seen if seen < SEEN * faults * huge_page_bytes => MetricId::HugeAnonPeakBytes,
        _ => MetricId::Counter(Counter::ThpFaultAlloc),
    };
    for row in rows.iter_mut().filter(|row| row.metric == left_out.name()) {
        row.first_screen = false;
    }
}
