//! Growth that comes with huge pages, and growth that only comes at the same time.

use expect_test::expect;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::Policy;
use hugewise_model::run::record::Record;

use super::judged::{always, judge, says};
use crate::sample::{self, Figures, huge_pages, small_pages, with};

/// A heap that is touched at the start is larger with and without huge pages.
fn touched(with_pages: f64, without: f64) -> Record {
    let policy = |name: &str, settings: &str| Policy {
        name: name.to_owned(),
        settings: settings.parse().expect("good settings"),
    };
    let peak = |figures: &Figures, bytes: f64| with(figures, &[("peak_rss_bytes", bytes)]);
    let arms = [
        (
            policy("off", "thp=never,java.AlwaysPreTouch=-"),
            peak(&small_pages(), 8e8),
        ),
        (
            policy("always+touch", "thp=always,java.AlwaysPreTouch=+"),
            peak(&huge_pages(), with_pages),
        ),
        (
            policy("off+touch", "thp=never,java.AlwaysPreTouch=+"),
            peak(&small_pages(), without),
        ),
    ];
    sample::record(&arms, 12)
}

#[test]
fn growth_is_held_against_a_policy_that_sets_all_else_alike() {
    let id = "memory-bloat";
    says(
        &judge(&touched(1.2e9, 1.198e9)),
        id,
        Outcome::NotShown,
        &expect![[r#"
            always+touch: peak memory rose by 381 MiB, but not by huge pages. It rose by 380 MiB under off+touch (the same without huge pages); 806 MiB were huge, 0 under off
        "#]],
    );
    says(
        &judge(&touched(1.2e9, 9e8)),
        id,
        Outcome::Shown,
        &expect![[r#"
            always+touch: peak memory rose by 381 MiB, 286 MiB of it through huge pages. Compared with off+touch (the same without huge pages); 806 MiB were huge, 0 under off
        "#]],
    );
    says(
        &judge(&touched(2e9, 9e8)),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            always+touch: peak memory rose by 1.12 GiB, more than huge pages can have added. 806 MiB were huge, 0 under off
        "#]],
    );
    let mut alone = touched(1.2e9, 9e8);
    alone.header.plan.policies.pop();
    alone.trials.retain(|trial| trial.policy != "off+touch");
    says(
        &judge(&alone),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            always+touch: peak memory rose by 381 MiB, through huge pages or what else the policy sets. 806 MiB were huge, 0 under off
        "#]],
    );
}

#[test]
fn growth_beyond_the_huge_pages_is_not_theirs() {
    let figures = with(
        &huge_pages(),
        &[
            ("peak_rss_bytes", 1.2e9),
            ("huge_anon_peak_bytes", 33_554_432.0),
        ],
    );
    says(
        &judge(&always(figures)),
        "memory-bloat",
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: peak memory rose by 332 MiB, more than huge pages can have added. 32 MiB were huge, 0 under as-is
        "#]],
    );
}

#[test]
fn memory_bloat_is_told_from_other_growth() {
    let id = "memory-bloat";
    let findings = judge(&always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)])));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: peak memory rose by 332 MiB through huge pages. 806 MiB were huge, 0 under as-is
        "#]],
    );

    let findings = judge(&always(with(&small_pages(), &[("peak_rss_bytes", 1.2e9)])));
    says(
        &findings,
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: peak memory rose by 332 MiB, but not by huge pages: no more memory was huge
        "#]],
    );

    let mut record = always(with(&huge_pages(), &[("peak_rss_bytes", 1.2e9)]));
    let refused = Missing::not_permitted("root");
    sample::take_away(&mut record, &["huge_anon_peak_bytes"], &refused);
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: huge pages seen was not measured under as-is: not permitted; needs root
        "#]],
    );
}
