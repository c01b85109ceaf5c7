//! Seconds gained and lost by cause: the parts of a difference, whose sum is the whole.

use super::super::Report;
use crate::base::units::Unit;
use crate::run::answer::{Against, Arm, Call, When};
use crate::run::cause::{Seconds, facts};
use crate::run::metric::MetricId;
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::Scaler;
use crate::text::svg::{Anchor, Axis, PlotArea, Svg, WIDTH, fitted};
use crate::text::wrap::plain;

const LEFT: f64 = 180.0;
const ROW: f64 = 20.0;
const HEADING: f64 = 24.0;
const TITLE: &str = "Where the time went";

/// One policy: its parts, and their sum.
struct Sum {
    name: String,
    parts: Vec<(String, f64)>,
}

impl Sum {
    fn whole(&self) -> f64 {
        self.parts.iter().map(|(_, seconds)| seconds).sum()
    }

    /// The start and end of each part, each beginning at the end of the previous one; the total comes last.
    fn steps(&self) -> Vec<(&str, f64, f64)> {
        let mut end = 0.0;
        let parts = self.parts.iter().map(|(label, seconds)| {
            let begin = end;
            end += seconds;
            (label.as_str(), begin, end)
        });
        let mut steps: Vec<_> = parts.collect();
        steps.push(("wall time", 0.0, self.whole()));
        steps
    }
}

pub(super) fn figure(report: &Report<'_>) -> Option<Figure> {
    let plan = &report.record.header.plan;
    if plan.bench.is_some() || plan.service.is_some() || !plan.programs.is_empty() {
        return None;
    }
    let sums = sums(report);
    Some(Figure {
        id: "causes".to_owned(),
        title: TITLE.to_owned(),
        caption: "The mean difference of a run from the baseline: each bar begins where the one \
                  before ends, to the left is time gained, and the last is their sum. Policies \
                  whose time is not decided are left out."
            .to_owned(),
        svg: draw(&sums)?,
        table: table(&sums),
    })
}

/// The policies whose difference is decided.
fn sums(report: &Report<'_>) -> Vec<Sum> {
    let answer = report.answer();
    let is_decided = |arm: &&Arm| {
        answer.claims.iter().any(|claim| {
            let contrast = &claim.contrast;
            contrast.arm == arm.name
                && contrast.metric == MetricId::WallSeconds.name()
                && contrast.when == When::BackToBack
                && contrast.against == Against::Baseline
                && matches!(claim.call, Call::Better | Call::Worse)
        })
    };
    let decided = answer.arms.iter().filter(is_decided);
    let sums = decided.filter_map(|arm| {
        let seconds = facts::seconds(report.record, &answer.judged.baseline, &arm.name)?;
        Some(Sum {
            name: plain(&arm.name),
            parts: parts(&seconds),
        })
    });
    sums.collect()
}

/// The parts that add up to the whole; those that did not change are left out.
fn parts(seconds: &Seconds) -> Vec<(String, f64)> {
    let timed = [
        ("compaction", seconds.compaction),
        ("reclaim", seconds.reclaim),
        ("reclaim of the cgroup", seconds.cgroup_reclaim),
        ("zeroing", seconds.zeroing),
        ("splits", seconds.splits),
        ("other page faults", seconds.other_faults),
    ];
    let is_timed = timed.iter().any(|(_, part)| part.is_some());
    let timed = timed
        .into_iter()
        .filter_map(|(label, part)| Some((label, part?)));
    let kernel = match is_timed {
        true => "other kernel time",
        false => "kernel time",
    };
    let all = std::iter::once(("user mode", seconds.user))
        .chain(timed.filter(|(_, part)| *part != 0.0))
        .chain([(kernel, seconds.other_kernel), ("off-CPU", seconds.off_cpu)]);
    all.map(|(label, part)| (label.to_owned(), part)).collect()
}

/// A change in seconds, with its sign.
fn signed(seconds: f64) -> String {
    Scaler::for_row(&Unit::Seconds, &[seconds]).show_change(seconds)
}

fn table(sums: &[Sum]) -> Grid {
    let mut grid = Grid::headed(&["policy", "part", "seconds"]);
    for sum in sums {
        for (label, begin, end) in sum.steps() {
            grid.push([sum.name.clone(), label.to_owned(), signed(end - begin)]);
        }
    }
    grid.aligned(&[crate::text::grid::Align::Left; 2])
}

fn draw(sums: &[Sum]) -> Option<String> {
    let rows: usize = sums.iter().map(|sum| sum.parts.len() + 1).sum();
    let field = PlotArea {
        left: LEFT,
        right: WIDTH - 100.0,
        top: 4.0,
        bottom: 10.0 + HEADING * sums.len() as f64 + ROW * rows as f64,
    };
    let ends = sums
        .iter()
        .flat_map(Sum::steps)
        .flat_map(|(_, begin, end)| [begin, end]);
    let ends: Vec<f64> = ends.collect();
    if ends.is_empty() {
        return None;
    }
    let across = Axis::from_zero(ends, field.across())?;
    let mut svg = Svg::default();
    let ticks = across.labels(&Unit::Seconds, 6, signed);
    field.grid_across(&mut svg, &across, &ticks);
    let zero = across.place(0.0);
    svg.line("zero", (zero, field.top), (zero, field.bottom));
    let mut y = field.top;
    for sum in sums {
        svg.text(
            "head",
            Anchor::Start,
            (0.0, y + 16.0),
            &fitted(&sum.name, WIDTH / 2.0),
        );
        y += HEADING;
        for (index, (label, begin, end)) in sum.steps().into_iter().enumerate() {
            let is_sum = index == sum.parts.len();
            bar(&mut svg, &across, (label, begin, end), y, is_sum);
            y += ROW;
        }
    }
    Some(svg.finish(TITLE, field.bottom + 24.0))
}

fn bar(svg: &mut Svg, across: &Axis, part: (&str, f64, f64), y: f64, is_sum: bool) {
    let (label, begin, end) = part;
    let text = signed(end - begin);
    let class = match end - begin {
        _ if is_sum => "sum",
        gained if gained < 0.0 => "gain",
        _ => "loss",
    };
    svg.text(
        "",
        Anchor::Start,
        (12.0, y + 14.0),
        &fitted(label, LEFT - 24.0),
    );
    svg.text("", Anchor::End, (WIDTH, y + 14.0), &text);
    let (from, to) = (across.place(begin), across.place(end));
    let title = format!("{label}: {text}");
    svg.group(class, |svg| {
        svg.rect("bar", (from, y + 3.0), (to, y + ROW - 3.0), Some(&title));
        if !is_sum {
            svg.line("thin", (to, y + 3.0), (to, y + ROW + 3.0));
        }
    });
}
