//! Every trial of the deciding metric, round by round: shows drift, modes and disturbed trials.

use super::super::Report;
use super::super::arms::Arm;
use super::fill_of;
use crate::base::units::Unit;
use crate::run::compare::labels::metric_of;
use crate::run::trial::Trial;
use crate::text::figure::Figure;
use crate::text::grid::{Align, Grid};
use crate::text::number::Scaler;
use crate::text::svg::{Anchor, Axis, Key, Place, PlotArea, Shape, Sign, Svg, WIDTH, colour};
use crate::text::wrap::plain;

/// Height of the field.
const HEIGHT: f64 = 220.0;
const TITLE: &str = "Every trial, round by round";

pub(super) fn figure(report: &Report<'_>, arms: &[Arm<'_>]) -> Option<Figure> {
    let metric = metric_of(report.record, &report.table.verdict.metric);
    let values: Vec<f64> = arms.iter().flat_map(Arm::values).collect();
    let scaler = Scaler::for_row(&metric.unit, &values);
    let svg = draw(arms, &metric.unit, &scaler, Joined::ByRound, TITLE)?;
    Some(Figure {
        id: "rounds".to_owned(),
        title: TITLE.to_owned(),
        caption: format!(
            "Each mark is one trial ({}); a line joins the trials of a round. A ring is a \
             disturbed trial, a cross a failed one, a hollow mark the control.",
            plain(&metric.label)
        ),
        svg,
        table: table(arms, &scaler),
    })
}

/// The number of rounds.
fn count(arms: &[Arm<'_>]) -> u32 {
    let trials = arms.iter().flat_map(|arm| &arm.trials);
    trials.map(|(trial, _)| trial.round + 1).max().unwrap_or(0)
}

fn of_round<'a>(arm: &Arm<'a>, round: u32) -> Option<(&'a Trial, Option<f64>)> {
    arm.trials
        .iter()
        .copied()
        .find(|(trial, _)| trial.round == round)
}

/// The problem in a trial.
fn trouble(trial: &Trial) -> Option<String> {
    if !trial.succeeded() {
        return Some(plain(&trial.outcome.to_string()));
    }
    let marks: Vec<String> = trial
        .marks
        .iter()
        .map(|mark| plain(&mark.to_string()))
        .collect();
    (!marks.is_empty()).then(|| marks.join("; "))
}

fn table(arms: &[Arm<'_>], scaler: &Scaler) -> Grid {
    let names = arms.iter().map(|arm| arm.name.as_str());
    let heads: Vec<&str> = std::iter::once("round")
        .chain(names)
        .chain(["disturbed"])
        .collect();
    let mut align = vec![Align::Right; heads.len()];
    align[heads.len() - 1] = Align::Left;
    let mut grid = Grid::headed(&heads).aligned(&align);
    for round in 0..count(arms) {
        let trials: Vec<_> = arms.iter().map(|arm| of_round(arm, round)).collect();
        let values = trials.iter().map(|trial| match trial {
            Some((_, Some(value))) => scaler.show(*value),
            _ => "–".to_owned(),
        });
        let troubles = arms.iter().zip(&trials).filter_map(|(arm, trial)| {
            let trouble = trouble(trial.as_ref()?.0)?;
            Some(format!("{}: {trouble}", arm.name))
        });
        let troubles = troubles.collect::<Vec<_>>().join("; ");
        let number = (round + 1).to_string();
        grid.push(std::iter::once(number).chain(values).chain([troubles]));
    }
    grid
}

/// Does a line connect trials?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// It connects the trials of a round, which are compared.
    ByRound,
    /// It does not.
    Not,
}

/// Each trial of a metric in this unit, in the order of the rounds.
pub(super) fn draw(
    arms: &[Arm<'_>],
    unit: &Unit,
    scaler: &Scaler,
    joined: Joined,
    title: &str,
) -> Option<String> {
    let mut svg = Svg::default();
    let keys = arms.iter().map(|arm| Key {
        index: arm.index,
        sign: Sign::Mark(fill_of(arm)),
        text: arm.name.clone(),
    });
    let top = svg.legend(0.0, &keys.collect::<Vec<_>>()) + 8.0;
    let field = PlotArea {
        left: 84.0,
        right: WIDTH - 4.0,
        top,
        bottom: top + HEIGHT,
    };
    // Failed trials are drawn below the values.
    let up = (field.bottom - 14.0, field.top + 6.0);
    let up = Axis::linear(arms.iter().flat_map(Arm::values), up)?;
    let rounds = count(arms);
    let across = Axis::between(0.5, f64::from(rounds) + 0.5, field.across())?;
    let ticks = up.labels(unit, 6, |value| scaler.show(value));
    field.grid_up(&mut svg, &up, &ticks);
    let numbers = across.ticks(&Unit::Count, 12).into_iter();
    let numbers = numbers.map(|number| (number, format!("{number}")));
    field.grid_across(&mut svg, &across, &numbers.collect::<Vec<_>>());
    svg.text(
        "muted",
        Anchor::End,
        (field.left - 8.0, field.bottom + 18.0),
        "round",
    );
    field.frame(&mut svg);
    let paper = Paper { field, across, up };
    if joined == Joined::ByRound {
        paper.draw_lines(&mut svg, arms, rounds);
    }
    for (index, arm) in arms.iter().enumerate() {
        svg.group(&colour(arm.index), |svg| {
            for (trial, value) in &arm.trials {
                let at = paper.place(trial.round, index, arms.len(), *value);
                draw_trial(svg, arm, (trial, *value), at, scaler);
            }
        });
    }
    Some(svg.finish(title, field.bottom + 24.0))
}

/// The layout of trials.
struct Paper {
    field: PlotArea,
    across: Axis,
    up: Axis,
}

impl Paper {
    /// The position of a trial; those of one round are next to each other, failed ones at the bottom.
    fn place(&self, round: u32, arm: usize, arms: usize, value: Option<f64>) -> Place {
        let aside = (arm as f64 + 0.5) / arms as f64 - 0.5;
        let x = self.across.place(f64::from(round + 1) + 0.7 * aside);
        (
            x,
            value.map_or(self.field.bottom - 6.0, |value| self.up.place(value)),
        )
    }

    /// Draws the lines that connect the trials of a round.
    fn draw_lines(&self, svg: &mut Svg, arms: &[Arm<'_>], rounds: u32) {
        for round in 0..rounds {
            let places = arms.iter().enumerate().filter_map(|(index, arm)| {
                let (_, value) = of_round(arm, round)?;
                Some(self.place(round, index, arms.len(), Some(value?)))
            });
            svg.curve("grid", &places.map(Some).collect::<Vec<_>>());
        }
    }
}

fn draw_trial(
    svg: &mut Svg,
    arm: &Arm<'_>,
    (trial, value): (&Trial, Option<f64>),
    at: Place,
    scaler: &Scaler,
) {
    let what = value.map_or_else(|| "no value".to_owned(), |value| scaler.show(value));
    let mut title = format!("{}, round {}: {what}", arm.name, trial.round + 1);
    let trouble = trouble(trial);
    if let Some(why) = &trouble {
        title = format!("{title}; {why}");
    }
    if value.is_none() {
        return svg.cross(at, &title);
    }
    if trouble.is_some() {
        svg.ring(at);
    }
    svg.marker(Shape::of(arm.index), fill_of(arm), at, Some(&title));
}
