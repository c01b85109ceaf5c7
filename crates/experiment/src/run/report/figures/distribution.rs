//! How the trials of the deciding metric are spread under each policy.

use super::super::Report;
use super::super::arms::Arm;
use super::super::trials::numbers;
use super::fill_of;
use crate::run::compare::labels::metric_of;
use crate::run::stats::quantile::sorted;
use crate::run::stats::{Sample, median, quantile};
use crate::text::figure::Figure;
use crate::text::number::Scaler;
use crate::text::svg::{Anchor, Axis, PlotArea, Shape, Svg, WIDTH, colour, fitted};
use crate::text::wrap::plain;

const LEFT: f64 = 170.0;
/// The height of one policy, and the number of marks stacked in it.
const ROW: f64 = 42.0;
const LANES: [f64; 5] = [0.0, -7.0, 7.0, -14.0, 14.0];
/// Minimum distance of marks in one lane.
const APART: f64 = 8.0;
const TITLE: &str = "How the trials are spread";

pub(super) fn figure(report: &Report<'_>, arms: &[Arm<'_>]) -> Option<Figure> {
    let metric = metric_of(report.record, &report.table.verdict.metric);
    let values: Vec<f64> = arms.iter().flat_map(Arm::values).collect();
    let scaler = Scaler::for_row(&metric.unit, &values);
    let field = PlotArea {
        left: LEFT,
        right: WIDTH - 20.0,
        top: 4.0,
        bottom: 8.0 + ROW * arms.len() as f64,
    };
    let across = Axis::linear(values, field.across())?;
    let mut svg = Svg::default();
    let ticks = across.labels(&metric.unit, 6, |value| scaler.show(value));
    field.grid_across(&mut svg, &across, &ticks);
    for (index, arm) in arms.iter().enumerate() {
        let y = field.top + ROW * (index as f64 + 0.5);
        svg.text(
            "",
            Anchor::Start,
            (0.0, y + 4.0),
            &fitted(&arm.name, LEFT - 12.0),
        );
        svg.group(&colour(arm.index), |svg| {
            draw(svg, arm, &across, y, &scaler);
        });
    }
    Some(Figure {
        id: "distribution".to_owned(),
        title: TITLE.to_owned(),
        caption: format!(
            "Each mark is one trial ({}); the box holds the middle half, and its line is the \
             median.",
            plain(&metric.label)
        ),
        svg: svg.finish(TITLE, field.bottom + 24.0),
        table: numbers(arms, &scaler, usize::MAX),
    })
}

fn draw(svg: &mut Svg, arm: &Arm<'_>, across: &Axis, y: f64, scaler: &Scaler) {
    let values = sorted(&arm.values().collect::<Vec<_>>());
    let at = |share: f64| Some(across.place(quantile(&[Sample::Plain(&values)], share)?));
    if let (Some(low), Some(high)) = (at(0.25), at(0.75)) {
        svg.rect("area", (low, y - 17.0), (high, y + 17.0), None);
    }
    let mut last = [f64::NEG_INFINITY; LANES.len()];
    for value in &values {
        let x = across.place(*value);
        let lane = last.iter().position(|last| x - last >= APART).unwrap_or(0);
        last[lane] = x;
        let title = format!("{}: {}", arm.name, scaler.show(*value));
        let place = (x, y + LANES[lane]);
        svg.marker(Shape::of(arm.index), fill_of(arm), place, Some(&title));
    }
    if let Some(middle) = median(&values).map(|value| across.place(value)) {
        svg.line("span", (middle, y - 19.0), (middle, y + 19.0));
    }
}
