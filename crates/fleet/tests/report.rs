//! Reports of simulated fleets, against `fixtures/golden`.

use expect_test::expect_file;
use hugewise_fleet::analyse::document::{csv, document};
use hugewise_fleet::analyse::{Analysis, Question, Spending, Tally};
use hugewise_fleet::plan::Plan;
use hugewise_fleet::simulate::{ARMS, Fleet, SimulatedAssignment};
use hugewise_fleet::{Proof, Row};
use hugewise_text::{Style, Verbosity, to_markdown, to_text};

const PLAN: &str = "name = 'simulated'\nuntil = 10000\nstage = 1\n\
    stages = [{share = 0.1}, {share = 0.5}, {share = 1}]\n\
    [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
    [[arm]]\nname = 'treated'\npolicy = 'thp=always'\n";

/// Turns of two periods after a pre-period of twelve periods.
const TURNS: &str = "name = 'simulated'\nstarts = 3600\nuntil = 10800\n\
    switchback = {turn = '10m', washout = '5m'}\n\
    [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
    [[arm]]\nname = 'treated'\npolicy = 'thp=always'\n";

fn analysis(rows: impl IntoIterator<Item = Row>, plan: Option<&str>) -> Analysis {
    let plan: Option<Plan> = plan.map(|text| text.parse().expect("a plan"));
    let mut tally = Tally::new(plan.as_ref().and_then(Plan::turns));
    for row in rows {
        tally.add(&row).expect("a row of an agent");
    }
    let spending = plan.as_ref().map_or(Spending::equal(1), Spending::of_plan);
    let question = Question {
        control: ARMS[0].to_owned(),
        metric: None,
        better: std::collections::BTreeMap::new(),
        band: 0.01,
        spending,
        plan,
    };
    Analysis::of(&tally, &question)
}

fn golden(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.join("../../fixtures/golden").join(name)
}

fn check(name: &str, analysis: &Analysis) {
    let style = Style::default();
    let text = to_text(&document(analysis), &style);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
    expect_file![golden(&format!("{name}.txt"))].assert_eq(&text);
    let verbose = Style {
        verbose: Verbosity::Verbose,
        ..style
    };
    let text = to_text(&document(analysis), &verbose);
    expect_file![golden(&format!("{name}-verbose.txt"))].assert_eq(&text);
}

#[test]
fn a_found_effect_in_every_form() {
    let fleet = Fleet {
        effect: -0.2,
        ..Fleet::quiet()
    };
    let analysis = analysis(fleet.rows(1), None);
    check("fleet-effect", &analysis);
    let page = to_markdown(&document(&analysis), Verbosity::Normal);
    expect_file![golden("fleet-effect.md")].assert_eq(&page);
    expect_file![golden("fleet-effect.csv")].assert_eq(&csv(&analysis));
}

#[test]
fn the_second_look_of_a_rollout_under_its_plan() {
    let fleet = Fleet {
        effect: -0.1,
        rule: SimulatedAssignment::Units,
        ..Fleet::quiet()
    };
    let rows = fleet.rows(2).into_iter().map(|row| Row { stage: 1, ..row });
    check("fleet-stage", &analysis(rows, Some(PLAN)));
}

#[test]
fn units_that_vanish_and_settings_that_nobody_read() {
    let fleet = Fleet {
        hosts: 200,
        units: 1,
        lost: 0.25,
        ..Fleet::quiet()
    };
    let unread = |row| Row {
        exposure: None,
        proof: Proof::Unknown,
        ..row
    };
    check(
        "fleet-lost",
        &analysis(fleet.rows(1).into_iter().map(unread), None),
    );
}

#[test]
fn spill_over_has_a_table_of_its_own() {
    let fleet = Fleet {
        rule: SimulatedAssignment::Saturation,
        units: 6,
        hosts: 60,
        spill_over: 0.2,
        ..Fleet::quiet()
    };
    check("fleet-spill-over", &analysis(fleet.rows(1), None));
}

/// Periods of a pre-period, five minutes each.
fn past(periods: i64) -> impl Iterator<Item = Row> {
    let fleet = Fleet {
        period: 0.02,
        units: 1,
        hosts: 60,
        ..Fleet::quiet()
    };
    let rows = Fleet {
        periods: [periods, 0],
        ..fleet
    }
    .rows(1);
    rows.into_iter()
}

#[test]
fn the_past_alone_is_a_forecast() {
    check("fleet-forecast", &analysis(past(5), None));
}

/// One period cannot show how well it predicts, and the page says so.
#[test]
fn a_past_of_one_period_is_a_forecast_that_promises_too_much() {
    check("fleet-forecast-short", &analysis(past(1), None));
}

/// A plan with turns has an end, so the forecast covers all its pairs. If the pre-period is too short, there is no
/// forecast.
#[test]
fn the_past_of_turns_is_a_forecast_of_the_plan() {
    check("fleet-forecast-turns", &analysis(past(12), Some(TURNS)));
    let short = analysis(past(2), Some(TURNS));
    assert_eq!(short.arms[0].metrics[0].detectable, None);
    let text = to_text(&document(&short), &Style::default());
    assert!(text.contains("too few pairs of turns"), "{text}");
}
