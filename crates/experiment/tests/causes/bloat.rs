//! Growth caused by huge pages, and growth that only happens at the same time.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;

use super::judged::{always, figures, judge, near, near_of, unread};
use crate::sample::{self, Figures, huge_pages, small_pages, with};

const MIB: f64 = 1_048_576.0;

/// A heap touched at the start is larger with and without huge pages.
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
    let as_much = figures!(judge(&touched(1.2e9, 1.198e9)), MemoryBloat, NotShown);
    near(as_much.growth_bytes, 4e8, 1.0);
    let sibling = as_much.sibling.expect("a sibling");
    assert_eq!(sibling.name, "off+touch");
    near(sibling.growth_bytes, 3.98e8, 1.0);

    let less = figures!(judge(&touched(1.2e9, 9e8)), MemoryBloat, Shown);
    near_of(less.by_huge_pages_bytes, 3e8, 1.0);
    near(less.huge_bytes.arm, 806.0 * MIB, 1.0);

    let beyond = figures!(judge(&touched(2e9, 9e8)), MemoryBloat, CannotTell);
    assert!(beyond.is_beyond && beyond.by_huge_pages_bytes.is_none());

    let mut alone = touched(1.2e9, 9e8);
    alone.header.plan.policies.pop();
    alone.trials.retain(|trial| trial.policy != "off+touch");
    let alone = figures!(judge(&alone), MemoryBloat, CannotTell);
    assert!(!alone.is_beyond && alone.sibling.is_none());
}

#[test]
fn growth_beyond_the_huge_pages_is_not_theirs() {
    let few = [
        ("peak_rss_bytes", 1.2e9),
        ("huge_anon_peak_bytes", 32.0 * MIB),
    ];
    let found = figures!(
        judge(&always(with(&huge_pages(), &few))),
        MemoryBloat,
        CannotTell
    );
    assert!(found.is_beyond);
    near(found.huge_bytes.arm, 32.0 * MIB, 1.0);
}

#[test]
fn memory_bloat_is_told_from_other_growth() {
    let larger = [("peak_rss_bytes", 1.2e9)];
    let found = figures!(
        judge(&always(with(&huge_pages(), &larger))),
        MemoryBloat,
        Shown
    );
    near_of(found.by_huge_pages_bytes, 1.2e9 - 812.0 * MIB, 1.0);

    let found = figures!(
        judge(&always(with(&small_pages(), &larger))),
        MemoryBloat,
        NotShown
    );
    near(found.huge_bytes.change(), 0.0, 0.0);

    let mut record = always(with(&huge_pages(), &larger));
    let refused = Missing::not_permitted("root");
    sample::take_away(&mut record, &["huge_anon_peak_bytes"], &refused);
    let missing = unread!(judge(&record), MemoryBloat);
    assert_eq!(missing.metric, "huge_anon_peak_bytes");
    assert_eq!((missing.arm.as_str(), missing.reason), ("as-is", refused));
}
