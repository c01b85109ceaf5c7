//! How much each policy changes: every metric with its interval, as a forest plot.

use super::super::Report;
use super::index_of;
use crate::run::answer::{Against, Call, Claim, Effect, Row as MetricRow, When, words};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Comparison, Statistic};
use crate::run::metric::Better;
use crate::run::record::Record;
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::{Scaler, chosen_percent};
use crate::text::svg::{Anchor, ChangeAxis, Fill, PlotArea, Shape, Svg, WIDTH, colour, fitted};
use crate::text::wrap::plain;

/// Changes are drawn between these; names are to the left, numbers to the right.
const LEFT: f64 = 160.0;
const RIGHT: f64 = 500.0;
/// The id of the figure shown as a detail.
pub(in super::super) const OTHER_METRICS: &str = "effects-others";
/// Height of a row, and of a heading with the space above it.
const ROW: f64 = 18.0;
const HEADING: f64 = 24.0;
/// Space above the rows, with and without an axis there.
const AXIS: f64 = 22.0;
const EDGE: f64 = 4.0;
/// Height of rows beyond which the axis is repeated above them.
const HIGH: f64 = 300.0;

/// Changes that belong together.
pub(super) struct Group {
    pub(super) heading: String,
    /// The good direction; a control has none.
    pub(super) better: Better,
    pub(super) rows: Vec<Row>,
}

/// One change.
pub(super) struct Row {
    name: String,
    /// The position of its policy in the plan.
    index: usize,
    /// The ratio with the ends of its interval; empty if the change is a difference.
    ratios: Vec<f64>,
    /// Typical values before and after.
    values: [Option<f64>; 2],
    text: String,
    rounds: u32,
    is_decided: bool,
    scaler: Scaler,
}

/// The metrics of the first screen, after the control.
pub(super) fn main(report: &Report<'_>) -> Option<Figure> {
    let answer = report.answer();
    let shown = answer.rows.iter().filter(|row| row.first_screen);
    let shown = shown.filter_map(|row| group(report, row));
    let groups: Vec<Group> = control(report).into_iter().chain(shown).collect();
    let title = match report.other {
        Some(_) => "Changes from the first record to the second",
        None => "What each policy changes",
    };
    of_groups(report, "effects", title, &groups)
}

/// All other metrics with an interval.
pub(super) fn others(report: &Report<'_>) -> Option<Figure> {
    if report.cells.is_some() {
        return None;
    }
    let others = report.answer().rows.iter().filter(|row| !row.first_screen);
    let groups = others
        .filter_map(|row| group(report, row))
        .filter(Group::has_interval);
    of_groups(
        report,
        OTHER_METRICS,
        "Other metrics",
        &groups.collect::<Vec<_>>(),
    )
}

/// The changes of one metric.
fn group(report: &Report<'_>, row: &MetricRow) -> Option<Group> {
    let answer = report.answer();
    let is_of_row = |claim: &&Claim| {
        let contrast = &claim.contrast;
        let is_plain = matches!(
            contrast.against,
            Against::Baseline | Against::Program(_) | Against::OtherRecord
        );
        let is_metric = contrast.metric == row.metric && contrast.statistic == row.statistic;
        let is_usual = matches!(contrast.when, When::BackToBack | When::PerRecord(_));
        is_metric && is_plain && is_usual && claim.effect.is_some()
    };
    let claims = answer.claims.iter().filter(is_of_row);
    let rows: Vec<Row> = claims.map(|claim| of_claim(report, claim)).collect();
    let better = answer
        .metrics
        .get(&row.metric)
        .map_or(Better::Neither, |facts| facts.better);
    (!rows.is_empty()).then(|| Group {
        heading: row.label.clone(),
        better,
        rows,
    })
}

fn of_claim(report: &Report<'_>, claim: &Claim) -> Row {
    let values = [claim.from, claim.to];
    let metric = metric_of(report.record, &claim.contrast.metric);
    let known: Vec<f64> = values.into_iter().flatten().collect();
    let ratios = match (claim.effect, claim.interval) {
        (Some(Effect::Ratio(ratio)), Some(ends)) => vec![ratio, ends.low, ends.high],
        (Some(Effect::Ratio(ratio)), None) => vec![ratio],
        _ => Vec::new(),
    };
    Row {
        name: plain(&claim.contrast.arm),
        index: index_of(report.record, &claim.contrast.arm),
        ratios,
        values,
        text: words::change_with_interval(report.answer(), claim),
        rounds: claim.rounds,
        is_decided: !matches!(claim.call, Call::Open(_)),
        scaler: Scaler::for_row(&metric.unit, &known),
    }
}

impl Row {
    /// The change in a comparison within its record.
    pub(super) fn of_comparison(record: &Record, row: &Comparison, name: &str) -> Option<Self> {
        let ratio = row.ratio?;
        let metric = metric_of(record, &row.metric);
        let values = [row.baseline_value, row.policy_value];
        let known: Vec<f64> = values.into_iter().flatten().collect();
        let ends = row.low.zip(row.high);
        let interval = ends.map(|(low, high)| {
            let [low, high] = crate::text::ends::percent_ends(low - 1.0, high - 1.0);
            format!(" [{low}, {high}]")
        });
        let effect = crate::run::compare::labels::effect_of_ratio(ratio);
        Some(Self {
            name: name.to_owned(),
            index: index_of(record, &row.policy),
            ratios: ends.map_or(vec![ratio], |(low, high)| vec![ratio, low, high]),
            values,
            text: format!("{effect}{}", interval.unwrap_or_default()),
            rounds: row.n,
            is_decided: row.change != crate::run::compare::Change::CannotTell,
            scaler: Scaler::for_row(&metric.unit, &known),
        })
    }
}

/// The baseline against itself.
fn control(report: &Report<'_>) -> Option<Group> {
    let mut claims = report.answer().claims.iter();
    let claim =
        claims.find(|claim| claim.contrast.against == Against::Itself && claim.effect.is_some())?;
    let metric = metric_of(report.record, &claim.contrast.metric);
    Some(Group {
        heading: format!("The baseline against itself: {}", plain(&metric.label)),
        better: Better::Neither,
        rows: vec![of_claim(report, claim)],
    })
}

pub(super) fn of_groups(
    report: &Report<'_>,
    id: &str,
    title: &str,
    groups: &[Group],
) -> Option<Figure> {
    let judged = &report.answer().judged;
    let main = report
        .answer()
        .rows
        .iter()
        .find(|row| row.metric == judged.metric && row.statistic == Statistic::Center);
    let heading = main.map_or("", |row| row.label.as_str());
    let svg = draw(groups, heading, judged.threshold, title)?;
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption(groups, judged.threshold),
        svg,
        table: table(groups),
    })
}

/// Explains the marks in use.
fn caption(groups: &[Group], threshold: f64) -> String {
    let marks = format!(
        "A line is the 95 % interval. A filled mark is decided, a hollow one is not. The band is ±{} \
         %, the smallest change of interest. A mark beyond a dashed line is off the scale.",
        chosen_percent(threshold)
    );
    let mut rows = groups.iter().flat_map(|group| &group.rows);
    match rows.any(|row| row.ratios.is_empty()) {
        true => marks + " An absolute change has no mark.",
        false => marks,
    }
}

fn table(groups: &[Group]) -> Grid {
    let heads = ["metric", "policy", "from", "to", "change", "rounds"];
    let mut grid = Grid::headed(&heads);
    for group in groups {
        for row in &group.rows {
            let [from, to] = row.values.map(|value| match value {
                Some(value) => row.scaler.show(value),
                None => "–".to_owned(),
            });
            let rounds = row.rounds.to_string();
            grid.push([
                group.heading.clone(),
                row.name.clone(),
                from,
                to,
                row.text.clone(),
                rounds,
            ]);
        }
    }
    grid
}

fn draw(groups: &[Group], judged: &str, threshold: f64, title: &str) -> Option<String> {
    let height: f64 = groups
        .iter()
        .map(|it| HEADING + ROW * it.rows.len() as f64)
        .sum();
    let top = if height > HIGH { AXIS } else { EDGE };
    let field = PlotArea {
        left: LEFT,
        right: RIGHT,
        top,
        bottom: top + 6.0 + height,
    };
    let logs: Vec<f64> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .flat_map(Row::logs)
        .collect();
    let deciding = groups.iter().filter(|group| group.heading == judged);
    let must: Vec<f64> = deciding
        .flat_map(|group| &group.rows)
        .flat_map(Row::logs)
        .collect();
    let changes = ChangeAxis::of(&logs, &must, threshold, field.across())?;
    let mut svg = Svg::default();
    let limit = threshold.ln_1p();
    let ends = [-limit, limit].map(|log| changes.axis.place(log));
    svg.rect("band", (ends[0], field.top), (ends[1], field.bottom), None);
    changes.draw_across(&mut svg, &field);
    if height > HIGH {
        field.labels_above(&mut svg, &changes.axis, &changes.ticks);
    }
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

impl Group {
    fn has_interval(&self) -> bool {
        self.rows.iter().any(|row| row.ratios.len() > 1)
    }

    fn draw_heading(&self, svg: &mut Svg, y: f64) {
        let direction = match self.better {
            Better::Lower => "← less is better",
            Better::Higher => "more is better →",
            Better::Neither => "",
        };
        svg.heading((0.0, y), &fitted(&self.heading, RIGHT - 130.0), direction);
    }
}

impl Row {
    /// The logarithms of the change and of the ends of its interval.
    fn logs(&self) -> Vec<f64> {
        let known = self.ratios.iter().filter(|ratio| **ratio > 0.0);
        known.map(|ratio| ratio.ln()).collect()
    }

    fn draw(&self, svg: &mut Svg, changes: &ChangeAxis, y: f64) {
        let name = fitted(&self.name, LEFT - 24.0);
        svg.text("", Anchor::Start, (12.0, y + 4.0), &name);
        let logs = self.logs();
        // A change without a mark can also use the space of the marks.
        let from = if logs.is_empty() { LEFT } else { RIGHT };
        let shown = fitted(&self.text, WIDTH - from - 12.0);
        svg.text("", Anchor::End, (WIDTH, y + 4.0), &shown);
        let Some(&log) = logs.first() else { return };
        let title = format!("{}: {}", self.name, self.text);
        svg.group(&colour(self.index), |svg| {
            if let [_, low, high] = logs[..] {
                let place = |log: f64| (changes.place(log), y);
                svg.line("span", place(low), place(high));
            }
            let at = (changes.place(log), y);
            svg.marker(Shape::of(self.index), self.fill(), at, Some(&title));
        });
    }

    fn fill(&self) -> Fill {
        match self.is_decided {
            true => Fill::Full,
            false => Fill::Hollow,
        }
    }
}
