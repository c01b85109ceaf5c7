//! How much each policy changes: every metric with its interval, as a forest plot.

use super::super::Report;
use super::super::change::{Detail, change_text};
use super::super::notes::{DIFFERENCE, UNKNOWN};
use super::super::rows::{MetricRow, rows};
use super::super::section::{Section, sections};
use super::index_of;
use crate::run::compare::labels::{label_with_scope, metric_of};
use crate::run::compare::{Change, Comparison, Statistic};
use crate::run::metric::Better;
use crate::text::document::Level;
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::{Scaler, chosen_percent};
use crate::text::svg::{Anchor, ChangeAxis, Field, Fill, Place, Shape, Svg, WIDTH, colour, fitted};
use crate::text::wrap::plain;

/// Where changes are drawn; names stand to the left, numbers to the right.
const LEFT: f64 = 160.0;
const RIGHT: f64 = 500.0;
/// The id of the figure that is a detail.
pub(in super::super) const OTHER_METRICS: &str = "effects-others";
/// A row, and a heading with the room above it.
const ROW: f64 = 18.0;
const HEADING: f64 = 24.0;
/// Room above the rows, with and without an axis there.
const AXIS: f64 = 22.0;
const EDGE: f64 = 4.0;
/// Rows above which the axis stands above them too.
const HIGH: f64 = 300.0;

/// Changes that belong together.
pub(super) struct Group<'a> {
    pub(super) heading: String,
    /// Which direction is good; of a control none is.
    pub(super) better: Better,
    pub(super) rows: Vec<Row<'a>>,
}

/// One change.
pub(super) struct Row<'a> {
    pub(super) name: String,
    /// The place of its policy in the plan.
    pub(super) index: usize,
    pub(super) comparison: &'a Comparison,
    pub(super) scaler: Scaler,
}

/// The metrics of the first screen, after the control.
pub(super) fn main(report: &Report<'_>) -> Option<Figure> {
    let shown = groups(report, Level::First);
    let shown = shown.into_iter().map(|(_, group)| group);
    let groups: Vec<Group<'_>> = control(report).into_iter().chain(shown).collect();
    let title = match report.other {
        Some(_) => "What changed from the first record to the second",
        None => "What each policy changes",
    };
    of_groups(report, "effects", title, &groups)
}

/// All other metrics that have an interval.
pub(super) fn others(report: &Report<'_>) -> Option<Figure> {
    if report.cells.is_some() {
        return None;
    }
    let first: Vec<Metric> = groups(report, Level::First)
        .into_iter()
        .map(|it| it.0)
        .collect();
    let all = groups(report, Level::Detail).into_iter();
    let others = all.filter(|(metric, group)| !first.contains(metric) && group.has_interval());
    let groups: Vec<Group<'_>> = others.map(|(_, group)| group).collect();
    of_groups(report, OTHER_METRICS, "Other metrics", &groups)
}

/// A metric, and the property of its sample.
type Metric = (String, Statistic);

impl Group<'_> {
    fn has_interval(&self) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| row.comparison.ratio.is_some() && row.comparison.low.is_some())
    }

    fn draw_heading(&self, svg: &mut Svg, y: f64) {
        let direction = match self.better {
            Better::Lower => "less is better",
            Better::Higher => "more is better",
            Better::Neither => "",
        };
        svg.heading((0.0, y), &fitted(&self.heading, RIGHT - 130.0), direction);
    }
}

fn groups<'a>(report: &'a Report<'_>, level: Level) -> Vec<(Metric, Group<'a>)> {
    let mut groups: Vec<(Metric, Group<'a>)> = Vec::new();
    for section in sections(report) {
        for row in rows(report, &section, level) {
            let metric = (row.metric.name.to_string(), row.statistic);
            let found = of_row(report, &section, &row);
            match groups.iter_mut().find(|(known, _)| *known == metric) {
                Some((_, group)) => group.rows.extend(found),
                None => groups.push((
                    metric,
                    Group {
                        heading: heading(&row),
                        better: row.metric.better,
                        rows: found,
                    },
                )),
            }
        }
    }
    groups.retain(|(_, group)| !group.rows.is_empty());
    groups
}

fn heading(row: &MetricRow<'_>) -> String {
    match row.metric.is_of_cell() {
        true => row.label.clone(),
        false => label_with_scope(&row.metric, row.statistic),
    }
}

fn of_row<'a>(report: &Report<'_>, section: &Section<'_>, row: &MetricRow<'a>) -> Vec<Row<'a>> {
    let columns = section.columns.iter().skip(1).zip(&row.comparisons);
    let known = columns.filter_map(|(column, comparison)| {
        let comparison = (*comparison)?;
        comparison.ratio.or(comparison.difference)?;
        Some(Row {
            name: plain(column.policy),
            index: index_of(report.record, column.policy),
            comparison,
            scaler: row.scaler(),
        })
    });
    known.collect()
}

fn control<'a>(report: &'a Report<'_>) -> Option<Group<'a>> {
    let comparison = &report.table.control.as_ref()?.comparison;
    comparison.ratio.or(comparison.difference)?;
    let metric = metric_of(report.record, &comparison.metric);
    let values = [comparison.baseline_value, comparison.policy_value];
    let values: Vec<f64> = values.into_iter().flatten().collect();
    Some(Group {
        heading: format!("Control, the baseline again: {}", plain(&metric.label)),
        better: Better::Neither,
        rows: vec![Row {
            name: plain(&comparison.policy),
            index: index_of(report.record, &comparison.policy),
            scaler: Scaler::for_row(&metric.unit, &values),
            comparison,
        }],
    })
}

pub(super) fn of_groups(
    report: &Report<'_>,
    id: &str,
    title: &str,
    groups: &[Group<'_>],
) -> Option<Figure> {
    let threshold = report.table.verdict.threshold;
    let svg = draw(groups, &report.table.verdict.metric, threshold, title)?;
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption(groups, threshold),
        svg,
        table: table(groups),
    })
}

/// How to read the marks, and the signs that are there.
fn caption(groups: &[Group<'_>], threshold: f64) -> String {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let has = |sign: &str| rows().any(|row| row.text().contains(sign));
    let marks = format!(
        "A line is the 95 % interval; a filled mark is decided, a hollow one is not; the band is ±{} \
         %, the smallest change of interest. An arrow leads beyond the edge.",
        chosen_percent(threshold)
    );
    let signs = [
        ("=", " = lies within the band."),
        (UNKNOWN, " ? has too few rounds for an interval."),
        (DIFFERENCE, " Δ is an absolute change, which has no mark."),
    ];
    let signs = signs.into_iter().filter(|(sign, _)| has(sign));
    signs.fold(marks, |text, (_, meaning)| text + meaning)
}

fn table(groups: &[Group<'_>]) -> Grid {
    let heads = ["metric", "policy", "from", "to", "change", "rounds"];
    let mut grid = Grid::headed(&heads);
    for group in groups {
        for row in &group.rows {
            let value = |value: Option<f64>| match value {
                Some(value) => row.scaler.show(value),
                None => "–".to_owned(),
            };
            grid.push([
                group.heading.clone(),
                row.name.clone(),
                value(row.comparison.baseline_value),
                value(row.comparison.policy_value),
                row.text(),
                row.comparison.n.to_string(),
            ]);
        }
    }
    grid
}

fn draw(groups: &[Group<'_>], judged: &str, threshold: f64, title: &str) -> Option<String> {
    let height: f64 = groups
        .iter()
        .map(|it| HEADING + ROW * it.rows.len() as f64)
        .sum();
    let top = if height > HIGH { AXIS } else { EDGE };
    let field = Field {
        left: LEFT,
        right: RIGHT,
        top,
        bottom: top + 6.0 + height,
    };
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let logs: Vec<f64> = rows().flat_map(Row::logs).collect();
    let deciding = rows().filter(|row| row.comparison.metric == judged);
    let must: Vec<f64> = deciding.flat_map(Row::logs).collect();
    let changes = ChangeAxis::of(&logs, &must, threshold, field.across())?;
    let mut svg = Svg::default();
    let limit = threshold.ln_1p();
    let ends = [-limit, limit].map(|log| changes.axis.place(log));
    svg.rect("band", (ends[0], field.top), (ends[1], field.bottom), None);
    field.grid_across(&mut svg, &changes.axis, &changes.ticks);
    if height > HIGH {
        field.labels_above(&mut svg, &changes.axis, &changes.ticks);
    }
    let zero = changes.axis.place(0.0);
    svg.line("zero", (zero, field.top), (zero, field.bottom));
    let mut y = field.top;
    for group in groups {
        group.draw_heading(&mut svg, y + 16.0);
        y += HEADING;
        for row in &group.rows {
            row.draw(&mut svg, &changes, y + ROW / 2.0);
            y += ROW;
        }
    }
    (!groups.is_empty()).then(|| svg.finish(title, field.bottom + 24.0))
}

impl Row<'_> {
    fn text(&self) -> String {
        change_text(self.comparison, &self.scaler, Detail::Interval)
    }

    /// The logarithms of the change and of the ends of its interval.
    fn logs(&self) -> Vec<f64> {
        let it = self.comparison;
        let all = it.ratio.map(|ratio| [Some(ratio), it.low, it.high]);
        let known = all.into_iter().flatten().flatten();
        known.filter(|ratio| *ratio > 0.0).map(f64::ln).collect()
    }

    fn draw(&self, svg: &mut Svg, changes: &ChangeAxis, y: f64) {
        let text = self.text();
        let name = fitted(&self.name, LEFT - 24.0);
        svg.text("", Anchor::Start, (12.0, y + 4.0), &name);
        let logs = self.logs();
        // A change without a mark has the room of the marks too.
        let from = if logs.is_empty() { LEFT } else { RIGHT };
        let shown = fitted(&text, WIDTH - from - 12.0);
        svg.text("", Anchor::End, (WIDTH, y + 4.0), &shown);
        let Some(&log) = logs.first() else { return };
        let title = format!("{}: {text}", self.name);
        svg.group(&colour(self.index), |svg| {
            if let [_, low, high] = logs[..] {
                let place = |log: f64| (changes.axis.place(log), y);
                svg.line("span", place(low), place(high));
            }
            let at = (changes.axis.place(log), y);
            match changes.axis.holds(log) {
                true => svg.marker(Shape::of(self.index), self.fill(), at, Some(&title)),
                false => arrow(svg, at, log.signum()),
            }
        });
    }

    fn fill(&self) -> Fill {
        match self.comparison.change {
            Change::CannotTell => Fill::Hollow,
            Change::Higher | Change::Lower | Change::NoDifference => Fill::Full,
        }
    }
}

/// The change lies beyond the edge.
fn arrow(svg: &mut Svg, (x, y): Place, side: f64) {
    let back = x - 7.0 * side;
    let tip = [(back, y - 4.0), (x, y), (back, y + 4.0)];
    svg.curve("span", &tip.map(Some));
}
