//! Two records against each other.

use expect_test::{expect, expect_file};
use hugewise_model::run::compare::{Across, between};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::report::{Other, Report};
use hugewise_model::text::{Style, Verbosity};

use super::checked::{check_json, draw, golden, widest};
use super::documented::marks;
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

#[test]
fn two_records_go_by_their_names() {
    let arms = |always| {
        [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), always),
        ]
    };
    let before = sample::record(&arms(huge_pages()), 6);
    let mut after = sample::record(&arms(with(&huge_pages(), &[("wall_seconds", 3.1)])), 6);
    after.header.host.kernel = "6.19.10".to_owned();
    let other = Other {
        record: &after,
        paths: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, sample::table_between(&before, &after));
    let text = draw(&report, &Style::default());
    expect_file![golden("two-records.txt")].assert_eq(&text);
    assert!(text.contains("Under thp=always: after takes 8."), "{text}");
    assert!(widest(&text) <= 80, "{text}");
    check_json(&report);
}

/// Two real shapes through the real comparison: the kernel was changed between the two runs.
#[test]
fn two_kernels_are_compared_only_when_asked() {
    let arms = |always: &Figures| {
        [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), always.clone()),
        ]
    };
    let before = sample::record(&arms(&huge_pages()), 12);
    let faster = with(
        &huge_pages(),
        &[("wall_seconds", 3.1), ("user_seconds", 2.9)],
    );
    let mut after = sample::record(&arms(&faster), 12);
    after.header.host.kernel = "6.19.10".to_owned();

    let refused = between(&before, &after, Across::Refused).unwrap_err();
    expect![[r#"
        the two records differ in more than what is compared (kernel: 6.18.44 → 6.19.10); allow that with --across if you mean to
    "#]]
    .assert_eq(&format!("{refused}\n"));

    let table = between(&before, &after, Across::Allowed).unwrap();
    let other = Other {
        record: &after,
        paths: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, table);
    let text = draw(&report, &Style::default());
    expect_file![golden("two-kernels.txt")].assert_eq(&text);
    assert!(widest(&text) <= 80, "{text}");
    assert!(text.contains("kernel: 6.18.44 → 6.19.10"), "{text}");
    check_json(&report);
}

#[test]
fn doubts_of_two_records_are_those_of_both() {
    let arms = [(Policy::as_is(), small_pages())];
    let before = sample::record(&arms, 6);
    let mut after = sample::record(&arms, 6);
    after.warnings = vec!["the record has no end".to_owned()];
    after.trials[1].marks = marks();
    let other = Other {
        record: &after,
        paths: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, sample::table_between(&before, &after));
    let verbose = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let text = draw(&report, &verbose);
    assert!(text.starts_with("Not one experiment: "), "{text}");
    assert!(text.contains("\nafter: 1 of"), "{text}");
    assert!(
        text.contains("\nafter: Warning: the record has no end."),
        "{text}"
    );
    assert!(!text.contains("\nbefore: "), "{text}");
}

#[test]
fn settings_in_which_two_records_differ_are_named_one_by_one() {
    let before = sample::record(&[(Policy::as_is(), small_pages())], 6);
    let mut after = before.clone();
    let thp = after.header.host.thp.as_mut().unwrap();
    thp.enabled = "always".to_owned();
    thp.khugepaged.insert("max_ptes_none".to_owned(), 0);
    thp.sizes.insert(64, "inherit".to_owned());
    let refused = between(&before, &after, Across::Refused).unwrap_err();
    let told = "(THP enabled: madvise → always; khugepaged/max_ptes_none: none → 0; \
                hugepages-64kB: never → inherit)";
    assert!(refused.to_string().contains(told), "{refused}");
}
