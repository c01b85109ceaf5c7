//! Comparisons of whole records.

mod any;
mod best;
mod experiment;
mod mechanism;
mod pages;
mod pages_alone;
mod programs;
mod records;
mod requests;
mod spoilt;
mod starts;
mod stopping;
mod user_time;

use super::*;
use experiment::{fast, plan, read, record_of, row, the_table, wobble};

use crate::run::trial::Reading;

fn texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_plain_experiment_has_a_plain_answer() {
    let table = the_table(&record_of(plan(), 25, fast));
    assert_eq!(table.verdict.policies["always"], PolicyAnswer::Better);
    assert_eq!(table.verdict.policies["again"], PolicyAnswer::NoDifference);
    assert_eq!(table.verdict.best.as_deref(), Some("always"));
    assert!(
        table.verdict.reasons.is_empty(),
        "{:?}",
        table.verdict.reasons
    );
    let wall = row(&table, "wall_seconds", "always");
    let ratio = wall.ratio.expect("a ratio");
    assert!((ratio - 0.8).abs() < 0.001 && wall.n == 25, "{wall:?}");
    assert!(wall.low.expect("low") <= ratio && ratio <= wall.high.expect("high"));
    assert!(wall.p.expect("tested") < 1e-4, "{wall:?}");
    let runs = &table.verdict.runs["always"];
    assert_eq!((runs.better, runs.worse, runs.of), (25, 0, 25));
    let faults = row(&table, "minor_faults_total", "always");
    assert_eq!((faults.change, faults.n), (Change::Lower, 25));
    let splits = row(&table, "thp_split_pmd_total", "always");
    assert_eq!(
        (splits.scale, splits.difference),
        (Scale::Difference, Some(0.0))
    );
    assert_eq!(splits.change, Change::NoDifference);
    let huge = row(&table, "huge_anon_peak_bytes", "always");
    assert_eq!(huge.change, Change::Higher);
}

#[test]
fn rows_are_in_the_order_of_reports() {
    let record = record_of(plan(), 3, |trial, _| {
        for name in [
            "ops",
            "mthp_64kib_peak_bytes",
            "mthp_16kib_peak_bytes",
            "peak_rss_bytes",
        ] {
            read(trial, name, 1.0);
        }
        read(trial, "wall_seconds", 1.0);
    });
    let table = the_table(&record);
    let center = table
        .comparisons
        .iter()
        .filter(|row| row.statistic == Statistic::Center);
    let order: Vec<(&str, &str)> = center.map(|row| (&*row.metric, &*row.policy)).collect();
    let metrics = [
        "wall_seconds",
        "peak_rss_bytes",
        "mthp_16kib_peak_bytes",
        "mthp_64kib_peak_bytes",
        "ops",
    ];
    let want: Vec<_> = metrics
        .iter()
        .flat_map(|&m| [(m, "always"), (m, "again")])
        .collect();
    assert_eq!(order, want);
}

#[test]
fn another_baseline_inverts_the_ratio() {
    let record = record_of(plan(), 25, fast);
    let there = the_table(&record);
    let options = Options {
        baseline: Some("always".to_owned()),
        ..Options::default()
    };
    let back = table(&record, &options).expect("a policy of the plan");
    let (there, back) = (
        row(&there, "wall_seconds", "always"),
        row(&back, "wall_seconds", "never"),
    );
    // Only the first baseline has second runs, so the two are equivalent but not identical.
    let product = there.ratio.expect("a") * back.ratio.expect("b");
    assert!((product - 1.0).abs() < 1e-3, "{product}");
    assert_eq!((there.change, back.change), (Change::Lower, Change::Higher));
}

#[test]
fn more_is_better_where_the_user_says_so() {
    let record = record_of(plan(), 25, |trial, slot| {
        fast(trial, slot);
        let factor = if slot.policy == 1 { 1.1 } else { 1.0 };
        let values = (0..40)
            .map(|i| factor * (wobble(trial) * 1000.0 + f64::from(i)))
            .collect();
        trial
            .readings
            .insert("ops".to_owned(), Reading::Values { values });
    });
    let options = Options {
        verdict_metric: Some("ops".to_owned()),
        ..Options::default()
    };
    let table = table(&record, &options).expect("a printed metric");
    assert_eq!(table.verdict.policies["always"], PolicyAnswer::Better);
    let of_ops = table
        .comparisons
        .iter()
        .filter(|row| row.metric == "ops" && row.policy == "always");
    let statistics: Vec<_> = of_ops.clone().map(|row| row.statistic).collect();
    let [_, _, tails @ ..] = Quantile::ALL.map(Statistic::Quantile);
    assert_eq!(statistics[0], Statistic::Center);
    assert_eq!(statistics[1..], tails, "1,000 values support all of them");
    for row in of_ops {
        assert!((row.ratio.expect("positive") - 1.1).abs() < 0.01, "{row:?}");
        assert_eq!(
            row.low.is_some(),
            row.statistic != Statistic::Quantile(Quantile::Max)
        );
    }
}

#[test]
fn tails_over_rounds_need_twenty_of_them() {
    let statistics = |rounds| -> Vec<Statistic> {
        let table = the_table(&record_of(plan(), rounds, fast));
        let rows = table.comparisons.iter();
        rows.filter(|row| row.metric == "wall_seconds" && row.policy == "always")
            .map(|row| row.statistic)
            .collect()
    };
    let [p95, max] = [Quantile::P95, Quantile::Max].map(Statistic::Quantile);
    assert_eq!(statistics(19), [Statistic::Center, max]);
    assert_eq!(statistics(20), [Statistic::Center, p95, max]);
}

#[test]
fn what_does_not_exist_is_named() {
    let record = record_of(plan(), 3, fast);
    let error = |options: Options| table(&record, &options).expect_err("wrong").to_string();
    let baseline = Options {
        baseline: Some("nevr".to_owned()),
        ..Options::default()
    };
    assert_eq!(
        error(baseline),
        "no policy is called `nevr`; choose a baseline among: never, always, again"
    );
    let metric = Options {
        verdict_metric: Some("speed".to_owned()),
        ..Options::default()
    };
    assert!(
        error(metric).starts_with("no metric is called `speed`; this record has: wall_seconds")
    );
    let threshold = Options {
        threshold: Some(f64::NAN),
        ..Options::default()
    };
    assert!(error(threshold).contains("write 0.01 for 1 %"));
}

#[test]
fn an_empty_record_is_told_as_such() {
    let table = the_table(&record_of(plan(), 0, fast));
    assert_eq!(table.verdict.policies["always"], PolicyAnswer::NotDecided);
    assert_eq!(table.verdict.reasons["always"], Why::NoRound);
    assert_eq!(
        progress(&record_of(plan(), 0, fast), 40)
            .expect("sound")
            .stop,
        None
    );
}

#[test]
fn one_policy_has_a_summary() {
    let record = record_of(plan(), 10, fast);
    let seconds = summary(&record, "never", "wall_seconds").expect("read");
    assert_eq!(seconds.n, 10, "the control is not in it");
    assert!(seconds.low.expect("ten") <= seconds.median);
    assert!(seconds.median <= seconds.high.expect("ten"));
    assert_eq!(summary(&record, "never", "ops"), None);
}
