//! A policy that also changes malloc, against the same policy with small pages.

use super::experiment::{plan, policy, read, record_of, the_table};
use crate::run::compare::*;
use crate::run::plan::{Blocks, Plan, Slot};
use crate::run::policy::Policy;
use crate::run::record::{Record, Removal, RemovalReason, StopReason};
use crate::run::trial::Trial;

const MALLOC: &str = "malloc=thp";
const ALONE: &str = "thp=never,malloc=thp";

fn beside_malloc(seed: u64) -> Plan {
    let named = |name: &str| name.parse::<Policy>().expect("a policy");
    let mut plan = plan();
    plan.policies = vec![policy("as-is", None), named(MALLOC), named(ALONE)];
    plan.baseline = "as-is".to_owned();
    plan.bounds.min_rounds = 1;
    plan.seed = seed;
    plan
}

/// Rounds in which the policies take these times, with so much noise.
fn rounds(seed: u64, rounds: u32, seconds: [f64; 3], noise: f64) -> Record {
    record_of(
        beside_malloc(seed),
        rounds,
        |trial: &mut Trial, slot: Slot| {
            let mut random = fastrand::Rng::with_seed(seed << 16 | u64::from(trial.index));
            let wobble: f64 = (0..6).map(|_| random.f64() - 0.5).sum();
            let slow = seconds[slot.policy] * (noise * wobble).exp();
            read(trial, "wall_seconds", slow);
        },
    )
}

fn of_pages(record: &Record) -> PolicyAnswer {
    let table = the_table(record);
    assert_eq!(table.pages_alone.len(), 1);
    table.pages_alone[0].answer
}

#[test]
fn huge_pages_may_help_under_a_policy_that_is_worse() {
    let record = rounds(1, 12, [1.0, 1.15, 1.36], 0.01);
    let table = the_table(&record);
    assert_eq!(table.verdict.policies[MALLOC], PolicyAnswer::Worse);
    let pages = &table.pages_alone[0];
    assert_eq!(pages.answer, PolicyAnswer::Better);
    let row = &pages.comparison;
    assert_eq!(
        (row.policy.as_str(), row.baseline.as_str()),
        (MALLOC, ALONE)
    );
    let ratio = row.ratio.expect("a ratio");
    assert!((ratio - 1.15 / 1.36).abs() < 0.01, "{row:?}");
    // It is never the chosen one, whatever it does.
    let record = rounds(1, 12, [1.0, 1.0, 0.8], 0.01);
    assert_ne!(the_table(&record).verdict.best.as_deref(), Some(ALONE));
}

/// An overhead control shares no error with the claims: without it the interval would be the same.
#[test]
fn a_sham_costs_the_others_no_power() {
    let with = rounds(3, 12, [1.0, 0.9, 0.95], 0.02);
    let mut without = with.clone();
    without.header.plan.policies.truncate(2);
    let interval = |record: &Record| {
        let table = the_table(record);
        let mut rows = table.comparisons.into_iter();
        let row = rows.find(|it| it.metric == "wall_seconds" && it.policy == MALLOC);
        row.expect("a row").ends()
    };
    assert_eq!(interval(&with), interval(&without));
    assert_eq!(the_table(&without).pages_alone, []);
}

fn dropped(record: &Record, left: u32) -> (Vec<String>, Option<StopReason>) {
    let progress = progress(record, left).expect("sound");
    let drops = progress.drops.into_iter().map(|it| it.policy);
    (drops.collect(), progress.stop)
}

/// Five rounds show the policy to be worse, and seven isolate the effect of its huge pages. Both arms run until then,
/// and are dropped together.
#[test]
fn a_policy_runs_until_its_huge_pages_are_told() {
    let after =
        |rounds: u32, left| dropped(&self::rounds(1, rounds, [1.0, 1.15, 1.36], 0.001), left);
    assert_eq!(after(6, 30), (Vec::new(), None));
    let both = vec![MALLOC.to_owned(), ALONE.to_owned()];
    assert_eq!(after(8, 30).0, both);
    // Without time for more, the policy has its answer, except for the guaranteed rounds.
    assert_eq!(after(6, 0).0, both);
    let mut promised = rounds(1, 6, [1.0, 1.15, 1.36], 0.001);
    promised.header.plan.bounds.least_rounds = Some(7);
    assert_eq!(dropped(&promised, 0).0, Vec::<String>::new());
}

/// The isolated effect of huge pages does not decide whether to set the policy. While this is open, the remaining time
/// is spent on it, however small the chance. The allocator-only policy has no more to contribute.
#[test]
fn a_policy_that_is_open_runs_on_where_only_its_huge_pages_are_told() {
    let record = rounds(1, 12, [1.0, 1.0, 1.4], 0.05);
    let verdict = the_table(&record).verdict;
    assert_eq!(verdict.policies[MALLOC], PolicyAnswer::NotDecided);
    assert_eq!(of_pages(&record), PolicyAnswer::Better);
    assert_eq!(dropped(&record, 2), (vec![ALONE.to_owned()], None));
}

/// If a policy that changes only pages shows the same, the allocator-only rounds are skipped.
#[test]
fn what_pages_alone_show_is_not_asked_again() {
    let mut plan = beside_malloc(1);
    let always = policy("thp=always", Some(crate::run::policy::Thp::Always));
    plan.policies.insert(1, always);
    let record = record_of(plan, 6, |trial, slot| {
        let seconds = [1.0, 0.8, 0.8, 1.0][slot.policy];
        let noise = f64::from(trial.index * 7 % 11) / 10_000.0;
        read(trial, "wall_seconds", seconds + noise);
    });
    let (drops, _) = dropped(&record, 30);
    assert_eq!(drops, ["thp=always", MALLOC, ALONE]);
}

#[test]
fn malloc_alone_leaves_with_a_policy_that_was_dropped_before() {
    let mut record = rounds(1, 4, [1.0, 1.0, 1.0], 0.01);
    let is_later = |trial: &Trial| trial.round >= 2 && trial.policy == MALLOC;
    record.trials.retain(|trial| !is_later(trial));
    record.removals.push(Removal {
        round: 2,
        policy: MALLOC.to_owned(),
        why: RemovalReason::Decided,
    });
    assert_eq!(dropped(&record, 30).0, [ALONE]);
}

/// Its gain would be no reason to set it. A policy that made a huge page in a round continues, and so does one if no
/// other policy made any.
#[test]
fn a_malloc_that_makes_no_page_huge_leaves_its_time_to_others() {
    let mut plan = beside_malloc(1);
    let always = policy("thp=always", Some(crate::run::policy::Thp::Always));
    plan.policies.insert(1, always);
    let after = |rounds: u32, [of_always, of_malloc]: [f64; 2]| {
        let record = record_of(plan.clone(), rounds, |trial, slot| {
            read(
                trial,
                "wall_seconds",
                1.0 + f64::from(trial.index * 7 % 11) / 100.0,
            );
            let made = match slot.policy {
                1 => of_always,
                2 if trial.round == 1 => of_malloc,
                _ => 0.0,
            };
            read(trial, "huge_anon_peak_bytes", made);
        });
        dropped(&record, 30).0
    };
    let none: [&str; 0] = [];
    assert_eq!(after(3, [1e8, 0.0]), none);
    assert_eq!(after(4, [1e8, 0.0]), [MALLOC, ALONE]);
    assert_eq!(after(4, [1e8, 2e6]), none);
    assert_eq!(after(4, [0.0, 0.0]), none);
}

/// The verdict and the claim about huge pages together, checked after every round.
#[test]
fn nothing_is_claimed_out_of_nothing() {
    let claims = (0..200).filter(|&seed| {
        let all = rounds(seed, 20, [1.0; 3], 0.03);
        let mut looks = (5..=20).map(|rounds| {
            let mut record = all.clone();
            record.trials.retain(|trial| trial.round < rounds);
            deciding(&record).expect("sound")
        });
        looks.any(|table| {
            let is_shown = table.verdict.policies[MALLOC].is_shown();
            is_shown || table.pages_alone[0].answer.is_shown()
        })
    });
    // Each may err in 5 % of experiments. 4 % is usual for both; a binomial count of 200 exceeds 16 with a probability
    // below 1 in 100.
    let claims = claims.count();
    assert!(claims <= 16, "{claims}");
}

#[test]
fn a_few_rounds_tell_nothing() {
    assert_eq!(
        of_pages(&rounds(1, 6, [1.0, 1.15, 1.36], 0.001)),
        PolicyAnswer::NotDecided
    );
    assert_eq!(
        of_pages(&rounds(1, 7, [1.0, 1.15, 1.36], 0.001)),
        PolicyAnswer::Better
    );
}

#[test]
fn huge_pages_alone_take_more_rounds() {
    let of = |names: &[&str], baseline: &str| {
        let policies = names.iter().map(|name| name.parse().expect("a policy"));
        fewest_rounds_of(&policies.collect::<Vec<_>>(), baseline, Blocks::Shared)
    };
    let usual = ["as-is", "malloc=thp", "thp=never,malloc=thp"];
    assert_eq!(of(&usual[..2], "as-is"), 5);
    assert_eq!(of(&usual, "as-is"), 7);
    // As the baseline it has two runs a round.
    assert_eq!(of(&usual, "thp=never,malloc=thp"), 5);
    // An overhead control is no claim, unless it is the only question.
    assert_eq!(of(&["as-is", "thp=always", "tracer=idle"], "as-is"), 5);
    assert_eq!(of(&["as-is", "tracer=idle"], "as-is"), 5);
}
