//! Comparison of programs, and their gains from a policy.

use super::experiment::{plan, policy, read, record_of, the_table};
use crate::run::compare::interaction::{Judge, Pair};
use crate::run::compare::rounds::Rounds;
use crate::run::compare::*;
use crate::run::metric::Better;
use crate::run::plan::{Plan, Program, Slot};
use crate::run::policy::Thp;
use crate::run::record::{Record, RemovalReason, StopReason};
use crate::run::trial::{Role, Trial};

fn program(name: &str) -> Program {
    Program {
        name: name.to_owned(),
        command: vec![format!("./{name}")],
    }
}

/// `old` and `new` under `as-is` and `thp=always`.
fn programs() -> Plan {
    let programs = vec![program("old"), program("new")];
    let policies = [("as-is", None), ("thp=always", Some(Thp::Always))];
    let arms = programs.iter().flat_map(|program| {
        let arm = |(name, thp)| policy(&program.under(name), thp);
        policies.map(arm)
    });
    let mut plan = Plan {
        policies: arms.collect(),
        baseline: "old: as-is".to_owned(),
        programs,
        printed: Vec::new(),
        ..plan()
    };
    plan.bounds.min_rounds = 1;
    plan.bounds.max_rounds = 60;
    plan
}

/// Approximately normal, with a standard deviation of one.
fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// Rounds in which all times scatter by 2 %; `new` takes `program` times as long, `thp=always` takes
/// 0.9 of the time, and both together `both` times as long again.
fn rounds(count: u32, seed: u64, program: f64, both: f64) -> Record {
    let mut plan = programs();
    plan.seed = seed;
    record_of(plan, count, |trial: &mut Trial, slot: Slot| {
        let mut random = fastrand::Rng::with_seed(seed << 20 | u64::from(trial.index));
        random.f64();
        let (is_new, is_always) = (slot.policy >= 2, slot.policy % 2 == 1);
        let factor = |is: bool, factor: f64| if is { factor } else { 1.0 };
        let seconds = (0.02 * normal(&mut random)).exp()
            * factor(is_new, program)
            * factor(is_always, 0.9)
            * factor(is_new && is_always, both);
        read(trial, "wall_seconds", seconds);
    })
}

/// Rounds in which nothing makes a difference, and all times are between one and two seconds.
fn noise(count: u32) -> Record {
    record_of(programs(), count, |trial: &mut Trial, _| {
        let mut random = fastrand::Rng::with_seed(u64::from(trial.index) + 900);
        read(trial, "wall_seconds", 1.0 + random.f64());
    })
}

fn interaction(record: &Record) -> Interaction {
    judged(record, Better::Lower)
}

fn judged(record: &Record, better: Better) -> Interaction {
    let rounds = Rounds::of(record);
    let pairs = Pair::all(&record.header.plan, "as-is");
    let judge = Judge {
        rounds: &rounds,
        metric: "wall_seconds",
        better,
        threshold: 0.01,
        claims: 1,
    };
    judge.judge(&pairs[0])
}

#[test]
fn an_interaction_of_3_percent_is_found_in_60_rounds() {
    let found = (0..100).filter(|&seed| {
        let found = interaction(&rounds(60, seed, 1.05, 1.03));
        found.gain == Gain::Less
    });
    let found = found.count();
    assert!(found >= 90, "{found} of 100");
}

/// The wealth of a bet is its running maximum, so the last round covers every interim analysis.
#[test]
fn where_there_is_no_interaction_one_is_called_in_5_percent_at_the_most() {
    let wrong = (0..200).filter(|&seed| {
        let found = interaction(&rounds(60, 1000 + seed, 1.05, 1.0));
        matches!(found.gain, Gain::More | Gain::Less)
    });
    let wrong = wrong.count();
    assert!(wrong <= 10, "{wrong} of 200");
}

/// The runs of `new` are occasionally late, equally under both policies; those of `old` never are.
#[test]
fn a_noisier_program_is_no_interaction() {
    let noisy = |seed: u64| {
        let mut plan = programs();
        plan.seed = seed;
        record_of(plan, 60, |trial, slot| {
            let mut random = fastrand::Rng::with_seed(seed << 20 | u64::from(trial.index));
            random.f64();
            let late = -0.1 * random.f64().max(1e-9).ln();
            let seconds = if slot.policy >= 2 { 1.2 + late } else { 1.0 };
            read(trial, "wall_seconds", seconds + 0.005 * normal(&mut random));
        })
    };
    let wrong = (0..100).filter(|&seed| {
        let found = interaction(&noisy(3000 + seed));
        matches!(found.gain, Gain::More | Gain::Less)
    });
    let wrong = wrong.count();
    assert!(wrong <= 5, "{wrong} of 100");
}

#[test]
fn the_interval_holds_what_was_planted() {
    let found = interaction(&rounds(60, 7, 1.05, 1.03));
    let (low, high) = (found.low.expect("rounds enough"), found.high.expect("too"));
    assert!(low < -3.0 && -3.0 < high && high < 0.0, "{found:?}");
    assert!(low < found.points.expect("an estimate"), "{found:?}");
    assert_eq!(found.n, 60);
}

#[test]
fn more_of_what_should_be_high_is_a_gain() {
    let found = judged(&rounds(60, 7, 1.05, 1.03), Better::Higher);
    assert_eq!(found.gain, Gain::More);
    assert!(found.low.expect("rounds enough") > 0.0, "{found:?}");
}

#[test]
fn a_table_of_programs_has_each_against_the_first_under_each_policy() {
    let table = the_table(&rounds(30, 3, 1.1, 1.0));
    let rows = table.comparisons.iter();
    let rows: Vec<(&str, &str)> = rows
        .filter(|row| row.metric == "wall_seconds" && row.statistic == Statistic::Center)
        .map(|row| (row.policy.as_str(), row.baseline.as_str()))
        .collect();
    let expected = [
        ("new: as-is", "old: as-is"),
        ("new: thp=always", "old: thp=always"),
    ];
    assert_eq!(rows, expected);
    let answers: Vec<&PolicyAnswer> = table.verdict.policies.values().collect();
    assert_eq!(answers, [&PolicyAnswer::Worse, &PolicyAnswer::Worse]);
    assert_eq!(table.verdict.best, None);
    assert!(table.control.is_some() && !table.verdict.chosen_afterwards);
    assert_eq!(table.interactions.len(), 1);
}

#[test]
fn a_program_by_itself_is_a_record_of_its_policies() {
    let record = rounds(12, 5, 1.1, 1.0);
    let plan = &record.header.plan;
    let part = record.of_program(&plan.programs[1]);
    assert_eq!(part.header.plan.command, ["./new"]);
    assert_eq!(part.header.plan.baseline, "as-is");
    assert_eq!(part.slots(0), 3, "two policies and the control");
    assert_eq!(record.slots(0), 6);
    let controls = part.trials.iter().filter(|it| it.role == Role::Control);
    assert_eq!(controls.count(), 12);
    let table = the_table(&part);
    assert_eq!(table.verdict.policies["thp=always"], PolicyAnswer::Better);
    assert_eq!(Rounds::of(&part).whole, 12);
}

#[test]
fn programs_under_one_policy_have_one_control_and_no_interaction() {
    let mut plan = programs();
    plan.policies.retain(|arm| arm.name.ends_with("as-is"));
    let record = record_of(plan, 12, |trial, slot| {
        let mut random = fastrand::Rng::with_seed(u64::from(trial.index));
        let seconds = 1.0 + 0.01 * random.f64() + 0.2 * slot.policy as f64;
        read(trial, "wall_seconds", seconds);
    });
    assert_eq!(record.slots(0), 3);
    let table = the_table(&record);
    assert_eq!(table.verdict.policies["new: as-is"], PolicyAnswer::Worse);
    assert_eq!(table.interactions, []);
    let progress = progress(&record, 20).expect("sound");
    assert_eq!(progress.stop, Some(StopReason::Decided), "{progress:?}");
}

/// Every question about the policy has its answer, and so has the one about the programs.
#[test]
fn a_policy_is_dropped_for_all_programs_at_once() {
    let all = progress(&rounds(60, 11, 1.2, 1.2), 100).expect("sound");
    let drops: Vec<(&str, &RemovalReason)> = all
        .drops
        .iter()
        .map(|drop| (drop.policy.as_str(), &drop.why))
        .collect();
    let decided = &RemovalReason::Decided;
    let expected = [("old: thp=always", decided), ("new: thp=always", decided)];
    assert_eq!(drops, expected);
    assert_eq!(all.stop, Some(StopReason::Decided));
    let few = progress(&rounds(5, 11, 1.2, 1.03), 100).expect("sound");
    assert_eq!((few.drops, few.stop), (Vec::new(), None));
}

#[test]
fn what_no_round_will_decide_is_left() {
    let record = rounds(30, 13, 1.2, 1.0);
    let progress = progress(&record, 3).expect("sound");
    assert_eq!(progress.stop, Some(StopReason::OutOfReach), "{progress:?}");
}

#[test]
fn what_no_round_will_decide_runs_on_where_nothing_was_shown() {
    let record = noise(20);
    let progress = progress(&record, 3).expect("sound");
    assert_eq!((progress.stop, progress.drops), (None, vec![]));
}

#[test]
fn another_baseline_is_a_policy() {
    let record = rounds(12, 5, 1.1, 1.0);
    let options = |name: &str| Options {
        baseline: Some(name.to_owned()),
        ..Options::default()
    };
    let turned = table(&record, &options("thp=always")).expect("a policy");
    assert_eq!(turned.verdict.baseline, "old: thp=always");
    assert!(turned.verdict.chosen_afterwards);
    assert_eq!(turned.interactions[0].policy, "as-is");
    let unknown = table(&record, &options("new: as-is")).expect_err("an arm");
    assert!(
        unknown.to_string().contains("as-is, thp=always"),
        "{unknown}"
    );
}
