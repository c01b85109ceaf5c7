//! Long names and many policies in 80 columns.

use hugewise_experiment::run::answer::Mechanism;
use hugewise_experiment::run::policy::{Malloc, Policy, Settings, Thp};

use super::checked::{change, check, chosen, judged};
use crate::sample::{self, huge_pages, small_pages, table, thp, with};

#[test]
fn long_names_and_five_policies_fit() {
    let long = |text: &str, kind| {
        thp(
            &format!("{text}-for-the-nightly-batch-of-the-western-region"),
            kind,
        )
    };
    let mut record = sample::record(
        &[
            (
                long("everything-as-the-machine-has-it", Thp::Inherit),
                small_pages(),
            ),
            (long("no-huge-pages-at-all", Thp::Never), small_pages()),
            (
                long("huge-pages-wherever-they-fit", Thp::Always),
                huge_pages(),
            ),
            (
                thp("thp=always", Thp::Always),
                with(&huge_pages(), &[("wall_seconds", 52.0)]),
            ),
            (
                thp("thp=madvise", Thp::Madvise),
                with(
                    &small_pages(),
                    &[("wall_seconds", 4.6), ("peak_rss_bytes", 1e9)],
                ),
            ),
        ],
        12,
    );
    record.header.plan.command = vec!["/opt/vendor/bin/sort".to_owned(), "--key=".repeat(40)];
    let answer = check("long-names", &record, table(&record, 0.008));
    let claim = judged(&answer, "thp=always");
    assert!((1130.0..1136.0).contains(&change(claim)), "{claim:?}");
}

#[test]
fn five_policies_fit() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=never", Thp::Never), small_pages()),
        (thp("thp=madvise", Thp::Madvise), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (
            Policy {
                name: "malloc=thp".to_owned(),
                settings: Settings {
                    malloc: Some(Malloc::Thp),
                    ..Settings::default()
                },
            },
            with(
                &huge_pages(),
                &[("wall_seconds", 3.5), ("peak_rss_bytes", 9e8)],
            ),
        ),
    ];
    let record = sample::record(&arms, 12);
    let answer = check("five-policies", &record, table(&record, 0.008));
    assert_eq!(answer.arms.len(), 5);
    let mechanism = answer.choice.as_ref().map(|it| it.mechanism);
    assert_eq!(
        (chosen(&answer), mechanism),
        (Some("thp=always"), Some(Mechanism::Machine))
    );
}
