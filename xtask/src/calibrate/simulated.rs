//! The tables of simulated experiments: errors, power, shapes, order.

use anyhow::Result;

use super::experiment::{Scenario, Truth};
use super::noise::Noise;
use super::peers;
use super::table::Table;
use super::{THRESHOLD, Tally};

/// The rounds that an experiment has by default.
const ROUNDS: u32 = 40;

/// The tables with their names and titles, each made when it is asked for.
pub(super) fn tables(
    experiments: u32,
) -> impl Iterator<Item = (&'static str, &'static str, Result<Table>)> {
    type Make = fn(u32) -> Result<Table>;
    let all: [(&str, &str, Make); 4] = [
        (
            "errors",
            "No effect: how often something is claimed",
            errors,
        ),
        (
            "power",
            "True effects: how often and how soon they are found",
            power,
        ),
        ("shapes", "Policies that change some runs", shapes),
        ("order", "Trials that depend on what ran before", order),
    ];
    all.into_iter()
        .map(move |(name, title, make)| (name, title, make(experiments)))
}

fn percent(share: f64) -> String {
    format!("{share:.1} %")
}

fn trials(tally: Tally) -> String {
    format!("{:.0}", tally.mean_trials())
}

fn sum(experiments: u32) -> String {
    format!("{experiments} experiments for each cell.")
}

fn errors(experiments: u32) -> Result<Table> {
    let row = |noise: Noise| -> Result<Vec<String>> {
        let tally = |policies, threshold, max_rounds| {
            let scenario = Scenario {
                noise,
                truth: Truth::Shift(0.0),
                threshold,
                policies,
                max_rounds,
            };
            Tally::of(scenario, experiments)
        };
        let one = tally(2, THRESHOLD, ROUNDS)?;
        let strict = tally(2, 0.0, 3 * ROUNDS)?;
        let (three, nine) = (tally(4, THRESHOLD, ROUNDS)?, tally(10, THRESHOLD, ROUNDS)?);
        let few = tally(2, THRESHOLD, 5)?;
        Ok(vec![
            noise.label().to_owned(),
            percent(few.percent(few.different)),
            percent(one.percent(one.different)),
            percent(strict.percent(strict.different)),
            percent(three.percent(three.different)),
            percent(nine.percent(nine.different)),
            percent(one.percent(one.same)),
            trials(one),
            trials(three),
            percent(100.0 * peers::false_alarms_in_blocks(noise)),
        ])
    };
    Ok(Table {
        head: vec![
            "noise of one trial",
            "at most 5 rounds: claimed",
            "1 policy: claimed",
            "1 policy, 120 rounds, threshold 0",
            "3 policies: any claimed",
            "9 policies: any claimed",
            "1 policy: no difference",
            "1 policy: trials",
            "3 policies: trials",
            "10 runs, then 10 (Mann–Whitney)",
        ],
        rows: Noise::ALL.into_iter().map(row).collect::<Result<_>>()?,
        sum: sum(experiments),
    })
}

const EFFECTS: [f64; 5] = [0.02, 0.03, 0.05, 0.10, 0.25];

fn power(experiments: u32) -> Result<Table> {
    let row = |(noise, effect): (Noise, f64)| -> Result<Vec<String>> {
        let tally = |max_rounds, policies| {
            let scenario = Scenario {
                noise,
                truth: Truth::Shift(effect),
                threshold: THRESHOLD,
                policies,
                max_rounds,
            };
            Tally::of(scenario, experiments)
        };
        let (usual, long) = (tally(ROUNDS, 2)?, tally(10 * ROUNDS, 2)?);
        let peer = peers::fewest_trials(noise, effect);
        let missed = usual.intervals - usual.covered;
        Ok(vec![
            format!("{}, {:.0} %", noise.label(), effect * 100.0),
            percent(usual.percent(usual.worse)),
            trials(usual),
            percent(long.percent(long.worse)),
            trials(long),
            peer.map_or_else(|| "> 640".to_owned(), |peer| peer.to_string()),
            percent(usual.percent(usual.same + usual.better)),
            percent(usual.percent(missed)),
        ])
    };
    let cells = Noise::ALL
        .into_iter()
        .flat_map(|noise| EFFECTS.map(|effect| (noise, effect)));
    Ok(Table {
        head: vec![
            "noise, effect",
            "40 rounds: found",
            "trials",
            "400 rounds: found",
            "trials",
            "Mann–Whitney at its best: trials for 90 %",
            "wrong answer",
            "interval misses",
        ],
        rows: cells.map(row).collect::<Result<_>>()?,
        sum: sum(experiments),
    })
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

fn shapes(experiments: u32) -> Result<Table> {
    let noises = [Noise::Still, Noise::Independent, Noise::Recorded];
    let row = |(noise, (usual, share, rare)): (Noise, (f64, f64, f64))| -> Result<Vec<String>> {
        let scenario = Scenario {
            noise,
            truth: Truth::Shape { usual, share, rare },
            threshold: THRESHOLD,
            policies: 2,
            max_rounds: ROUNDS,
        };
        let tally = Tally::of(scenario, experiments)?;
        Ok(vec![
            noise.label().to_owned(),
            format!("×{usual}; {:.0} % ×{rare}", share * 100.0),
            percent(tally.percent(tally.better)),
            percent(tally.percent(tally.mixed)),
            percent(tally.percent(tally.worse)),
            percent(tally.percent(tally.same)),
            percent(tally.percent(tally.wrongly_same)),
            trials(tally),
        ])
    };
    let cells = noises
        .into_iter()
        .flat_map(|noise| SHAPES.map(|shape| (noise, shape)));
    Ok(Table {
        head: vec![
            "noise of one trial",
            "runs of the policy",
            "better",
            "mixed",
            "worse",
            "no difference",
            "of these with a false bound on slow runs",
            "trials",
        ],
        rows: cells.map(row).collect::<Result<_>>()?,
        sum: sum(experiments),
    })
}

fn order(experiments: u32) -> Result<Table> {
    let row = |(noise, warm, cold): (Noise, f64, f64)| -> Result<Vec<String>> {
        let scenario = Scenario {
            noise,
            truth: Truth::CarryOver { warm, cold },
            threshold: THRESHOLD,
            policies: 4,
            max_rounds: ROUNDS,
        };
        let tally = Tally::of(scenario, experiments)?;
        Ok(vec![
            noise.label().to_owned(),
            format!("warm ×{warm}, cold ×{cold}"),
            percent(tally.percent(tally.order)),
            trials(tally),
        ])
    };
    let truths = [(1.0, 1.0), (0.9, 0.9), (0.75, 1.3), (0.9, 1.0)];
    let cells = Noise::ALL
        .into_iter()
        .flat_map(|noise| truths.map(|(warm, cold)| (noise, warm, cold)));
    Ok(Table {
        head: vec![
            "noise of one trial",
            "trials with huge pages",
            "the order is found to matter",
            "trials",
        ],
        rows: cells.map(row).collect::<Result<_>>()?,
        sum: sum(experiments),
    })
}
