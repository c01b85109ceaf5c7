//! A rollout in stages of 1, 10 and 50 % of 600 hosts, which is looked at after each.

use super::{Fleet, MANY, percent, room};
use crate::fleet::Row;
use crate::fleet::analyse::lot::{Shuffle, draws, randomisation_p};
use crate::fleet::analyse::tally::{Time, Unit};
use crate::fleet::analyse::{Spending, Tally, estimate::Sample};
use crate::fleet::period::LATENCY;
use crate::fleet::plan::Plan;
use crate::fleet::simulate::ARMS;
use crate::run::stats::ALPHA;

/// Hosts that have an arm in each stage.
const HOSTS: [usize; 3] = [12, 60, 300];

fn by_units() -> Spending {
    let text = "name = 'x'\nuntil = 1\nstage = 0\n\
        stages = [{share = 0.02}, {share = 0.1}, {share = 0.5}]\n\
        [[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";
    let plan: Plan = text.parse().expect("a plan");
    Spending::of_plan(&plan)
}

fn fleet(effect: f64) -> Fleet {
    Fleet {
        hosts: HOSTS[2],
        units: 1,
        effect,
        ..Fleet::quiet()
    }
}

fn sample(rows: &[Row], hosts: usize) -> Sample {
    let mut tally = Tally::new(None);
    let part = rows.iter().filter(|row| {
        let number = row.cluster.trim_start_matches("host-").parse::<usize>();
        number.expect("a number") < hosts
    });
    for row in part {
        tally.add(row).expect("a row of an agent");
    }
    tally.sample(LATENCY, Time::During, |unit: &Unit| {
        Some(unit.arm == ARMS[1])
    })
}

fn claims(sample: &Sample, level: f64, seed: u64) -> bool {
    let Some(estimate) = sample.estimate() else {
        return false;
    };
    let drawn = || randomisation_p(sample, &Shuffle { seed }, draws(level, 1));
    estimate.p() <= level && drawn().is_some_and(|p| p <= level)
}

/// Shares of fleets with a claim by the first, the second and the last look.
pub(super) fn found(effect: f64, spending: &Spending, of: u32) -> [f64; 3] {
    let mut by_look = [0; 3];
    for seed in 0..u64::from(of) {
        let rows = fleet(effect).rows(seed);
        let first = (0..3).find(|&look| {
            let level = spending.level(u32::try_from(look).expect("a look"));
            claims(&sample(&rows, HOSTS[look]), level, seed)
        });
        for count in &mut by_look[first.unwrap_or(3)..] {
            *count += 1;
        }
    }
    by_look.map(|count| f64::from(count) / f64::from(of))
}

#[test]
fn three_looks_claim_nothing_in_at_least_95_percent() {
    for spending in [by_units(), Spending::equal(3)] {
        let [.., wrong] = found(0.0, &spending, 400);
        assert!(wrong <= ALPHA + room(ALPHA, 400.0), "{spending:?}: {wrong}");
    }
}

#[test]
#[ignore = "takes minutes; CONTRIBUTING.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_rollouts() {
    for effect in [0.0, 0.02, 0.03, 0.06] {
        for (name, spending) in [("by units", by_units()), ("equal", Spending::equal(3))] {
            let shares = found(effect, &spending, MANY);
            let shown = shares.map(percent).join(" | ");
            println!("| {name} | {} | {MANY} | {shown} |", percent(effect));
            if effect == 0.0 {
                assert!(shares[2] <= ALPHA + room(ALPHA, MANY.into()), "{shares:?}");
            }
        }
    }
}
