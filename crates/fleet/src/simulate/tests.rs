//! Error rates of the analysis, on fleets with a known truth. Seeds are fixed.

use std::ops::Range;

use super::{ARMS, Fleet, SimulatedAssignment};
use crate::analyse::analysis::Word;
use crate::analyse::detectable_effect::{Bar, POWER, before_the_slope, detectable};
use crate::analyse::foresight::{Basis, foresee};
use crate::analyse::randomisation_test::{Shuffle, draws, randomisation_p};
use crate::analyse::scale::Scale;
use crate::analyse::tally::{Time, Unit};
use crate::analyse::{Analysis, Question, Spending, Tally, estimate::Sample};
use crate::period::LATENCY;
use crate::{Phase, Row, Sums};
use hugewise_experiment::run::stats::ALPHA;

mod shares;
mod stages;
mod turns;

/// The number of fleets in the tests whose figures are in docs/calibration.
const MANY: u32 = 10_000;

fn tally(fleet: &Fleet, seed: u64) -> Tally {
    let mut tally = Tally::new(None);
    fleet.each_row(seed, |row| tally.add(row).expect("a row of an agent"));
    tally
}

/// The result for each seed, on all processors.
fn each<T: Send>(seeds: Range<u64>, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<u64> = seeds.collect();
    std::thread::scope(|scope| {
        let of = &of;
        let parts = all.chunks(all.len().div_ceil(threads).max(1));
        let work =
            parts.map(|part| scope.spawn(move || part.iter().map(|&seed| of(seed)).collect()));
        let work: Vec<std::thread::ScopedJoinHandle<'_, Vec<T>>> = work.collect();
        let found = work.into_iter().map(|it| it.join().expect("no panic"));
        found.flatten().collect()
    })
}

/// The share of seeds for which a condition holds.
fn share(seeds: Range<u64>, holds: impl Fn(u64) -> bool + Sync) -> f64 {
    let held = each(seeds, holds);
    held.iter().filter(|it| **it).count() as f64 / held.len() as f64
}

fn sample(fleet: &Fleet, seed: u64, time: Time) -> Sample {
    tally(fleet, seed).sample(LATENCY, time, |unit: &Unit| Some(unit.arm == ARMS[1]))
}

/// A claim as in the analysis: an interval without zero, and a rare draw. The draws are made only if the interval
/// allows a claim.
fn claims(sample: &Sample, seed: u64) -> bool {
    claims_at(sample, seed, ALPHA, 199)
}

fn claims_at(sample: &Sample, seed: u64, level: f64, draws: u32) -> bool {
    let Some(estimate) = sample.estimate() else {
        return false;
    };
    let drawn = || randomisation_p(sample, &Shuffle { seed }, draws);
    estimate.p() <= level && drawn().is_some_and(|p| p <= level)
}

/// Three standard errors of a share, for this sample size.
fn room(share: f64, of: f64) -> f64 {
    3.0 * (share * (1.0 - share) / of).sqrt()
}

fn analysis(tally: &Tally) -> Analysis {
    Analysis::of(
        tally,
        &Question {
            control: ARMS[0].to_owned(),
            metric: None,
            better: std::collections::BTreeMap::new(),
            band: 0.01,
            spending: Spending::equal(1),
            plan: None,
        },
    )
}

/// The number of fleets for a tested share.
const FLEETS: u32 = 500;

fn false_claims(fleet: &Fleet, of: u32) -> f64 {
    share(0..of.into(), |seed| {
        claims(&sample(fleet, seed, Time::During), 7)
    })
}

fn covered(fleet: &Fleet, of: u32) -> f64 {
    share(0..of.into(), |seed| {
        let estimate = sample(fleet, seed, Time::During).estimate();
        let (low, high) = estimate.expect("two arms").interval(ALPHA);
        low <= fleet.effect && fleet.effect <= high
    })
}

#[test]
fn no_effect_is_claimed_in_at_most_five_percent() {
    for rule in [SimulatedAssignment::Hosts, SimulatedAssignment::Units] {
        let fleet = Fleet {
            rule,
            ..Fleet::quiet()
        };
        let share = false_claims(&fleet, FLEETS);
        assert!(
            share <= ALPHA + room(ALPHA, FLEETS.into()),
            "{rule:?}: {share}"
        );
    }
}

#[test]
fn a_planted_effect_is_covered() {
    for rule in [SimulatedAssignment::Hosts, SimulatedAssignment::Units] {
        let fleet = Fleet {
            rule,
            effect: 0.05,
            ..Fleet::quiet()
        };
        let share = covered(&fleet, FLEETS);
        assert!(
            share >= 0.95 - room(0.95, FLEETS.into()),
            "{rule:?}: {share}"
        );
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_fleets() {
    for rule in [SimulatedAssignment::Hosts, SimulatedAssignment::Units] {
        let fleet = Fleet {
            rule,
            ..Fleet::quiet()
        };
        let wrong = false_claims(&fleet, MANY);
        let held = covered(
            &Fleet {
                effect: 0.05,
                ..fleet
            },
            MANY,
        );
        println!(
            "| {rule:?} | claimed without an effect | {MANY} | {} |",
            percent(wrong)
        );
        println!(
            "| {rule:?} | interval holds an effect of 5 % | {MANY} | {} |",
            percent(held)
        );
        assert!(
            wrong <= ALPHA + room(ALPHA, MANY.into()),
            "{rule:?}: {wrong}"
        );
        assert!(held >= 0.95 - room(0.95, MANY.into()), "{rule:?}: {held}");
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_forecasts() {
    for (hosts, family) in [(80, 1), (80, 8)] {
        let found = as_forecast(hosts, family, 0..MANY.into());
        println!("| {family} | {MANY} | {} |", percent(found));
        let away = (found - POWER).abs();
        assert!(
            away <= room(POWER, MANY.into()),
            "{hosts} {family}: {found}"
        );
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn a_tenth_of_ten_thousand_with_something_planted() {
    const SOME: u32 = MANY / 10;
    let say = |what, share: f64| println!("| {what} | {SOME} | {} |", percent(share));
    let [planted, none] = [0.2, 0.0].map(|spill_over| spilled(spill_over, SOME));
    say("spill-over of 20 % is found", planted);
    say("spill-over is claimed where there is none", none);
    let [lossy, whole] = [0.25, 0.0].map(|lost| refused(lost, SOME));
    say(
        "an arm that lost a quarter of its hosts gets no answer",
        lossy,
    );
    say("an arm that lost none gets no answer", whole);
    assert!(planted > 0.9, "{planted}");
    assert!(none <= ALPHA + room(ALPHA, SOME.into()), "{none}");
    assert!(lossy > 0.9 && whole < 0.1, "{lossy}, {whole}");
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// How often a fleet finds the effect that its pre-period promises for 80 of 100 experiments, as one of several claims.
/// Without permanent parts, the forecast and the result have the same scatter.
fn as_forecast(hosts: usize, family: usize, seeds: Range<u64>) -> f64 {
    let bar = Bar {
        level: ALPHA,
        family,
        draws: draws(ALPHA, family),
    };
    let fleet = Fleet {
        host: 0.0,
        unit: 0.0,
        phase: 0.1,
        units: 1,
        hosts,
        ..Fleet::quiet()
    };
    let found = each(seeds, |seed| {
        // A small fleet can have no stratum with both arms.
        let past = sample(&fleet, seed, Time::Before).estimate()?;
        let effect = detectable(&before_the_slope(past), bar)?;
        let sample = sample(&Fleet { effect, ..fleet }, seed, Time::During);
        Some(claims_at(&sample, seed, ALPHA / family as f64, bar.draws))
    });
    share_of(found)
}

fn share_of(found: Vec<Option<bool>>) -> f64 {
    let found: Vec<bool> = found.into_iter().flatten().collect();
    found.iter().filter(|it| **it).count() as f64 / found.len() as f64
}

/// Fleets of single hosts with a permanent scatter of `unit`, and 5 % from period to period. The pre-period has six
/// periods, and the experiment has three.
fn with_a_past(hosts: usize, unit: f64) -> Fleet {
    Fleet {
        host: 0.0,
        unit,
        phase: 0.0,
        period: 0.05,
        periods: [6, 3],
        units: 1,
        strata: 1,
        hosts,
        ..Fleet::quiet()
    }
}

/// How often such a fleet finds the effect that one half of its pre-period promises.
fn as_one_half_predicts(fleet: &Fleet, seeds: Range<u64>) -> f64 {
    let bar = Bar {
        level: ALPHA,
        family: 1,
        draws: draws(ALPHA, 1),
    };
    share_of(each(seeds, |seed| {
        let past = tally(fleet, seed);
        let side = |unit: &Unit| Some(unit.arm == ARMS[1]);
        let (estimate, basis) = foresee(&past, LATENCY, side)?;
        assert_eq!(basis, Basis::Halves);
        let effect = detectable(&estimate, bar)?;
        let sample = sample(&Fleet { effect, ..*fleet }, seed, Time::During);
        Some(claims_at(&sample, seed, ALPHA, bar.draws))
    }))
}

#[test]
fn one_half_of_a_past_says_how_well_the_whole_predicts() {
    for unit in [0.3, 0.03] {
        let share = as_one_half_predicts(&with_a_past(20, unit), 0..400);
        let away = (share - POWER).abs();
        assert!(away <= room(POWER, 400.0), "{unit}: {share}");
    }
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_forecasts_by_half_of_a_past() {
    for hosts in [20, 200] {
        for unit in [0.3, 0.03] {
            let found = as_one_half_predicts(&with_a_past(hosts, unit), 0..MANY.into());
            println!(
                "| {hosts} | {} | {MANY} | {} |",
                percent(unit),
                percent(found)
            );
            assert!((found - POWER).abs() <= 0.03, "{hosts} {unit}: {found}");
        }
    }
}

#[test]
fn the_effect_that_the_past_promises_is_found_as_often_as_it_says() {
    for (hosts, family) in [(80, 1), (20, 1), (80, 8)] {
        let share = as_forecast(hosts, family, 0..200);
        let away = (share - POWER).abs();
        assert!(away <= room(POWER, 200.0), "{hosts} {family}: {share}");
    }
}

/// Rows of a share that is zero in most periods, like waiting for memory.
fn shares_of(fleet: &Fleet, seed: u64) -> Tally {
    let mut tally = Tally::new(None);
    fleet.each_row(seed, |row| {
        let share = (0.1 * (row.sums.mean - 1.2)).clamp(0.0, 1.0);
        let row = Row {
            metric: "memory_waiting_some_ratio".to_owned(),
            sums: Sums::one(share),
            ..row.clone()
        };
        tally.add(&row).expect("a row of an agent");
    });
    tally
}

/// How often a change of such a share is claimed.
fn claimed_of_shares(fleet: &Fleet, of: u32) -> f64 {
    share(0..of.into(), |seed| {
        let analysis = analysis(&shares_of(fleet, seed));
        let report = &analysis.arms[0].metrics[0];
        assert_eq!(report.scale, Scale::Share);
        report.answer != Word::NotDecided
    })
}

/// Fleets of hosts that scatter from period to period, so that a share is occasionally zero.
fn waiting(rule: SimulatedAssignment, effect: f64) -> Fleet {
    Fleet {
        rule,
        effect,
        period: 0.1,
        ..Fleet::quiet()
    }
}

#[test]
fn a_share_is_compared_as_it_is() {
    let none = claimed_of_shares(&waiting(SimulatedAssignment::Hosts, 0.0), 200);
    assert!(none <= ALPHA + room(ALPHA, 200.0), "{none}");
    let planted = claimed_of_shares(&waiting(SimulatedAssignment::Hosts, 0.3), 50);
    assert!(planted >= 0.9, "{planted}");
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_fleets_of_shares() {
    for rule in [SimulatedAssignment::Hosts, SimulatedAssignment::Units] {
        let wrong = claimed_of_shares(&waiting(rule, 0.0), MANY);
        println!(
            "| {rule:?} | a share is claimed to change | {MANY} | {} |",
            percent(wrong)
        );
        let room = room(ALPHA, MANY.into());
        assert!(wrong <= ALPHA + room, "{rule:?}: {wrong}");
    }
}

/// A very narrow interval does not show no difference unless the share itself is large.
#[test]
fn no_difference_in_a_share_is_one_of_its_mean() {
    for (share, word) in [(0.5, Word::NoDifference), (0.005, Word::Worse)] {
        let mut tally = Tally::new(None);
        Fleet::quiet().each_row(1, |row| {
            let change = if row.arm == ARMS[1] { 0.001 } else { 0.0 };
            let own = 1e-4 * (row.sums.mean - 1.0);
            let row = Row {
                metric: "memory_waiting_some_ratio".to_owned(),
                phase: Phase::During,
                sums: Sums::one(share + change + own),
                ..row.clone()
            };
            tally.add(&row).expect("a row of an agent");
        });
        let analysis = analysis(&tally);
        let report = &analysis.arms[0].metrics[0];
        assert_eq!(report.answer, word, "{report:?}");
        let base = report.base.expect("a mean");
        assert!((base - share).abs() < 1e-4, "{base}");
        let effect = report.effect.expect("an effect");
        assert!((effect - 0.001).abs() < 1e-4, "{effect}");
    }
}

/// How often spill-over is claimed.
fn spilled(spill_over: f64, of: u32) -> f64 {
    let fleet = Fleet {
        rule: SimulatedAssignment::Saturation,
        units: 6,
        hosts: 60,
        spill_over,
        ..Fleet::quiet()
    };
    share(0..of.into(), |seed| {
        let analysis = analysis(&tally(&fleet, seed));
        let p = analysis.arms[0].spill_over[0].p_adjusted;
        p.is_some_and(|p| p <= ALPHA)
    })
}

#[test]
fn spill_over_is_found_where_it_is_and_not_elsewhere() {
    let (planted, none) = (spilled(0.2, 10), spilled(0.0, 10));
    assert!(planted == 1.0, "{planted}");
    assert!(none <= 0.3, "{none}");
}

/// Hosts with a saving of 20 % of the time, and a share of the treated ones vanishes.
fn lossy(lost: f64) -> Fleet {
    Fleet {
        hosts: 200,
        units: 1,
        effect: -0.2,
        lost,
        ..Fleet::quiet()
    }
}

/// How often an arm gets no answer because it lost units.
fn refused(lost: f64, of: u32) -> f64 {
    share(0..of.into(), |seed| {
        let analysis = analysis(&tally(&lossy(lost), seed));
        let reason = analysis.arms[0].reason.as_deref();
        reason.is_some_and(|it| it.contains("did not keep"))
    })
}

#[test]
fn treated_hosts_that_vanish_forbid_an_answer() {
    for seed in 0..5 {
        let (kept, lost) = (
            analysis(&tally(&lossy(0.0), seed)),
            analysis(&tally(&lossy(0.25), seed)),
        );
        assert_eq!(kept.arms[0].reason, None);
        assert_eq!(
            kept.arms[0].answer,
            hugewise_experiment::run::compare::PolicyAnswer::Better
        );
        let reason = lost.arms[0].reason.as_deref();
        assert!(
            reason.is_some_and(|it| it.contains("did not keep")),
            "{reason:?}"
        );
        assert_eq!(
            lost.arms[0].answer,
            hugewise_experiment::run::compare::PolicyAnswer::NotDecided
        );
    }
}
