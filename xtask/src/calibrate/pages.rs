//! The tables of simulated experiments: errors, power, trials, other tools, shapes, order.

use super::experiment::{Scenario, Truth};
use super::noise::Noise;
use super::rivals::{Fixed, Sequential};
use super::simulated::{Column, Figure, Page, Row, percent};
use super::tools::Tool;
use super::{Name, THRESHOLD, Tally};

/// The default number of rounds of an experiment.
const ROUNDS: u32 = 40;

/// All of them.
pub(super) fn all() -> [Page; 6] {
    [errors(), power(), trials(), peers(), shapes(), order()]
}

/// Returns the default experiment: one policy and the baseline.
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

/// Allows as many trials as a rival can use.
fn long(scenario: Scenario) -> Scenario {
    with_rounds::<160>(scenario)
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

fn mean_trials(tally: &Tally) -> String {
    format!("{:.0}", tally.mean_trials())
}

fn until_shown(tally: &Tally) -> String {
    let trials = tally.mean_until_shown();
    trials.map_or_else(|| "~".to_owned(), |trials| format!("{trials:.0}"))
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
        name: Name::Errors,
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
            ours("1 policy: trials", as_is, mean_trials),
            ours("3 policies: trials", with_policies::<3>, mean_trials),
        ],
    }
}

/// Returns a row for each noise and each effect.
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
        name: Name::Power,
        title: "True effects: how often and how soon they are found in 40 rounds",
        labels: &["noise, effect"],
        rows: shifts(&[0.02, 0.03, 0.05, 0.10, 0.25]),
        columns: vec![
            ours("found", as_is, worse),
            ours("trials to the direction", as_is, until_shown),
            ours("trials at the stop", as_is, mean_trials),
            ours("wrong answer", as_is, |tally| {
                percent(tally.percent(tally.same + tally.better))
            }),
            ours("interval misses", as_is, |tally| {
                percent(tally.percent(tally.intervals - tally.covered))
            }),
        ],
    }
}

fn trials() -> Page {
    let column = |head, figure| Column { head, figure };
    Page {
        name: Name::Trials,
        title: "Trials for an effect, compared with the best rivals, of at most 640",
        labels: &["noise, effect"],
        rows: shifts(&[0.02, 0.05, 0.10]),
        columns: vec![
            ours("hugewise: found", long, worse),
            ours("to the direction", long, until_shown),
            ours("at the stop", long, mean_trials),
            column("Welch, for 90 %", Figure::FewestTrials(Fixed::Welch)),
            column(
                "Mann–Whitney, for 90 %",
                Figure::FewestTrials(Fixed::MannWhitney),
            ),
            column(
                "asymptotic sequence (found)",
                Figure::Trials(Sequential::Asymptotic),
            ),
            column("YEAST (found)", Figure::Trials(Sequential::Yeast)),
            column(
                "direction ÷ best of the two tests",
                Figure::ByBestRival(long, Tally::mean_until_shown),
            ),
            column(
                "stop ÷ best of the two tests",
                Figure::ByBestRival(long, |tally| Some(tally.mean_trials())),
            ),
        ],
    }
}

fn peers() -> Page {
    let peer = |tool: Tool| Column {
        head: tool.label,
        figure: Figure::Peer(tool),
    };
    let rival = |head, rival| Column {
        head,
        figure: Figure::Claims(rival),
    };
    let ours = ours("hugewise (40 rounds)", as_is, |tally| {
        // Without an effect any claim counts; with one, only the claim that it is worse.
        percent(tally.percent(tally.found))
    });
    let rivals = [
        rival(
            "asymptotic sequence, 640 runs shuffled",
            Sequential::Asymptotic,
        ),
        rival("YEAST, 640 runs shuffled", Sequential::Yeast),
    ];
    Page {
        name: Name::Peers,
        title: "Other tools as they are used: how often a difference is claimed",
        labels: &["noise, effect"],
        rows: shifts(&[0.0, 0.02, 0.05, 0.10]),
        columns: std::iter::once(ours)
            .chain(Tool::ALL.map(peer))
            .chain(rivals)
            .collect(),
    }
}

/// The usual run, the share of rare runs and their duration, each relative to the baseline.
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
        name: Name::Shapes,
        title: "Policies that change some runs",
        labels: &["noise of one trial", "runs of the policy"],
        rows: rows
            .flat_map(|noise| SHAPES.map(|shape| row(noise, shape)))
            .collect(),
        columns: vec![
            ours("better", as_is, better),
            ours("mixed", as_is, |tally| percent(tally.percent(tally.mixed))),
            ours("rarely worse", as_is, |tally| {
                percent(tally.percent(tally.rarely_worse))
            }),
            ours("worse", as_is, worse),
            ours("no difference", as_is, same),
            ours("of these with a false bound on slow runs", as_is, |tally| {
                percent(tally.percent(tally.wrongly_same))
            }),
            ours("trials", as_is, mean_trials),
        ],
    }
}

fn order() -> Page {
    let row = |noise: Noise, (warm, cold): (f64, f64)| Row {
        labels: vec![
            noise.label().to_owned(),
            format!("warm ×{warm}, cold ×{cold}"),
        ],
        scenario: with_policies::<3>(usual(noise, Truth::CarryOver { warm, cold })),
    };
    let truths = [(1.0, 1.0), (0.9, 0.9), (0.75, 1.3), (0.9, 1.0)];
    let noises = Noise::ALL.into_iter();
    Page {
        name: Name::Order,
        title: "Trials of three policies that depend on what ran before",
        labels: &["noise of one trial", "trials with huge pages"],
        rows: noises
            .flat_map(|noise| truths.map(|truth| row(noise, truth)))
            .collect(),
        columns: vec![
            ours("the order is found to matter", as_is, |tally| {
                percent(tally.percent(tally.order))
            }),
            ours("trials", as_is, mean_trials),
        ],
    }
}
