//! Policies that changed nothing, and why.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::{CauseId, NothingHuge, causes};
use hugewise_experiment::run::policy::{Policy, Settings, Thp};
use hugewise_experiment::run::trial::{Advice, ProcessTree};

use super::judged::{always, figures, is_silent, near, no_effect, unread};
use crate::sample::{self, small_pages, thp, with};

#[test]
fn no_effect_has_a_reason() {
    let cases = [
        (vec![], NothingHuge::NotEligible),
        (
            vec![("peak_rss_bytes", 1.2e6)],
            NothingHuge::TooSmall {
                peak_bytes: 1.2e6,
                huge_page_bytes: 2 << 20,
            },
        ),
        (
            vec![("thp_fault_fallback_total", 400.0)],
            NothingHuge::FellBack { faults: 400.0 },
        ),
        // Like PostgreSQL, whose buffers are shared.
        (
            vec![("anon_peak_bytes", 4.0e7), ("rss_mean_bytes", 7.0e8)],
            NothingHuge::MostlyShared {
                anon_bytes: 4.0e7,
                peak_bytes: 812.0 * 1_048_576.0,
                shmem_enabled: Some("never".to_owned()),
            },
        ),
        (
            vec![("huge_shmem_exit_bytes", 4.0e6)],
            NothingHuge::OtherKind {
                metric: "huge_shmem_exit_bytes".to_owned(),
                bytes: hugewise_experiment::run::cause::Pair {
                    baseline: 4.0e6,
                    arm: 4.0e6,
                },
            },
        ),
    ];
    for (readings, reason) in cases {
        let pages = with(&small_pages(), &readings);
        let arms = [
            (Policy::as_is(), pages.clone()),
            (thp("thp=always", Thp::Always), pages),
        ];
        let record = sample::with_room(sample::record(&arms, 12), 0);
        let found = figures!(
            causes(&record, &no_effect(&record, "thp=always")),
            SamePages,
            Shown
        );
        assert_eq!(found.nothing_huge, Some(reason));
        near(found.faults.baseline, 51_200.0, 0.0);
    }
    let as_much = with(&small_pages(), &[("huge_anon_peak_bytes", 8.0e8)]);
    let arms = [
        (Policy::as_is(), as_much.clone()),
        (thp("thp=always", Thp::Always), as_much),
    ];
    let record = sample::record(&arms, 12);
    let found = figures!(
        causes(&record, &no_effect(&record, "thp=always")),
        SamePages,
        Shown
    );
    assert_eq!(found.nothing_huge, None);
    near(found.huge_bytes.arm, 8.0e8, 0.0);
    let record = always(small_pages());
    assert!(
        is_silent(&record, CauseId::SamePages),
        "only if the verdict says so"
    );
}

#[test]
fn the_wider_mode_gives_the_reason() {
    let asked = |policy: Policy| {
        let arms = [(Policy::as_is(), small_pages()), (policy, small_pages())];
        let record = sample::record(&arms, 12);
        let arm = record.header.plan.policies[1].name.clone();
        let found = figures!(causes(&record, &no_effect(&record, &arm)), SamePages, Shown);
        found.nothing_huge.expect("a reason")
    };
    let of_baseline = NothingHuge::NotAsked {
        mode_of: "as-is".to_owned(),
    };
    assert_eq!(asked(thp("thp=never", Thp::Never)), of_baseline);
    let pool: Settings = "hugetlb=2M:64".parse().expect("a good policy");
    let pool = Policy {
        name: "pool".to_owned(),
        settings: pool,
    };
    let bytes = NothingHuge::PoolNotAsked {
        pool_bytes: 128 << 20,
    };
    assert_eq!(asked(pool), bytes);
}

#[test]
fn heaps_of_threads_are_the_reason_before_glibc_2_43() {
    let reason = |glibc: (u32, u32), stack_bytes: u64| {
        let malloc = Policy::of("malloc=thp".parse::<Settings>().expect("a good policy"));
        let arms = [(Policy::as_is(), small_pages()), (malloc, small_pages())];
        let mut record = sample::record(&arms, 12);
        record.header.host.glibc = Some(glibc);
        for trial in &mut record.trials {
            let mut tree = ProcessTree::default();
            tree.largest.advice = Some(Advice {
                stack_bytes,
                ..Advice::default()
            });
            trial.read_back.tree = Some(tree);
        }
        let table = no_effect(&record, "malloc=thp");
        let found = figures!(causes(&record, &table), SamePages, Shown);
        found.nothing_huge.expect("a reason")
    };
    let heaps = NothingHuge::ThreadHeaps { glibc: (2, 36) };
    assert_eq!(reason((2, 36), 1 << 20), heaps);
    assert_ne!(reason((2, 43), 1 << 20), heaps);
    assert_ne!(reason((2, 36), 0), heaps);
}

#[test]
fn no_effect_without_the_pages_cannot_be_explained() {
    let mut record = always(small_pages());
    let refused = Missing::not_permitted("CAP_SYS_PTRACE");
    sample::take_away(&mut record, &["huge_anon_peak_bytes"], &refused);
    let found = unread!(
        causes(&record, &no_effect(&record, "thp=always")),
        SamePages
    );
    assert_eq!((found.arm.as_str(), found.reason), ("as-is", refused));
}
