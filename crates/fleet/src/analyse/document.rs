//! The analysis as a document and as rows.

use super::analysis::{Analysis, ArmReport, Counts, MetricReport, Proofs, TURNS, Word};
use super::foresight::Basis;
use super::loss::{ALARM, Loss};
use super::scale::Scale;
use hugewise_experiment::run::compare::PolicyAnswer;
use hugewise_experiment::run::metric::Better;
use hugewise_text::Tone;
use hugewise_text::csv::{Csv, number, optional};
use hugewise_text::document::{Document, Field, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::{chosen_percent, counted, percent, percent_change, three_digits};

/// The whole report, answers first.
#[must_use]
pub fn document(analysis: &Analysis) -> Document {
    let mut answers = Section::default();
    for arm in &analysis.arms {
        let paragraph = Paragraph::new(sentence(analysis, arm)).hang(2);
        answers.push(paragraph.tone(tone(arm.answer)));
        for harmed in arm
            .metrics
            .iter()
            .filter(|it| it.is_harmed(analysis.harm_level))
        {
            let text = format!("{} is harmed: a guardrail.", harmed.metric);
            answers.push(Paragraph::new(text).indent(2).hang(2).tone(Tone::Bad));
        }
        if let Some(kills) = arm.kills.as_ref().filter(|it| it.treated[0] > 0) {
            let text = format!("OOM kills were in {}.", in_arms(kills, arm, analysis));
            answers.push(Paragraph::new(text).indent(2).hang(2).tone(Tone::Bad));
        }
    }
    if analysis.arms.is_empty() {
        let control = &analysis.control;
        answers.push(match analysis.crossed {
            0 => format!("Nothing is compared: all units have the arm {control}."),
            _ => format!(
                "Nothing is compared: all units began with the arm {control}. Arms that take turns \
                 are compared by their plan (--plan)."
            ),
        });
    }
    let mut document = Document::new([answers]);
    for arm in &analysis.arms {
        document.push(table(analysis, arm));
        if !arm.spill_over.is_empty() {
            document.push(spill_over(analysis, arm));
        }
    }
    document.push(checks(analysis));
    document
}

fn tone(answer: PolicyAnswer) -> Tone {
    match answer {
        PolicyAnswer::Better => Tone::Good,
        PolicyAnswer::Worse => Tone::Bad,
        _ => Tone::Strong,
    }
}

fn sentence(analysis: &Analysis, arm: &ArmReport) -> String {
    let (name, metric) = (&arm.arm, &analysis.metric);
    if let Some(reason) = &arm.reason {
        return format!("{name}: not decided: {reason}.");
    }
    let report = arm.metrics.iter().find(|it| it.metric == *metric);
    let size = report.and_then(with_interval);
    let size = size.map_or(String::new(), |size| format!(" by {size}"));
    match arm.answer {
        PolicyAnswer::Better => format!("{name} helps: it changes {metric}{size}."),
        PolicyAnswer::Worse => format!("{name} hurts: it changes {metric}{size}."),
        PolicyAnswer::NoDifference => {
            let band = chosen_percent(analysis.band);
            match report.and_then(|it| it.base) {
                Some(_) => format!(
                    "{name} makes no difference to {metric} of more than {band} % of its mean \
                     under {}.",
                    analysis.control
                ),
                None => format!("{name} makes no difference of more than {band} % to {metric}."),
            }
        }
        _ => format!("{name}: not decided: {}.", undecided(analysis, report)),
    }
}

fn undecided(analysis: &Analysis, report: Option<&MetricReport>) -> String {
    let metric = &analysis.metric;
    let Some(report) = report else {
        return format!("no row has the metric {metric}");
    };
    if report.better == Better::Neither {
        return format!("nobody said which direction of {metric} is good (--lower or --higher)");
    }
    match with_interval(report) {
        Some(size) if excludes_zero(report) => {
            let p = report.p_adjusted.unwrap_or(1.0);
            format!(
                "{metric} changes by {size}, but other draws of the arms give as much too often \
                 (p {p:.3} after Holm): there are too few units or turns, or too many metrics"
            )
        }
        Some(size) => format!("{metric} changes by {size}"),
        None => match report.detectable {
            Some(effect) => promise(report, effect),
            None if analysis.lot == TURNS => {
                format!("there are too few pairs of turns with {metric}")
            }
            None => format!("no stratum has two units of both arms with {metric}"),
        },
    }
}

/// The forecast for a future experiment, without the full stop.
fn promise(report: &MetricReport, effect: f64) -> String {
    let (metric, change) = (&report.metric, either_way(report.scale, effect));
    let (state, who) = match report.detectable_by {
        Some(Basis::Halves) => (
            "no unit was under an arm yet",
            "An experiment half as long as this past finds",
        ),
        Some(Basis::Turns) => (
            "no two pairs of turns are over yet",
            "All pairs that the plan gives these units together find",
        ),
        _ => (
            "no unit was under an arm yet",
            "One period of past does not tell how well the past predicts, so that this is the \
             most: an experiment finds",
        ),
    };
    format!("{state}. {who} {metric} changed by {change} with a chance of 80 %")
}

/// A change in both directions: a factor found as a rise is also found as a fall.
fn either_way(scale: Scale, effect: f64) -> String {
    match scale {
        Scale::Log => {
            let fall = 1.0 / (1.0 + effect) - 1.0;
            format!("{} or {} %", percent_change(fall), percent_change(effect))
        }
        Scale::Plain => format!("\u{b1}{}", three_digits(effect.abs())),
        Scale::Share => format!("\u{b1}{} points", percent(effect.abs())),
    }
}

pub(super) fn shown(scale: Scale, effect: f64) -> String {
    match scale {
        Scale::Log => format!("{} %", percent_change(effect)),
        Scale::Plain => {
            let plus = if effect > 0.0 { "+" } else { "" };
            format!("{plus}{}", three_digits(effect))
        }
        Scale::Share => format!("{} points", percent_change(effect)),
    }
}

fn excludes_zero(report: &MetricReport) -> bool {
    report
        .interval
        .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
}

fn with_interval(report: &MetricReport) -> Option<String> {
    let effect = shown(report.scale, report.effect?);
    Some(format!("{effect} [{}]", interval(report)?))
}

pub(super) fn interval(report: &MetricReport) -> Option<String> {
    let (low, high) = report.interval?;
    Some(match report.scale {
        Scale::Log | Scale::Share => {
            format!("{}, {}", percent_change(low), percent_change(high))
        }
        Scale::Plain => format!("{}, {}", three_digits(low), three_digits(high)),
    })
}

pub(super) fn word(report: &MetricReport) -> &'static str {
    match report.answer {
        Word::Better => "better",
        Word::Worse => "worse",
        Word::NoDifference => "no difference",
        Word::Fact => "a fact",
        Word::NotDecided => "not decided",
    }
}

fn grid(metrics: &[MetricReport]) -> Grid {
    use Align::{Left, Right};
    let mut grid = Grid::headed(&["metric", "change", "interval", "p (Holm)", "answer"]);
    grid = grid.aligned(&[Left, Right, Right, Right, Left]);
    for report in metrics.iter().filter(|it| it.effect.is_some()) {
        let effect = report.effect.map(|it| shown(report.scale, it));
        let p = report.p_adjusted.map(|p| format!("{p:.3}"));
        let mut cells: Vec<Cell> = [Some(report.metric.clone()), effect, interval(report), p]
            .map(|text| Cell::plain(text.unwrap_or_default()))
            .into();
        cells.push(Cell::plain(word(report)).tone(match report.answer {
            Word::Better => Tone::Good,
            Word::Worse => Tone::Bad,
            _ => Tone::Plain,
        }));
        grid.rows.push(cells);
    }
    grid
}

fn table(analysis: &Analysis, arm: &ArmReport) -> Section {
    let mut section = Section::titled(format!("{} against {}", arm.arm, analysis.control));
    if arm.metrics.iter().any(|it| it.effect.is_some()) {
        section.push(grid(&arm.metrics));
    }
    let carried = arm
        .metrics
        .iter()
        .filter_map(|it| Some((it, it.carry_over?)));
    for (report, (effect, p)) in carried.filter(|(_, (_, p))| *p <= analysis.level) {
        section.push(format!(
            "What was before reaches into the next turn: the first period of {} lies {} from the \
             rest of its turn (p {p:.3}). A longer washout is needed.",
            report.metric,
            shown(report.scale, effect)
        ));
    }
    for report in &arm.metrics {
        let design = report
            .design_effect
            .map(|it| format!("design effect {it:.2}"));
        let slope = report.slope.map(|it| format!("slope on the past {it:.2}"));
        let least = report.detectable.map(|it| {
            format!(
                "found with a chance of 80 %: {}",
                either_way(report.scale, it)
            )
        });
        let facts: Vec<String> = [design, slope, least].into_iter().flatten().collect();
        if !facts.is_empty() {
            let text = format!("{}: {}", report.metric, facts.join(", "));
            section.push_detail(Paragraph::new(text).indent(2).hang(2));
        }
    }
    section
}

fn spill_over(analysis: &Analysis, arm: &ArmReport) -> Section {
    let is_found = |it: &&MetricReport| it.p_adjusted.is_some_and(|p| p <= analysis.level);
    let mut section = Section::titled("Spill-over: untreated units beside treated ones");
    if arm.spill_over.iter().find(is_found).is_none() {
        section.push("None was found.");
    }
    section.push(grid(&arm.spill_over));
    section
}

fn checks(analysis: &Analysis) -> Section {
    let mut section = Section::titled("Checks");
    let Counts {
        rows,
        units,
        clusters,
        strata,
    } = analysis.counts;
    let counted_units: Vec<String> = analysis
        .units
        .iter()
        .map(|(arm, n)| format!("{arm} {n}"))
        .collect();
    let mut fields = vec![
        Field::new(
            "rows",
            format!(
                "{} of {}, in {} and {}",
                counted(rows, "row"),
                counted(units, "unit"),
                counted(clusters, "cluster"),
                match strata {
                    1 => "1 stratum".to_owned(),
                    n => format!("{n} strata"),
                },
            ),
        ),
        Field::new(
            "units",
            match analysis.units_p {
                Some(p) if p < ALARM => {
                    format!("{} (p {p:.1e}: not as planned)", counted_units.join(", "))
                }
                Some(p) => format!("{} (p {p:.3})", counted_units.join(", ")),
                None => counted_units.join(", "),
            },
        ),
    ];
    for loss in analysis
        .arms
        .iter()
        .flat_map(|arm| arm.losses.iter().map(move |it| (arm, it)))
    {
        let (arm, loss) = loss;
        if loss.treated[0] + loss.control[0] > 0 {
            let text = format!("{}: {}", in_arms(loss, arm, analysis), some(&loss.names));
            fields.push(Field::new(loss.what, text));
        }
    }
    for arm in &analysis.arms {
        if let Some(kills) = &arm.kills {
            let text = match kills.treated[0] + kills.control[0] {
                0 => format!("no unit under {} or {}", arm.arm, analysis.control),
                _ => format!("{}: {}", in_arms(kills, arm, analysis), some(&kills.names)),
            };
            fields.push(Field::new("OOM kills", text));
        }
    }
    if analysis.repeated > 0 {
        let rows = counted(analysis.repeated, "more row");
        let text =
            format!("{rows} of a unit, a metric and a time that was there already: counted once");
        fields.push(Field::new("twice", text));
    }
    fields.push(Field::new("settings", settings(analysis)));
    if analysis.crossed > 0 {
        let units = counted(analysis.crossed, "unit");
        fields.push(Field::new(
            "crossed",
            match analysis.crossed {
                1 => format!("{units} changed the arm, and counts for the first"),
                _ => format!("{units} changed the arm, and count for the first"),
            },
        ));
    }
    if analysis.plans.len() > 1 {
        let text = format!(
            "{} versions: {}",
            analysis.plans.len(),
            analysis.plans.join(", ")
        );
        fields.push(Field::new("plan", text));
    }
    fields.push(Field::new(
        "p-values",
        format!(
            "from at most {} draws by {}, after Holm; error of this look {} %",
            analysis.draws,
            analysis.lot,
            chosen_percent(analysis.level)
        ),
    ));
    section.push(fields);
    section
}

/// The number of affected units in both arms.
fn in_arms(loss: &Loss, arm: &ArmReport, analysis: &Analysis) -> String {
    let clusters = loss.clusters;
    let clusters = clusters.map(|n| format!("in {}, ", counted(n, "cluster")));
    format!(
        "{} of {} under {}, {} of {} under {} ({}p {:.3})",
        loss.treated[0],
        loss.treated[1],
        arm.arm,
        loss.control[0],
        loss.control[1],
        analysis.control,
        clusters.unwrap_or_default(),
        loss.p,
    )
}

/// The first few of the names.
fn some(names: &[String]) -> String {
    const FEW: usize = 3;
    let few: Vec<&str> = names.iter().take(FEW).map(String::as_str).collect();
    match names.len() {
        0..=FEW => few.join(", "),
        all => format!("{} and {} more", few.join(", "), all - FEW),
    }
}

fn settings(analysis: &Analysis) -> String {
    let Proofs {
        proved,
        missed,
        unknown,
    } = analysis.proofs;
    let periods = counted(proved + missed + unknown, "period");
    match analysis.exposure {
        None if proved + missed + unknown == 0 => "no unit was under an arm yet".to_owned(),
        None => "nobody looked whether they were in force".to_owned(),
        Some(share) => format!(
            "in force {} % of the time; of {periods} of a unit {proved} proved it, {missed} missed \
             it, {unknown} could not say",
            percent(share)
        ),
    }
}

/// One row per arm and metric.
#[must_use]
pub fn csv(analysis: &Analysis) -> String {
    let mut csv = Csv::new(&[
        "arm",
        "metric",
        "scale",
        "effect",
        "low",
        "high",
        "p",
        "p_adjusted",
        "answer",
    ]);
    for arm in &analysis.arms {
        for report in &arm.metrics {
            let edge = |it: Option<f64>| it.map_or(String::new(), number);
            csv.row([
                arm.arm.clone(),
                report.metric.clone(),
                <&str>::from(report.scale).to_owned(),
                edge(report.effect),
                edge(report.interval.map(|it| it.0)),
                edge(report.interval.map(|it| it.1)),
                optional(report.p),
                optional(report.p_adjusted),
                word(report).to_owned(),
            ]);
        }
    }
    csv.into_text()
}
