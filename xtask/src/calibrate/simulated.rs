//! The tables of simulated experiments: errors, power, other tools, shapes, order.

use anyhow::Result;

use super::experiment::{Scenario, Truth};
use super::noise::Noise;
use super::peers::{self, Tool};
use super::table::Table;
use super::{THRESHOLD, Tally};

/// The rounds that an experiment has by default.
const ROUNDS: u32 = 40;

/// A table: what is simulated in each row, and what its columns show of it.
struct Page {
    name: &'static str,
    title: &'static str,
    /// The headings of the words that begin a row.
    labels: &'static [&'static str],
    rows: Vec<Row>,
    columns: Vec<Column>,
}

/// The words that begin a row, and the experiments that it is about.
struct Row {
    labels: Vec<String>,
    scenario: Scenario,
}

/// A figure of each row.
struct Column {
    head: &'static str,
    figure: Figure,
}

enum Figure {
    /// Of many experiments of the row, changed in one respect or none.
    Ours(fn(Scenario) -> Scenario, fn(&Tally) -> String),
    /// How often another tool claims a difference.
    Peer(Tool),
    /// How many trials the peer at its best needs.
    FewestTrials,
}

/// The tables, each made when it is asked for.
#[derive(Debug)]
pub(super) struct Simulated {
    experiments: u32,
    /// What was counted for one table serves the others.
    counted: Vec<(Scenario, Tally)>,
}

impl Simulated {
    pub(super) fn new(experiments: u32) -> Self {
        Self {
            experiments,
            counted: Vec::new(),
        }
    }

    /// The tables with their names and titles.
    pub(super) fn tables(
        mut self,
    ) -> impl Iterator<Item = Result<(&'static str, &'static str, Table)>> {
        let pages = [errors(), power(), peers(), shapes(), order()];
        pages
            .into_iter()
            .map(move |page| Ok((page.name, page.title, self.table(&page)?)))
    }

    fn table(&mut self, page: &Page) -> Result<Table> {
        let mut rows = Vec::new();
        for row in &page.rows {
            let mut cells = row.labels.clone();
            for column in &page.columns {
                cells.push(self.cell(row.scenario, &column.figure)?);
            }
            rows.push(cells);
        }
        let heads = page.columns.iter().map(|column| column.head);
        Ok(Table {
            head: page.labels.iter().copied().chain(heads).collect(),
            rows,
            sum: format!("{} experiments for each cell.", self.experiments),
        })
    }

    fn cell(&mut self, scenario: Scenario, figure: &Figure) -> Result<String> {
        let (noise, effect) = (scenario.noise, scenario.truth.shift());
        match figure {
            Figure::Ours(change, show) => Ok(show(&self.tally(change(scenario))?)),
            Figure::Peer(tool) => {
                let share = tool.claims(noise, effect, self.experiments)?;
                Ok(percent(100.0 * share))
            }
            Figure::FewestTrials => {
                let fewest = peers::fewest_trials(noise, effect, self.experiments)?;
                Ok(fewest.map_or_else(|| "> 640".to_owned(), |fewest| fewest.to_string()))
            }
        }
    }

    fn tally(&mut self, scenario: Scenario) -> Result<Tally> {
        let mut counted = self.counted.iter();
        if let Some((_, tally)) = counted.find(|(known, _)| *known == scenario) {
            return Ok(*tally);
        }
        let tally = Tally::of(scenario, self.experiments)?;
        self.counted.push((scenario, tally));
        Ok(tally)
    }
}

/// What users get by default: one policy beside the baseline.
fn usual(noise: Noise, truth: Truth) -> Scenario {
    Scenario {
        noise,
        truth,
        threshold: THRESHOLD,
        policies: 2,
        max_rounds: ROUNDS,
    }
}

fn as_is(scenario: Scenario) -> Scenario {
    scenario
}

fn with_policies<const POLICIES: usize>(scenario: Scenario) -> Scenario {
    Scenario {
        policies: POLICIES + 1,
        ..scenario
    }
}

fn with_rounds<const ROUNDS: u32>(scenario: Scenario) -> Scenario {
    Scenario {
        max_rounds: ROUNDS,
        ..scenario
    }
}

fn strict(scenario: Scenario) -> Scenario {
    Scenario {
        threshold: 0.0,
        max_rounds: 3 * ROUNDS,
        ..scenario
    }
}

fn ours(
    head: &'static str,
    change: fn(Scenario) -> Scenario,
    show: fn(&Tally) -> String,
) -> Column {
    Column {
        head,
        figure: Figure::Ours(change, show),
    }
}

fn percent(share: f64) -> String {
    format!("{share:.1} %")
}

fn trials(tally: &Tally) -> String {
    format!("{:.0}", tally.mean_trials())
}

fn claimed(tally: &Tally) -> String {
    percent(tally.percent(tally.different))
}

fn better(tally: &Tally) -> String {
    percent(tally.percent(tally.better))
}

fn worse(tally: &Tally) -> String {
    percent(tally.percent(tally.worse))
}

fn same(tally: &Tally) -> String {
    percent(tally.percent(tally.same))
}

fn errors() -> Page {
    let row = |noise: Noise| Row {
        labels: vec![noise.label().to_owned()],
        scenario: usual(noise, Truth::Shift(0.0)),
    };
    Page {
        name: "errors",
        title: "No effect: how often something is claimed",
        labels: &["noise of one trial"],
        rows: Noise::ALL.map(row).into(),
        columns: vec![
            ours("at most 5 rounds: claimed", with_rounds::<5>, claimed),
            ours("1 policy: claimed", as_is, claimed),
            ours("1 policy, 120 rounds, threshold 0", strict, claimed),
            ours("3 policies: any claimed", with_policies::<3>, claimed),
            ours("9 policies: any claimed", with_policies::<9>, claimed),
            ours("1 policy: no difference", as_is, same),
            ours("1 policy: trials", as_is, trials),
            ours("3 policies: trials", with_policies::<3>, trials),
        ],
    }
}

const EFFECTS: [f64; 5] = [0.02, 0.03, 0.05, 0.10, 0.25];

/// A row for each noise and each effect.
fn shifts(effects: &[f64]) -> Vec<Row> {
    let row = |noise: Noise, effect: f64| Row {
        labels: vec![format!("{}, {:.0} %", noise.label(), effect * 100.0)],
        scenario: usual(noise, Truth::Shift(effect)),
    };
    let of_noise = |noise| effects.iter().map(move |&effect| row(noise, effect));
    Noise::ALL.into_iter().flat_map(of_noise).collect()
}

fn power() -> Page {
    Page {
        name: "power",
        title: "True effects: how often and how soon they are found",
        labels: &["noise, effect"],
        rows: shifts(&EFFECTS),
        columns: vec![
            ours("40 rounds: found", as_is, worse),
            ours("trials", as_is, trials),
            ours("400 rounds: found", with_rounds::<400>, worse),
            ours("trials", with_rounds::<400>, trials),
            Column {
                head: "Mann–Whitney at its best: trials for 90 %",
                figure: Figure::FewestTrials,
            },
            ours("wrong answer", as_is, |tally| {
                percent(tally.percent(tally.same + tally.better))
            }),
            ours("interval misses", as_is, |tally| {
                percent(tally.percent(tally.intervals - tally.covered))
            }),
        ],
    }
}

fn peers() -> Page {
    let peer = |tool: Tool| Column {
        head: tool.label(),
        figure: Figure::Peer(tool),
    };
    let ours = ours("hugewise (40 rounds)", as_is, |tally| {
        // Without an effect any claim counts, and with one that it is worse.
        percent(tally.percent(tally.found))
    });
    Page {
        name: "peers",
        title: "Other tools as they are shipped: how often a difference is claimed",
        labels: &["noise, effect"],
        rows: shifts(&[0.0, 0.02, 0.03, 0.05, 0.10, 0.25]),
        columns: std::iter::once(ours).chain(Tool::ALL.map(peer)).collect(),
    }
}

/// The usual run, the share of rare ones and what those take, all times the baseline.
const SHAPES: [(f64, f64, f64); 9] = [
    (1.0, 0.05, 1.5),
    (1.0, 0.10, 1.5),
    (1.0, 0.10, 3.0),
    (1.0, 0.20, 1.5),
    (0.8, 0.10, 1.28),
    (0.8, 0.20, 1.28),
    (0.8, 0.35, 1.28),
    (0.8, 0.20, 1.6),
    (0.9, 0.0, 1.0),
];

fn shapes() -> Page {
    let row = |noise: Noise, (usual_run, share, rare): (f64, f64, f64)| Row {
        labels: vec![
            noise.label().to_owned(),
            format!("×{usual_run}; {:.0} % ×{rare}", share * 100.0),
        ],
        scenario: usual(
            noise,
            Truth::Shape {
                usual: usual_run,
                share,
                rare,
            },
        ),
    };
    let noises = [Noise::Still, Noise::Independent, Noise::Recorded];
    let rows = noises.into_iter();
    Page {
        name: "shapes",
        title: "Policies that change some runs",
        labels: &["noise of one trial", "runs of the policy"],
        rows: rows
            .flat_map(|noise| SHAPES.map(|shape| row(noise, shape)))
            .collect(),
        columns: vec![
            ours("better", as_is, better),
            ours("mixed", as_is, |tally| percent(tally.percent(tally.mixed))),
            ours("worse", as_is, worse),
            ours("no difference", as_is, same),
            ours("of these with a false bound on slow runs", as_is, |tally| {
                percent(tally.percent(tally.wrongly_same))
            }),
            ours("trials", as_is, trials),
        ],
    }
}

fn order() -> Page {
    let row = |noise: Noise, (warm, cold): (f64, f64)| Row {
        labels: vec![
            noise.label().to_owned(),
            format!("warm ×{warm}, cold ×{cold}"),
        ],
        scenario: usual(noise, Truth::CarryOver { warm, cold }),
    };
    let truths = [(1.0, 1.0), (0.9, 0.9), (0.75, 1.3), (0.9, 1.0)];
    let noises = Noise::ALL.into_iter();
    Page {
        name: "order",
        title: "Trials that depend on what ran before",
        labels: &["noise of one trial", "trials with huge pages"],
        rows: noises
            .flat_map(|noise| truths.map(|truth| row(noise, truth)))
            .collect(),
        columns: vec![
            ours(
                "the order is found to matter",
                with_policies::<3>,
                |tally| percent(tally.percent(tally.order)),
            ),
            ours("trials", with_policies::<3>, trials),
        ],
    }
}
