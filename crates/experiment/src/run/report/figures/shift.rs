//! Does a policy change all trials equally? Shows the change at the quantiles of the deciding metric.

use super::super::Report;
use super::{index_of, keys_of_policies};
use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::{QuantileChange, quantile_changes};
use crate::text::ends::percent_ends;
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::chosen_percent;
use crate::text::svg::{Axis, ChangeAxis, Fill, Key, PlotArea, Shape, Sign, Svg, WIDTH, colour};
use crate::text::wrap::plain;

const HEIGHT: f64 = 200.0;
const TITLE: &str = "Change in fast and slow trials";

/// One policy.
struct Line {
    name: String,
    index: usize,
    changes: Vec<QuantileChange>,
}

impl Line {
    fn logs(&self) -> Vec<f64> {
        let ends = |it: &QuantileChange| {
            let (low, high) = it.interval.unwrap_or((it.ratio, it.ratio));
            [it.ratio, low, high]
        };
        self.changes.iter().flat_map(ends).map(f64::ln).collect()
    }
}

pub(super) fn figure(report: &Report<'_>) -> Option<Figure> {
    // Programs are compared under the same policy, not with one baseline.
    if !report.record.header.plan.programs.is_empty() {
        return None;
    }
    let verdict = &report.table.verdict;
    let policies = report.record.header.plan.policies.iter();
    let others = policies.filter(|policy| policy.name != verdict.baseline);
    let lines = others.map(|policy| Line {
        name: plain(&policy.name),
        index: index_of(report.record, &policy.name),
        changes: quantile_changes(
            report.record,
            &verdict.baseline,
            &policy.name,
            &verdict.metric,
        ),
    });
    let lines: Vec<Line> = lines.filter(|line| !line.changes.is_empty()).collect();
    let metric = metric_of(report.record, &verdict.metric);
    Some(Figure {
        id: "shift".to_owned(),
        title: TITLE.to_owned(),
        caption: format!(
            "The change of {} at quantiles of all trials, the smallest values on the left. The \
             intervals hold together with 95 %, approximately (bootstrap of rounds). A level row \
             means that all trials change equally. The scale of changes is logarithmic.",
            plain(&metric.label)
        ),
        svg: draw(
            &lines,
            keys_of_policies(report.record, Sign::Mark(Fill::Full)),
            verdict.threshold,
        )?,
        table: table(&lines),
    })
}

fn table(lines: &[Line]) -> Grid {
    let mut grid = Grid::headed(&["policy", "quantile", "change", "interval"]);
    for line in lines {
        for it in &line.changes {
            let interval = it.interval.map(|(low, high)| {
                let [low, high] = percent_ends(low - 1.0, high - 1.0);
                format!("[{low}, {high}]")
            });
            grid.push([
                line.name.clone(),
                quantile_text(it.share),
                effect_of_ratio(it.ratio),
                interval.unwrap_or_else(|| "–".to_owned()),
            ]);
        }
    }
    grid
}

fn quantile_text(share: f64) -> String {
    match share {
        0.5 => "median".to_owned(),
        share => format!("{} %", chosen_percent(share)),
    }
}

fn draw(lines: &[Line], keys: Vec<Key>, threshold: f64) -> Option<String> {
    let mut svg = Svg::default();
    let drawn = |key: &Key| lines.iter().any(|line| line.index == key.index);
    let top = svg.legend(0.0, &keys.into_iter().filter(drawn).collect::<Vec<_>>()) + 8.0;
    let field = PlotArea {
        left: 84.0,
        right: WIDTH - 4.0,
        top,
        bottom: top + HEIGHT,
    };
    let logs: Vec<f64> = lines.iter().flat_map(Line::logs).collect();
    let up = ChangeAxis::of(&logs, &logs, threshold, field.up())?;
    let shares = &lines.first()?.changes;
    let across = Axis::between(-0.5, shares.len() as f64 - 0.5, field.across())?;
    let limit = threshold.ln_1p();
    let [low, high] = [-limit, limit].map(|log| up.axis.place(log));
    svg.rect("band", (field.left, low), (field.right, high), None);
    field.grid_up(&mut svg, &up.axis, &up.ticks);
    let labels = shares.iter().enumerate();
    let labels = labels.map(|(index, it)| (index as f64, quantile_text(it.share)));
    field.grid_across(&mut svg, &across, &labels.collect::<Vec<_>>());
    let zero = up.axis.place(0.0);
    svg.line("zero", (field.left, zero), (field.right, zero));
    field.frame(&mut svg);
    for (place, line) in lines.iter().enumerate() {
        let aside = 0.5 * ((place as f64 + 0.5) / lines.len() as f64 - 0.5);
        line.draw(&mut svg, &across, &up.axis, aside);
    }
    Some(svg.finish(TITLE, field.bottom + 24.0))
}

impl Line {
    fn draw(&self, svg: &mut Svg, across: &Axis, up: &Axis, aside: f64) {
        let x = |index: usize| across.place(index as f64 + aside);
        let y = |ratio: f64| up.place(ratio.ln());
        let all = self.changes.iter().enumerate();
        let line: Vec<_> = all
            .clone()
            .map(|(index, it)| Some((x(index), y(it.ratio))))
            .collect();
        svg.group(&colour(self.index), |svg| {
            svg.curve("thin", &line);
            for (index, it) in all {
                if let Some((low, high)) = it.interval {
                    svg.line("span", (x(index), y(low)), (x(index), y(high)));
                }
                let at = (x(index), y(it.ratio));
                let what = effect_of_ratio(it.ratio);
                let title = format!("{}, {}: {what}", self.name, quantile_text(it.share));
                svg.marker(Shape::of(self.index), Fill::Full, at, Some(&title));
            }
        });
    }
}
