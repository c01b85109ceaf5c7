//! A rollout in stages of 1, 10 and 50 % of 600 hosts, analysed after each stage.

use super::{Fleet, MANY, each, percent, room};
use crate::analyse::randomisation_test::{Shuffle, draws, randomisation_p};
use crate::analyse::tally::Time;
use crate::analyse::{Spending, estimate::Sample};
use crate::plan::Plan;
use hugewise_experiment::run::stats::ALPHA;

/// Hosts that have an arm in each stage.
const HOSTS: [usize; 3] = [12, 60, 300];

fn by_units() -> Spending {
    let text = "name = 'x'\nuntil = 1\nstage = 0\n\
        stages = [{share = 0.02}, {share = 0.1}, {share = 0.5}]\n\
        [[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";
    let plan: Plan = text.parse().expect("a plan");
    Spending::of_plan(&plan)
}

/// The sample of a look. The hosts of a smaller fleet are the first hosts of a larger one.
fn sample(effect: f64, look: usize, seed: u64) -> Sample {
    let fleet = Fleet {
        hosts: HOSTS[look],
        units: 1,
        effect,
        ..Fleet::quiet()
    };
    super::sample(&fleet, seed, Time::During)
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
    let first = each(0..of.into(), |seed| {
        (0..3).find(|&look| {
            let level = spending.level(u32::try_from(look).expect("a look"));
            claims(&sample(effect, look, seed), level, seed)
        })
    });
    [0, 1, 2].map(|last| {
        let by = first.iter().flatten().filter(|look| **look <= last);
        by.count() as f64 / f64::from(of)
    })
}

#[test]
fn three_looks_claim_nothing_in_at_least_95_percent() {
    for spending in [by_units(), Spending::equal(3)] {
        let [.., wrong] = found(0.0, &spending, 400);
        assert!(wrong <= ALPHA + room(ALPHA, 400.0), "{spending:?}: {wrong}");
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
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
