//! Periods inside servers, next to their whole starts.

use expect_test::expect_file;
use hugewise_experiment::run::answer::{Call, ClaimId, Covers, Effect, Word};
use hugewise_experiment::run::compare::{self, Options};
use hugewise_experiment::run::record::StopReason;
use hugewise_text::{Style, Verbosity};

use super::checked::{check, draw, golden, report};
use crate::sample;

#[test]
fn the_lasting_effect_is_decided_inside_the_starts_that_do_not_decide() {
    let record = sample::inside_server();
    let table = compare::table(&record, &Options::default()).expect("a sound plan");
    let answer = check("inside-server", &record, table);
    assert_eq!(answer.word, Word::Open, "{:?}", answer.headline);
    let inside = answer.inside.as_deref().expect("periods");
    assert_eq!(inside.word, Word::Help);
    let claim = inside.claim(ClaimId(0));
    assert_eq!(claim.call, Call::Better);
    assert_eq!(claim.rounds, 9);
    assert_eq!(claim.interval.map(|it| it.covers), Some(Covers::Verdict));
    let Some(Effect::Ratio(ratio)) = claim.effect else {
        panic!("{claim:?}");
    };
    assert!((1.08..1.12).contains(&ratio), "{ratio}");
    let switchback = inside.switchback.as_ref().expect("switched memory");
    assert_eq!((switchback.starts, switchback.pids.len()), (3, 0));
    // What to set, and what to run next, follows from whole starts.
    assert!(inside.choice.is_none() && inside.next.is_empty());
    assert!(answer.choice.is_some());
}

#[test]
fn both_effects_are_shown_with_their_units() {
    let record = sample::inside_server();
    let report = report(&record);
    let text = draw(&report, &Style::default());
    expect_file![golden("inside-server.txt")].assert_eq(&text);
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let text = draw(&report, &style);
    expect_file![golden("inside-server-verbose.txt")].assert_eq(&text);
}

/// An experiment that was ended before its first period, and a record of before, have only whole starts.
#[test]
fn without_periods_there_are_only_whole_starts() {
    let mut record = sample::inside_server();
    let with = report(&record).answer().clone();
    record.inside.as_mut().expect("periods").trials.clear();
    assert_eq!(
        record.end.as_ref().map(|end| end.reason),
        Some(StopReason::Decided)
    );
    let begun = report(&record).answer().clone();
    record.inside = None;
    let without = report(&record).answer().clone();
    assert_eq!(begun, without);
    assert!(without.inside.is_none());
    assert_eq!((with.word, with.claims), (without.word, without.claims));
}
