//! A win with a loss, and losses of a generator of load.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::{compare, findings};

use super::judged::{always, judge, of, says};
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

#[test]
fn a_win_does_not_hide_a_loss() {
    let id = "win-with-a-loss";
    let findings = judge(&always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)])));
    let loss = of(&findings, id).unwrap();
    expect![[r#"
        thp=always: worse: peak memory +40.9 %. It is better in wall time
    "#]]
    .assert_eq(&format!("{}\n", loss.text));
    says(
        &judge(&always(huge_pages())),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: better in wall time, and no tail, time, memory or stall is significantly worse
        "#]],
    );
}

#[test]
fn a_worse_percentile_of_a_generator_is_a_loss() {
    let p99 = "set_latency_p99_seconds";
    let worse = |figures: &Figures, value| with(figures, &[(p99, value)]);
    let arms = [
        (Policy::as_is(), worse(&small_pages(), 0.004)),
        (thp("thp=always", Thp::Always), worse(&huge_pages(), 0.009)),
    ];
    let record = sample::record(&arms, 12);
    let table = compare::table(&record, &compare::Options::default()).expect("a good plan");
    says(
        &findings::judge(&record, &table),
        "win-with-a-loss",
        Outcome::Shown,
        &expect![[r#"
            thp=always: worse: set latency, p99 +125 %. It is better in wall time
        "#]],
    );
}
