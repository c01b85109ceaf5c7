//! The rows of a table: one metric, or one property of its sample, under every policy.

use std::collections::BTreeMap;

use super::Report;
use super::names::Names;
use super::section::{Column, Section};
use crate::base::missing::Missing;
use crate::base::units::Unit;
use crate::run::compare::labels::{label, metric_of};
use crate::run::compare::medians::Medians;
use crate::run::compare::{Change, Comparison, PERCENTILES, Statistic, percentile};
use crate::run::metric::cells::split;
use crate::run::metric::{Metric, MetricId, Shown};
use crate::run::stats::Quantile;
use crate::text::document::Level;
use crate::text::number::Scaler;
use crate::text::wrap::plain;

/// One metric under every policy.
pub(super) struct MetricRow<'a> {
    pub(super) metric: Metric,
    /// The property of the metric's sample.
    pub(super) statistic: Statistic,
    pub(super) label: String,
    /// One for each column.
    pub(super) values: Vec<Result<f64, Missing>>,
    /// One for each column but the first.
    pub(super) comparisons: Vec<Option<&'a Comparison>>,
    /// The smallest effect of interest, as a share.
    pub(super) threshold: f64,
    /// What this row and others of its kind are shown in, where they stand in one column.
    shared: Option<Scaler>,
    /// Whether the metric's values were counted, so that its percentiles stand for it.
    counted: bool,
}

/// The rows of a section, the metric of the verdict first.
pub(super) fn rows<'a>(
    report: &'a Report<'_>,
    section: &Section<'_>,
    level: Level,
) -> Vec<MetricRow<'a>> {
    let medians: Vec<Medians<'_>> = section
        .columns
        .iter()
        .map(|column| Medians::of(column.record))
        .collect();
    if let Some(cells) = &report.cells {
        let shown = cells.rows().into_iter().filter(|cell| cell.level <= level);
        let rows = shown.map(|cell| {
            let metric = metric_of(report.record, &cell.metric);
            let row = row(report, section, &medians, metric, Statistic::Center);
            MetricRow {
                label: cell.label,
                ..row
            }
        });
        let mut rows = rows.filter(MetricRow::is_requested).collect::<Vec<_>>();
        share_prefixes(&mut rows);
        return rows;
    }
    let mut rows: Vec<MetricRow<'a>> = Vec::new();
    for name in Names::of(report).listed.clone() {
        let metric = metric_of(report.record, &name);
        for statistic in statistics(report, &name) {
            let decides = name == report.table.verdict.metric && statistic == Statistic::Center;
            if level == Level::First && metric.shown == Shown::OnRequest && !decides {
                continue;
            }
            let row = row(report, section, &medians, metric.clone(), statistic);
            if decides || row.is_shown(statistic, level) {
                rows.push(row);
            }
        }
    }
    if level == Level::First {
        let page = report.record.header.host.pmd_bytes().unwrap_or(0);
        either_huge_pages_or_faults(&mut rows, page as f64);
    }
    if level == Level::First && report.record.header.plan.service.is_some() {
        rows.retain(|row| row.is_of_a_server(&report.table.verdict.metric));
    }
    if level == Level::First && report.is_part {
        rows.retain(|row| row.is_brief(&report.table.verdict.metric));
    }
    rows
}

/// Samples that saw less than this share of what huge faults brought missed most of it.
const SEEN: f64 = 0.5;

/// The first screen has the huge pages that samples saw, or the huge faults where a short program's
/// huge pages came and went between two samples.
fn either_huge_pages_or_faults(rows: &mut Vec<MetricRow<'_>>, huge_page_bytes: f64) {
    let most = |id: MetricId| {
        let mut rows = rows.iter();
        let row = rows.find(|row| row.metric.name == id.name())?;
        let values = row.values.iter().filter_map(|value| value.as_ref().ok());
        values.copied().max_by(f64::total_cmp)
    };
    let seen = most(MetricId::HugeAnonPeakBytes).unwrap_or(0.0);
    let faults = most(MetricId::ThpFaultAllocTotal).unwrap_or(0.0);
    let left_out = match seen {
        0.0 => return,
        seen if seen < SEEN * faults * huge_page_bytes => MetricId::HugeAnonPeakBytes,
        _ => MetricId::ThpFaultAllocTotal,
    };
    rows.retain(|row| row.metric.name != left_out.name());
}

/// Counts of one metric have one form in all cells: `2048` is not beside `65.5 k`.
fn share_prefixes(rows: &mut [MetricRow<'_>]) {
    let kind = |row: &MetricRow<'_>| {
        let (_, name) = split(&row.metric.name)?;
        (row.metric.unit == Unit::Count).then(|| name.to_owned())
    };
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows.iter() {
        let known = row.values.iter().filter_map(|value| value.as_ref().ok());
        if let Some(kind) = kind(row) {
            values.entry(kind).or_default().extend(known);
        }
    }
    for row in rows {
        let known = kind(row).and_then(|kind| values.get(&kind));
        row.shared = known.map(|values| Scaler::for_row(&Unit::Count, values));
    }
}

fn statistics(report: &Report<'_>, metric: &str) -> Vec<Statistic> {
    let mut statistics: Vec<Statistic> = report
        .table
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == metric)
        .map(|comparison| comparison.statistic)
        .chain([Statistic::Center])
        .collect();
    if Names::of(report).counted.contains(metric) {
        statistics.extend(PERCENTILES.map(Statistic::Quantile));
    }
    statistics.sort_unstable();
    statistics.dedup();
    statistics
}

fn row<'a>(
    report: &'a Report<'_>,
    section: &Section<'_>,
    medians: &[Medians<'_>],
    metric: Metric,
    statistic: Statistic,
) -> MetricRow<'a> {
    let find = |policy: &str| {
        report.table.comparisons.iter().find(|comparison| {
            comparison.metric == metric.name
                && comparison.statistic == statistic
                && comparison.policy == policy
        })
    };
    let arms = section.columns.iter().skip(1);
    let comparisons: Vec<_> = arms.map(|column| find(column.policy)).collect();
    let counted = Names::of(report).counted.contains(&*metric.name);
    let value = |(index, column): (usize, &Column<'_>)| match (statistic, index) {
        (Statistic::Center, _) => medians[index].get(column.policy, &metric.name),
        (Statistic::Quantile(quantile), _) if counted => {
            percentile(column.record, column.policy, &metric.name, quantile)
                .ok_or(Missing::TooShort)
        }
        (_, 0) => compared(of_most_rounds(&comparisons).and_then(|c| c.baseline_value)),
        (_, _) => compared(comparisons[index - 1].and_then(|c| c.policy_value)),
    };
    MetricRow {
        counted,
        statistic,
        values: section.columns.iter().enumerate().map(value).collect(),
        label: match statistic {
            // Beside the percentiles of all trials together.
            Statistic::Center if counted => format!("{}, by trial", plain(&metric.label)),
            _ => label(&metric, statistic),
        },
        threshold: report.table.verdict.threshold,
        shared: None,
        comparisons,
        metric,
    }
}

/// The comparison that most rounds stand behind: it knows the baseline best.
fn of_most_rounds<'a>(comparisons: &[Option<&'a Comparison>]) -> Option<&'a Comparison> {
    let known = comparisons.iter().flatten();
    let known = known.filter(|comparison| comparison.baseline_value.is_some());
    known.max_by_key(|comparison| comparison.n).copied()
}

/// A property of a sample that only its comparison knows.
fn compared(value: Option<f64>) -> Result<f64, Missing> {
    value.ok_or(Missing::TooFewValues)
}

impl MetricRow<'_> {
    /// Whether it is shown where several programs share the first screen.
    fn is_brief(&self, judged: &str) -> bool {
        let shown = [
            judged,
            MetricId::PeakRssBytes.name(),
            MetricId::HugeAnonPeakBytes.name(),
        ];
        self.statistic == Statistic::Center && shown.contains(&&*self.metric.name)
    }

    /// Whether the first screen of a server has room for it: two percentiles stand for the requests, the time
    /// of a load says nothing beside them, causes have their lines, and what else is not decided decides nothing.
    fn is_of_a_server(&self, judged: &str) -> bool {
        let is_one_of = |ids: &[MetricId]| ids.iter().any(|id| id.name() == self.metric.name);
        let is_cause = is_one_of(&[MetricId::MinorFaultsTotal, MetricId::ThpSplitPmdTotal]);
        let is_aside = is_one_of(&[MetricId::SystemSeconds, MetricId::CgroupPeakBytes]);
        if is_cause || is_aside && !self.is_decided() {
            return self.metric.name == judged;
        }
        let is_left = match self.statistic {
            Statistic::Center => {
                let left = [MetricId::WallSeconds, MetricId::ServiceReadySeconds];
                let ends = [", p90", ", p95", ", p99.9", ", max"];
                left.iter().any(|id| id.name() == self.metric.name)
                    || ends.iter().any(|end| self.label.ends_with(end))
            }
            Statistic::Quantile(quantile) => ![Quantile::P50, Quantile::P99].contains(&quantile),
        };
        self.metric.name == judged || !is_left
    }

    /// Whether any policy should have a value.
    fn is_requested(&self) -> bool {
        let requested = |value: &Result<f64, Missing>| {
            !matches!(
                value,
                Err(Missing::NotAsked | Missing::TooFewValues | Missing::NotRun)
            )
        };
        self.values.iter().any(requested)
    }

    fn is_shown(&self, statistic: Statistic, level: Level) -> bool {
        if !self.is_requested() {
            return false;
        }
        if level == Level::Detail {
            return true;
        }
        match self.metric.shown {
            Shown::Always if self.counted => statistic != Statistic::Center,
            Shown::Always => statistic == Statistic::Center || self.is_decided(),
            Shown::WhenNonZero => self.is_somewhere_above_zero(),
            Shown::OnRequest => false,
        }
    }

    fn is_somewhere_above_zero(&self) -> bool {
        let above = |value: &Result<f64, Missing>| value.as_ref().is_ok_and(|value| *value != 0.0);
        self.values.iter().any(above)
    }

    /// Whether every column reads zero.
    pub(super) fn is_zero(&self) -> bool {
        let zero = |value: &Result<f64, Missing>| *value == Ok(0.0);
        self.values.iter().all(zero)
    }

    fn is_decided(&self) -> bool {
        let decided = |c: &&Comparison| matches!(c.change, Change::Higher | Change::Lower);
        self.comparisons.iter().flatten().any(decided)
    }

    /// The prefix of its values; where they are all zero, that of the furthest change.
    pub(super) fn scaler(&self) -> Scaler {
        if let Some(shared) = &self.shared {
            return shared.clone();
        }
        if self.is_somewhere_above_zero() {
            let values: Vec<f64> = self
                .values
                .iter()
                .filter_map(|v| v.as_ref().ok().copied())
                .collect();
            return Scaler::for_row(&self.metric.unit, &values);
        }
        let changes = self.comparisons.iter().flatten();
        let ends = changes.flat_map(|c| [c.difference, c.low, c.high]);
        let furthest = ends.flatten().map(f64::abs).fold(0.0, f64::max);
        Scaler::for_row(&self.metric.unit, &[furthest])
    }

    /// The reason that all columns share, where nothing was measured.
    pub(super) fn absent(&self) -> Option<&Missing> {
        let first = self.values.first()?.as_ref().err()?;
        self.values
            .iter()
            .all(|v| v.as_ref().err() == Some(first))
            .then_some(first)
    }
}
