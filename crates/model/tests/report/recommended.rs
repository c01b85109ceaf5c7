//! What is recommended among equals, and what too few rounds and user time show.

use expect_test::expect;
use hugewise_model::run::compare::{self, Options};
use hugewise_model::run::policy::{Malloc, Policy, Settings, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::{self, Report};
use hugewise_model::run::trial::Reading;

use crate::sample::{self, huge_pages, small_pages, thp};

fn report(record: &Record) -> Report<'_> {
    let table = compare::table(record, &Options::default()).expect("a sound plan");
    Report::new(record, table, Vec::new(), None)
}

fn malloc() -> Policy {
    let settings = Settings {
        malloc: Some(Malloc::Thp),
        ..Settings::default()
    };
    Policy {
        name: "malloc=thp".to_owned(),
        settings,
    }
}

#[test]
fn of_equals_the_one_is_recommended_that_changes_the_program_only() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (malloc(), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let report = report(&record);
    let lines = report::advice::advice(&report);
    let lines: Vec<String> = lines.iter().take(2).map(ToString::to_string).collect();
    expect![[r#"
        thp=always and malloc=thp are about equally good; malloc=thp is per process.
        Recommended: malloc=thp. It changes this program only:
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n")));
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(json["verdict"]["best"], "malloc=thp");
    assert_eq!(json["verdict"]["equals"][0]["policy"], "thp=always");
    assert_eq!(json["verdict"]["preference"], "changes_program_alone");
}

#[test]
fn too_few_rounds_still_say_what_they_show() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let said = |rounds| {
        let record = sample::record(&arms, rounds);
        format!("{}\n", report(&record).answers().join("\n"))
    };
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt. With thp=always, provisional (2 rounds; at least 5 decide): wall time −19.6 to −19.2 %, lower in 2 of 2 rounds; user time −12.6 to −12.0 %, lower in 2 of 2 rounds. So few rounds may agree by chance.
    "#]].assert_eq(&said(2));
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt. With thp=always, provisional (1 round; at least 5 decide): wall time −19.6 %; user time −12.6 %.
    "#]].assert_eq(&said(1));
}

/// Wall time that differs by up to a half from trial to trial, and user time that does not.
#[test]
fn user_time_is_said_where_wall_time_does_not_tell() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    for trial in &mut record.trials {
        let mut random = fastrand::Rng::with_seed(u64::from(trial.index));
        let wall = Reading::of(4.0 + 2.0 * random.f64());
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt: −9.0 % with thp=always (95 %: −19 to +12 %). The noise hides it; trials that do the work several times have less. User time did change: −12.1 % (95 %: −12.6 to −11.7 %).
    "#]].assert_eq(&format!("{}\n", report(&record).answers().join("\n")));
}
