//! The word of an answer, from the pages of the policies and the effects on their runs.

use hugewise_experiment::run::answer::{Answer, Call, Doubt, Word};
use hugewise_experiment::run::compare::{PolicyAnswer as Judgement, Why};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::StopReason;

use super::checked::{
    answer_of, change, chosen, contrasts, ends, headline, judged, kinds, report, steps,
};
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

const SECONDS: &str = "wall_seconds";

/// Returns the answer about as-is against one policy, with intervals of this half-width.
fn of_two(as_is: Figures, policy: Policy, figures: Figures, half: f64) -> Answer {
    let record = sample::record(&[(Policy::as_is(), as_is), (policy, figures)], 12);
    let table = sample::table(&record, half);
    answer_of(&record, table)
}

#[test]
fn a_program_that_is_slower_without_huge_pages_keeps_them() {
    let never = thp("thp=never", Thp::Never);
    let slower = with(&small_pages(), &[(SECONDS, 20.0)]);
    let answer = of_two(huge_pages(), never, slower, 0.004);
    assert_eq!(answer.word, Word::Help);
    let claim = headline(&answer)[0];
    assert_eq!(
        (claim.contrast.arm.as_str(), &claim.call),
        ("thp=never", &Call::Worse)
    );
    assert!((490.0..494.0).contains(&change(claim)), "{claim:?}");
    assert_eq!(chosen(&answer), Some("as-is"));
    assert!(answer.arm("thp=never").unwrap().pages.more_bytes.unwrap() < 0.0);
}

#[test]
fn huge_pages_hurt_from_both_sides() {
    let always = thp("thp=always", Thp::Always);
    let slower = with(&huge_pages(), &[(SECONDS, 5.0)]);
    let answer = of_two(small_pages(), always, slower, 0.004);
    assert_eq!(answer.word, Word::Hurt);
    assert_eq!(headline(&answer)[0].call, Call::Worse);
    assert_eq!(chosen(&answer), Some("as-is"));

    let never = thp("thp=never", Thp::Never);
    let faster = with(&small_pages(), &[(SECONDS, 3.0)]);
    let answer = of_two(huge_pages(), never, faster, 0.004);
    assert_eq!(answer.word, Word::Hurt);
    assert_eq!(headline(&answer)[0].call, Call::Better);
    assert_eq!(chosen(&answer), Some("thp=never"));
}

#[test]
fn huge_pages_that_change_no_time_make_no_difference() {
    let always = thp("thp=always", Thp::Always);
    let same = with(&huge_pages(), &[(SECONDS, 4.21)]);
    let answer = of_two(small_pages(), always, same, 0.004);
    assert_eq!(answer.word, Word::NoDifference);
    assert_eq!(headline(&answer)[0].call, Call::Same);
    assert_eq!(chosen(&answer), Some("as-is"));
}

#[test]
fn an_open_effect_that_can_only_be_small_is_little() {
    let of_a_small_effect = |half| {
        let figures = with(&huge_pages(), &[(SECONDS, 4.179)]);
        let always = (thp("thp=always", Thp::Always), figures);
        let record = sample::record(&[(Policy::as_is(), small_pages()), always], 12);
        let mut table = sample::table(&record, half);
        table.verdict.best = None;
        answer_of(&record, table)
    };
    let little = of_a_small_effect(0.02);
    assert_eq!(little.word, Word::Little);
    let claim = headline(&little)[0];
    assert!(claim.call.is_open(), "{claim:?}");
    assert_eq!((change(claim), ends(claim)), (-0.6, [-2.6, 1.4]));
    assert_eq!(chosen(&little), Some("as-is"));
    assert_eq!(steps(&little), []);
    assert_eq!(kinds(&little.doubts), ["control_wide"]);

    let open = of_a_small_effect(0.028);
    assert_eq!(open.word, Word::Open);
    assert_eq!(chosen(&open), None);
}

/// The time of a policy that changed no page is no answer about huge pages.
#[test]
fn the_policy_whose_pages_differ_most_decides() {
    let same = with(&huge_pages(), &[(SECONDS, 4.21)]);
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=madvise", Thp::Madvise), small_pages()),
        (thp("thp=always", Thp::Always), same),
    ];
    let record = sample::record(&arms, 12);
    let mut table = sample::table(&record, 0.004);
    let judgements = &mut table.verdict.policies;
    judgements.insert("thp=madvise".to_owned(), Judgement::NotDecided);
    let answer = answer_of(&record, table);
    assert_eq!(answer.word, Word::NoDifference);
    assert_eq!(contrasts(&answer)[0].0, "thp=always");
    let madvise = answer.arm("thp=madvise").unwrap();
    assert_eq!(madvise.pages.more_bytes, Some(0.0));
}

/// It is an additional control: a policy that changed no page cannot differ because of huge pages.
#[test]
fn time_that_differs_without_a_changed_page_is_a_doubt() {
    let faster = with(&small_pages(), &[(SECONDS, 3.7)]);
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=madvise", Thp::Madvise), faster),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let mut table = sample::table(&record, 0.004);
    let name = || "thp=madvise".to_owned();
    let faults = [51_200.0; 2];
    table.verdict.policies.insert(name(), Judgement::NoEffect);
    let reason = Why::NothingHuge { faults };
    table.verdict.reasons.insert(name(), reason.clone());
    let answer = answer_of(&record, table);
    assert_eq!(
        (answer.word, chosen(&answer)),
        (Word::Help, Some("thp=always"))
    );
    let claims = answer.doubts.iter().filter_map(|doubt| match doubt {
        Doubt::TimeWithoutPages { claim } => Some(answer.claim(*claim)),
        _ => None,
    });
    let [claim] = claims.collect::<Vec<_>>()[..] else {
        panic!("{:#?}", answer.doubts);
    };
    assert_eq!(claim.contrast.arm, name());
    assert_eq!(claim.call, Call::SamePages(reason));
    assert_eq!(change(claim), -11.9);
}

#[test]
fn the_control_has_three_outcomes_and_doubts_follow_from_them() {
    let record = sample::clear_win();
    let table = sample::table(&record, 0.004);
    let doubts = |low: f64, high: f64| {
        let mut table = table.clone();
        let control = table.control.as_mut().unwrap();
        (control.comparison.low, control.comparison.high) = (Some(low), Some(high));
        kinds(&answer_of(&record, table).doubts)
    };
    // The effect is −20 %.
    assert_eq!(doubts(0.9, 1.1), [""; 0]);
    assert_eq!(doubts(0.7, 1.2), ["control_wide"]);
    assert_eq!(doubts(1.02, 1.1), ["control_failed"]);
}

/// A strict run fails if a control failed or is too wide, but only a failed one is serious.
#[test]
fn doubts_about_the_control_forbid_a_strict_pass() {
    let record = sample::clear_win();
    let mut table = sample::table(&record, 0.004);
    let control = table.control.as_mut().unwrap();
    (control.comparison.low, control.comparison.high) = (Some(1.02), Some(1.1));
    let answer = answer_of(&record, table.clone());
    assert!(answer.doubts[0].forbids_strict() && answer.warns_of(&answer.doubts[0]));
    let control = table.control.as_mut().unwrap();
    (control.comparison.low, control.comparison.high) = (Some(0.7), Some(1.2));
    let answer = answer_of(&record, table);
    assert!(answer.doubts[0].forbids_strict() && !answer.warns_of(&answer.doubts[0]));
}

#[test]
fn a_workload_that_fails_has_no_other_word() {
    let mut record = sample::clear_win();
    record.end.as_mut().unwrap().reason = StopReason::WorkloadFails;
    assert_eq!(report(&record).answer().word, Word::Failed);
    let [always, never] =
        ["thp=always", "thp=never"].map(|arm| judged(report(&record).answer(), arm).call.clone());
    assert_eq!((always, never.is_shown()), (Call::Better, false));
}
