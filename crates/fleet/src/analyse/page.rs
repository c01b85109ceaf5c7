//! The analysis as an HTML page, with a figure of the changes of each arm.

use super::analysis::{Analysis, ArmReport, MetricReport, Word};
use super::document::{document, interval, shown, word};
use super::scale::Scale;
use hugewise_text::figure::Figure;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::page::{Page, to_page};
use hugewise_text::svg::{Anchor, ChangeAxis, Fill, PlotArea, Shape, Svg, WIDTH, fitted};

/// The height of a row, and the widths reserved for names and answers next to the chart.
const ROW: f64 = 22.0;
const LEFT: f64 = 260.0;
const RIGHT: f64 = WIDTH - 110.0;

/// One HTML page.
#[must_use]
pub fn page(analysis: &Analysis) -> String {
    let arms = analysis.arms.iter().enumerate();
    let figures: Vec<Figure> = arms
        .filter_map(|(at, arm)| figure(analysis, at, arm))
        .collect();
    to_page(&Page {
        title: &format!("hugewise: the fleet experiment {}", analysis.experiment),
        document: &document(analysis),
        figures: &figures,
        further: &[],
        source: &[],
        again: "",
    })
}

/// The metrics of an arm whose change is a share, with their intervals. `None` if there are none.
fn figure(analysis: &Analysis, at: usize, arm: &ArmReport) -> Option<Figure> {
    let title = format!("Changes by {} against {}", arm.arm, analysis.control);
    let drawn: Vec<Drawn> = arm.metrics.iter().filter_map(Drawn::of).collect();
    Some(Figure {
        id: format!("arm-{at}"),
        svg: draw(&drawn, analysis.band, &title)?,
        title,
        caption: "A line is the interval; a filled mark is an answer, a hollow one is not decided \
                  or a fact. Shares, and metrics with means of zero, change by no factor, and stand \
                  in the table below."
            .to_owned(),
        table: numbers(&drawn),
    })
}

/// A metric with its change and interval as logarithms.
struct Drawn<'a> {
    report: &'a MetricReport,
    logs: [f64; 3],
}

impl<'a> Drawn<'a> {
    fn of(report: &'a MetricReport) -> Option<Self> {
        let (low, high) = report.interval.filter(|_| report.scale == Scale::Log)?;
        let logs = [low, report.effect?, high].map(f64::ln_1p);
        let is_drawn = logs.iter().all(|log| log.is_finite());
        is_drawn.then_some(Self { report, logs })
    }

    fn draw(&self, svg: &mut Svg, changes: &ChangeAxis, y: f64) {
        let report = self.report;
        let name = fitted(&report.metric, LEFT - 12.0);
        svg.text("", Anchor::Start, (0.0, y + 4.0), &name);
        svg.text("muted", Anchor::End, (WIDTH, y + 4.0), word(report));
        let (class, fill) = match report.answer {
            Word::Better => ("gain", Fill::Full),
            Word::Worse => ("loss", Fill::Full),
            Word::NoDifference => ("sum", Fill::Full),
            _ => ("sum", Fill::Hollow),
        };
        let [low, change, high] = self.logs.map(|log| (changes.axis.place(log), y));
        let title = format!("{}: {}", report.metric, self.numbers().join(", "));
        svg.group(class, |svg| {
            svg.line("span", low, high);
            svg.marker(Shape::of(0), fill, change, Some(&title));
        });
    }

    fn numbers(&self) -> [String; 2] {
        let change = self.report.effect.map(|it| shown(self.report.scale, it));
        [change, interval(self.report)].map(Option::unwrap_or_default)
    }
}

fn numbers(drawn: &[Drawn<'_>]) -> Grid {
    let align = [Align::Left, Align::Right, Align::Right, Align::Left];
    let mut grid = Grid::headed(&["metric", "change", "interval", "answer"]).aligned(&align);
    for it in drawn {
        let [change, interval] = it.numbers();
        let metric = it.report.metric.clone();
        grid.push([metric, change, interval, word(it.report).to_owned()]);
    }
    grid
}

fn draw(drawn: &[Drawn<'_>], band: f64, title: &str) -> Option<String> {
    let field = PlotArea {
        left: LEFT,
        right: RIGHT,
        top: 4.0,
        bottom: 10.0 + ROW * drawn.len() as f64,
    };
    let logs: Vec<f64> = drawn.iter().flat_map(|it| it.logs).collect();
    let changes = ChangeAxis::of(&logs, &logs, band, field.across())?;
    let mut svg = Svg::default();
    changes.draw_across(&mut svg, &field);
    for (row, it) in drawn.iter().enumerate() {
        it.draw(&mut svg, &changes, field.top + ROW * (row as f64 + 0.5));
    }
    (!drawn.is_empty()).then(|| svg.finish(title, field.bottom + 24.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{Question, Spending, Tally};
    use crate::simulate::{ARMS, Fleet};

    fn drawn_of(effect: f64) -> (Analysis, String) {
        let mut tally = Tally::new(None);
        let fleet = Fleet {
            effect,
            ..Fleet::quiet()
        };
        for row in fleet.rows(1) {
            tally.add(&row).expect("a row of an agent");
        }
        let question = Question {
            control: ARMS[0].to_owned(),
            metric: None,
            better: std::collections::BTreeMap::new(),
            band: 0.01,
            spending: Spending::equal(1),
            plan: None,
        };
        let analysis = Analysis::of(&tally, &question);
        let page = page(&analysis);
        (analysis, page)
    }

    #[test]
    fn a_page_draws_what_its_text_says() {
        let (analysis, page) = drawn_of(-0.2);
        let report = &analysis.arms[0].metrics[0];
        let change = shown(report.scale, report.effect.expect("an effect"));
        let interval = interval(report).expect("an interval");
        assert!(page.contains(&format!("p99_seconds: {change}, {interval}")));
        assert!(page.contains("treated helps: it changes p99_seconds"));
        assert!(page.contains("class=\"gain\""), "{page}");
        assert!(!drawn_of(0.0).1.contains("class=\"gain\""));
    }
}
