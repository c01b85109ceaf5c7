//! A heap that grows in steps too small for huge pages.

use expect_test::expect;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;

use super::judged::{judge, of, says};
use crate::sample::{self, huge_pages, small_pages, thp, with};

/// `thp=always` and `malloc=thp`, each with so much huge memory.
fn record(always: f64, malloc: f64) -> Record {
    let huge = |bytes| with(&huge_pages(), &[("huge_anon_peak_bytes", bytes)]);
    let of_malloc = Policy {
        name: "malloc=thp".to_owned(),
        settings: "malloc=thp".parse().expect("a good policy"),
    };
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge(always)),
        (of_malloc, huge(malloc)),
    ];
    sample::record(&arms, 12)
}

#[test]
fn malloc_that_reaches_far_more_than_thp_always_names_the_steps_of_the_heap() {
    let findings = judge(&record(14.0 * 1048576.0, 103.0 * 1048576.0));
    says(
        &findings,
        "heap-grew-in-steps",
        Outcome::Shown,
        &expect![[r#"
            malloc=thp: 103 MiB were huge, with thp=always 14 MiB: probably the heap grows in small steps, which malloc=thp makes larger. A block that was begun with small pages stays small
        "#]],
    );
}

#[test]
fn alike_amounts_and_few_pages_say_nothing_of_the_heap() {
    for [always, malloc] in [[80e6, 103e6], [2e6, 14e6]] {
        let findings = judge(&record(always, malloc));
        assert_eq!(of(&findings, "heap-grew-in-steps"), None);
    }
}
