//! The question on the box, answered from which pages the policies got and what their runs show.

use hugewise_model::run::compare::ControlOutcome;
use hugewise_model::run::compare::{Answer, Change, Comparison, Statistic, Table};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::{Doubt, HugePages, Report};
use hugewise_model::text::Style;

use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

const SECONDS: &str = "wall_seconds";

/// The conclusion and the first sentence of as-is against one policy.
fn concluded(as_is: Figures, policy: Policy, figures: Figures) -> (HugePages, String) {
    let record = sample::record(&[(Policy::as_is(), as_is), (policy, figures)], 12);
    let table = sample::table(&record, 0.004);
    let report = Report::new(&record, table, Vec::new(), None);
    let conclusion = report.conclusion().unwrap();
    (conclusion.huge_pages, report.answers().remove(0))
}

#[test]
fn a_program_that_is_slower_without_huge_pages_keeps_them() {
    let never = thp("thp=never", Thp::Never);
    let (help, said) = concluded(
        huge_pages(),
        never,
        with(&small_pages(), &[(SECONDS, 20.0)]),
    );
    assert_eq!(help, HugePages::Help);
    let start = "Huge pages help sort -n numbers.txt, keep them: 49";
    assert!(
        said.starts_with(start) && said.contains("more wall time with thp=never"),
        "{said}"
    );
}

#[test]
fn huge_pages_hurt_from_both_sides() {
    let always = thp("thp=always", Thp::Always);
    let (hurt, said) = concluded(
        small_pages(),
        always,
        with(&huge_pages(), &[(SECONDS, 5.0)]),
    );
    assert_eq!(hurt, HugePages::Hurt);
    assert!(said.contains("more wall time with thp=always"), "{said}");

    let never = thp("thp=never", Thp::Never);
    let (hurt, said) = concluded(huge_pages(), never, with(&small_pages(), &[(SECONDS, 3.0)]));
    assert_eq!(hurt, HugePages::Hurt);
    assert!(said.contains("less wall time with thp=never"), "{said}");
}

#[test]
fn huge_pages_that_change_no_time_do_not_matter() {
    let always = thp("thp=always", Thp::Always);
    let (same, said) = concluded(
        small_pages(),
        always,
        with(&huge_pages(), &[(SECONDS, 4.21)]),
    );
    assert_eq!(same, HugePages::DoNotMatter);
    let start = "Huge pages do not matter to sort -n numbers.txt: no difference within ±1 % with";
    assert!(said.starts_with(start), "{said}");
}

/// The first sentence, what to set and how sure it is, of an effect of −0.5 % whose interval has this half-width.
fn of_a_small_effect(half: f64) -> (HugePages, Vec<String>) {
    let always = thp("thp=always", Thp::Always);
    let figures = with(&huge_pages(), &[(SECONDS, 4.179)]);
    let record = sample::record(&[(Policy::as_is(), small_pages()), (always, figures)], 12);
    let table = sample::table(&record, half);
    let report = Report::new(&record, table, Vec::new(), None);
    let huge_pages = report.conclusion().unwrap().huge_pages;
    let text = crate::checked::draw(&report, &Style::default());
    let above = text.split("\n\n").next().unwrap_or_default();
    (huge_pages, above.lines().map(str::to_owned).collect())
}

#[test]
fn an_open_effect_that_can_only_be_small_is_said_to_be() {
    let (small, said) = of_a_small_effect(0.02);
    assert_eq!(small, HugePages::HardlyMatter);
    let expected = [
        "Huge pages hardly matter to sort -n numbers.txt: −0.6 % with thp=always (95 %:",
        "−2.6 to +1.5 %).",
        "Stay with as-is: at most 2.6 % may be gained.",
        "How sure: at least 95 % that it changes by less than 3 %; better or worse is not",
        "    decided after 12 rounds; control: as-is against itself −1.9 to +2.2 %, too",
        "    noisy to tell.",
    ];
    assert_eq!(said, expected);
    let (open, said) = of_a_small_effect(0.028);
    assert_eq!(open, HugePages::NotDecided);
    assert!(said[0].starts_with("Not decided whether"), "{said:?}");
}

/// What a policy does that changed no page is no answer about huge pages.
#[test]
fn the_policy_whose_pages_differ_most_decides() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=madvise", Thp::Madvise), small_pages()),
        (
            thp("thp=always", Thp::Always),
            with(&huge_pages(), &[(SECONDS, 4.21)]),
        ),
    ];
    let record = sample::record(&arms, 12);
    let mut table = sample::table(&record, 0.004);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=madvise".to_owned(), Answer::NotDecided);
    let report = Report::new(&record, table, Vec::new(), None);
    let conclusion = report.conclusion().unwrap();
    assert_eq!(conclusion.huge_pages, HugePages::DoNotMatter);
    assert_eq!(conclusion.policy.as_deref(), Some("thp=always"));
    assert_eq!(
        report.answers()[1],
        "Also: thp=madvise made no difference to its pages."
    );
}

/// It is one more control: what changed no page cannot differ because of huge pages.
#[test]
fn time_that_differs_without_a_changed_page_is_said() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (
            thp("thp=madvise", Thp::Madvise),
            with(&small_pages(), &[(SECONDS, 3.7)]),
        ),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let mut table = sample::table(&record, 0.004);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=madvise".to_owned(), Answer::NoEffect);
    let report = Report::new(&record, table, Vec::new(), None);
    let also = report.answers()[1].clone();
    assert!(
        also.starts_with("Also: thp=madvise 11.9 % less ("),
        "{also}"
    );
    let end = ") without a changed page: so much is not due to huge pages.";
    assert!(also.ends_with(end), "{also}");
}

fn clear_win() -> (Record, Table) {
    let record = sample::clear_win();
    let table = sample::table(&record, 0.004);
    (record, table)
}

#[test]
fn requests_stand_in_the_first_sentence() {
    let (record, mut table) = clear_win();
    let rate = Comparison {
        metric: "throughput_per_second".to_owned(),
        statistic: Statistic::Center,
        ratio: Some(1.12),
        low: Some(1.05),
        high: Some(1.2),
        change: Change::Higher,
        ..sample::comparison(&record, SECONDS, "thp=always", 0.01)
    };
    table.comparisons.push(rate);
    let report = Report::new(&record, table, Vec::new(), None);
    let said = report.answers().remove(0);
    assert!(
        said.ends_with("), throughput +12.0 % (95 %: +5 to +20 %)."),
        "{said}"
    );
}

#[test]
fn the_control_has_three_words_and_doubts_follow_from_them() {
    let (record, table) = clear_win();
    let outcome = |low: f64, high: f64| {
        let mut table = table.clone();
        let control = table.control.as_mut().unwrap();
        (control.comparison.low, control.comparison.high) = (Some(low), Some(high));
        let report = Report::new(&record, table, Vec::new(), None);
        (report.control().unwrap(), report.doubts())
    };
    // The effect is −20 %.
    assert_eq!(outcome(0.9, 1.1), (ControlOutcome::Passed, Vec::new()));
    let wide = (ControlOutcome::TooWide, vec![Doubt::ControlTooWide]);
    assert_eq!(outcome(0.7, 1.2), wide);
    let failed = (ControlOutcome::Failed, vec![Doubt::ControlFailed]);
    assert_eq!(outcome(1.02, 1.1), failed);
}

/// A machine whose baseline differs from itself is to be doubted, also beside a larger effect.
#[test]
fn a_control_that_excludes_zero_says_so_where_it_passed() {
    let (record, table) = clear_win();
    let said = |low: f64, high: f64| {
        let mut table = table.clone();
        let control = table.control.as_mut().unwrap();
        (control.comparison.low, control.comparison.high) = (Some(low), Some(high));
        let report = Report::new(&record, table, Vec::new(), None);
        let text = super::checked::draw(&report, &Style::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let beside = said(1.002, 1.006);
    assert!(
        beside.contains("control passed (+0.2 to +0.6 %), but it excludes 0."),
        "{beside}"
    );
    let beside = said(1.002, 1.05);
    let expected = "control passed, less than the effect (+0.2 to +5.0 %), but it excludes 0.";
    assert!(beside.contains(expected), "{beside}");
    assert!(!said(0.998, 1.006).contains("excludes 0"));
}
