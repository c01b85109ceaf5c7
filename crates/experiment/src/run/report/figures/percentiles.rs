//! Latencies over percentiles, on an axis with equal space for each further nine.

use std::collections::BTreeSet;

use super::keys_of_policies;
use crate::base::histogram::distribution::Distribution;
use crate::base::units::Unit;
use crate::run::compare::labels::metric_of;
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{PERCENTILES, percentile};
use crate::run::record::Record;
use crate::run::trial::Reading;
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::{count, quantity};
use crate::text::svg::{Anchor, Axis, Place, PlotArea, Sign, Svg, WIDTH, colour};
use crate::text::wrap::{capitalised, plain};

const HEIGHT: f64 = 240.0;

/// The number of slower requests that makes a percentile stable.
const STEADY: f64 = 10.0;

/// The requests of one policy, all trials together.
struct Line {
    name: String,
    index: usize,
    all: Distribution,
}

/// One figure for each metric with counted values.
pub(super) fn figures(record: &Record) -> Vec<Figure> {
    let readings = record.trials.iter().flat_map(|trial| &trial.readings);
    let counted = readings.filter(|(_, it)| matches!(it, Reading::Histogram { .. }));
    let names: BTreeSet<&str> = counted.map(|(name, _)| name.as_str()).collect();
    names
        .into_iter()
        .filter_map(|metric| figure(record, metric))
        .collect()
}

fn figure(record: &Record, metric: &str) -> Option<Figure> {
    let policies = record.header.plan.policies.iter().enumerate();
    let line = |(index, policy): (usize, &crate::run::policy::Policy)| {
        Some(Line {
            name: plain(&policy.name),
            index,
            all: merged(record, &policy.name, metric)?,
        })
    };
    let lines: Vec<Line> = policies.filter_map(line).collect();
    let label = plain(&metric_of(record, metric).label);
    let title = capitalised(&format!("{label} by percentile"));
    Some(Figure {
        id: format!(
            "percentiles-{}",
            metric.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        ),
        caption: format!(
            "All requests of each policy ({label}): from one label to the next, ten times fewer \
             requests are slower. Right of the dashed fence fewer than ten requests are slower, \
             and the line is chance. Both axes are logarithmic."
        ),
        svg: draw(record, &lines, &title)?,
        table: table(record, metric, &lines),
        title,
    })
}

fn merged(record: &Record, policy: &str, metric: &str) -> Option<Distribution> {
    let trials = arm_trials(record, policy).filter(|trial| trial.succeeded());
    let counted = trials.filter_map(|trial| match trial.readings.get(metric) {
        Some(Reading::Histogram { histogram }) => Some(Distribution::clone(histogram)),
        _ => None,
    });
    let all = counted.reduce(|mut all, one| {
        all.merge(&one);
        all
    });
    all.filter(|all| all.count() > 0)
}

fn table(record: &Record, metric: &str, lines: &[Line]) -> Grid {
    let heads = PERCENTILES.map(|quantile| quantile.label());
    let heads: Vec<&str> = ["policy", "requests"].into_iter().chain(heads).collect();
    let mut grid = Grid::headed(&heads);
    let policies = &record.header.plan.policies;
    for line in lines {
        let value = |quantile| percentile(record, &policies[line.index].name, metric, quantile);
        let shown = PERCENTILES.map(|quantile| match value(quantile) {
            Some(seconds) => quantity(&Unit::Seconds, seconds),
            None => "–".to_owned(),
        });
        let first = [line.name.clone(), count(line.all.count())];
        grid.push(first.into_iter().chain(shown));
    }
    grid
}

/// Number of nines in a share: 1 for 90 %, 2 for 99 %.
fn nines(slower: f64) -> f64 {
    -slower.log10()
}

fn draw(record: &Record, lines: &[Line], title: &str) -> Option<String> {
    let mut svg = Svg::default();
    let keys = keys_of_policies(record, Sign::Line).into_iter();
    let keys = keys.filter(|key| lines.iter().any(|line| line.index == key.index));
    let top = svg.legend(0.0, &keys.collect::<Vec<_>>()) + 20.0;
    let field = PlotArea {
        left: 84.0,
        right: WIDTH - 12.0,
        top,
        bottom: top + HEIGHT,
    };
    let most = lines.iter().map(|line| line.all.count()).max()? as f64;
    let across = Axis::between(0.0, nines(1.0 / most).max(1.0), field.across())?;
    let values = lines.iter().flat_map(|line| line.all.rows());
    let values: Vec<f64> = values.map(|(ns, _)| ns as f64 / 1e9).collect();
    let up = Axis::logarithmic(values.iter().copied(), field.up())?;
    let show = |value| quantity(&Unit::Seconds, value);
    field.grid_up(&mut svg, &up, &up.labels(&Unit::Seconds, 7, show));
    field.grid_across(&mut svg, &across, &percents(&across));
    field.frame(&mut svg);
    for line in lines {
        let places = line.places(&across, &up);
        svg.group(&colour(line.index), |svg| svg.curve("line", &places));
    }
    let fewest = lines.iter().map(|line| line.all.count()).min()? as f64;
    fence(&mut svg, &field, &across, fewest);
    Some(svg.finish(title, field.bottom + 24.0))
}

/// The point beyond which fewer than ten requests are slower.
fn fence(svg: &mut Svg, field: &PlotArea, across: &Axis, requests: f64) {
    let nines = nines(STEADY / requests);
    if nines <= 0.0 || !across.holds(nines) {
        return;
    }
    let x = across.place(nines);
    svg.line("fence", (x, field.top - 4.0), (x, field.bottom));
    let text = "10 requests are slower";
    svg.text("muted", Anchor::End, (x - 4.0, field.top - 4.0), text);
}

fn percents(across: &Axis) -> Vec<(f64, String)> {
    let whole = (1..12).map(|nines: i32| {
        let slower = 10_f64.powi(-nines);
        let decimals = usize::try_from(nines - 2).unwrap_or(0);
        (
            f64::from(nines),
            format!("{:.decimals$} %", 100.0 * (1.0 - slower)),
        )
    });
    let first = [(0.0, "0 %".to_owned()), (nines(0.5), "50 %".to_owned())];
    let all = first.into_iter().chain(whole);
    all.filter(|(nines, _)| across.holds(*nines)).collect()
}

impl Line {
    /// A step for each bucket; steps closer than two pixels are merged.
    fn places(&self, across: &Axis, up: &Axis) -> Vec<Option<Place>> {
        let total = self.all.count() as f64;
        let mut slower = total;
        let mut places: Vec<Option<Place>> = Vec::new();
        let mut last = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (ns, count) in self.all.rows() {
            let x = across.place(nines(slower / total));
            slower -= count as f64;
            let end = across.place(nines(slower.max(1.0) / total));
            let y = up.place(ns as f64 / 1e9);
            let far = |one: f64, other: f64| (one - other).abs() >= 2.0;
            if far(end, last.0) || far(y, last.1) || slower < 1.0 {
                places.extend([Some((x, y)), Some((end, y))]);
                last = (end, y);
            }
        }
        places
    }
}
