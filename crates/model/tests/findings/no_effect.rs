//! Policies that changed nothing, and why.

use expect_test::{Expect, expect};
use hugewise_model::base::missing::Missing;
use hugewise_model::run::compare::{Answer, Table};
use hugewise_model::run::findings;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::{Policy, Settings, Thp};
use hugewise_model::run::record::Record;

use super::judged::{always, judge, of, says};
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

fn no_effect(record: &Record) -> Table {
    let mut table = table(record, 0.005);
    table
        .verdict
        .policies
        .insert("thp=always".to_owned(), Answer::NoEffect);
    table
}

#[test]
fn no_effect_has_a_reason() {
    let id = "policy-had-no-effect";
    let cases: [(Figures, Expect); 5] = [
        (
            small_pages(),
            expect![[r#"
                thp=always: no page was huge, because no anonymous mapping was eligible at its first fault (too small, not aligned, grown in small steps, or forbidden by the program). 51,200 and 51,200 minor faults
            "#]],
        ),
        (
            with(&small_pages(), &[("peak_rss_bytes", 1.2e6)]),
            expect![[r#"
                thp=always: no page was huge, because its largest process used at most 1.14 MiB, less than one huge page (2 MiB). 51,200 and 51,200 minor faults
            "#]],
        ),
        (
            with(&small_pages(), &[("thp_fault_fallback_total", 400.0)]),
            expect![[r#"
                thp=always: no page was huge, because under thp=always 400 huge faults fell back machine-wide, or no mapping of this program was eligible. 51,200 and 51,200 minor faults
            "#]],
        ),
        (
            // As PostgreSQL, whose buffers are shared.
            with(
                &small_pages(),
                &[("anon_peak_bytes", 4.0e7), ("rss_mean_bytes", 7.0e8)],
            ),
            expect![[r#"
                thp=always: no page was huge, because only 38.1 MiB of the 812 MiB of its largest process are anonymous memory; shared memory follows shmem_enabled (never) or a hugetlb pool, file memory its file system. 51,200 and 51,200 minor faults
            "#]],
        ),
        (
            with(&small_pages(), &[("huge_anon_peak_bytes", 8.0e8)]),
            expect![[r#"
                thp=always: 763 MiB was huge under thp=always and 763 MiB under as-is
            "#]],
        ),
    ];
    for (figures, expected) in cases {
        let arms = [
            (Policy::as_is(), figures.clone()),
            (thp("thp=always", Thp::Always), figures),
        ];
        let record = sample::record(&arms, 12);
        let findings = findings::judge(&record, &no_effect(&record));
        says(&findings, id, Outcome::Shown, &expected);
    }
    assert_eq!(
        of(&judge(&always(small_pages())), id),
        None,
        "only where the verdict says so"
    );
}

#[test]
fn no_effect_without_the_pages_cannot_be_explained() {
    let mut record = always(small_pages());
    let refused = Missing::not_permitted("CAP_SYS_PTRACE");
    sample::take_away(&mut record, &["huge_anon_peak_bytes"], &refused);
    let findings = findings::judge(&record, &no_effect(&record));
    says(
        &findings,
        "policy-had-no-effect",
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: huge pages seen was not measured under as-is: not permitted; needs CAP_SYS_PTRACE
        "#]],
    );
}

#[test]
fn an_allocator_that_changes_no_page_is_no_verdict() {
    let id = "equal-coverage";
    let policy = |figures| {
        let settings = Settings {
            env: [("ARENAS".to_owned(), "1".to_owned())].into(),
            ..Settings::default()
        };
        let policy = Policy {
            name: "env.ARENAS=1".to_owned(),
            settings,
        };
        sample::record(&[(Policy::as_is(), small_pages()), (policy, figures)], 12)
    };
    says(
        &judge(&policy(small_pages())),
        id,
        Outcome::Shown,
        &expect![[r#"
            env.ARENAS=1: it made at most one huge page more, so any effect has another cause. No page was huge under env.ARENAS=1 or as-is
        "#]],
    );
    says(
        &judge(&policy(huge_pages())),
        id,
        Outcome::NotShown,
        &expect![[r#"
            env.ARENAS=1: 806 MiB was huge under env.ARENAS=1 and 0 under as-is
        "#]],
    );
    assert_eq!(of(&judge(&always(small_pages())), id), None);
}
