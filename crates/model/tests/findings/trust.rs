//! Whether a run can be believed: noise, its start, what was read back.

use expect_test::expect;
use hugewise_model::run::compare::Answer;
use hugewise_model::run::findings;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::trial::{Mark, ReadBack};

use super::judged::{always, judge, of, says};
use crate::sample::{self, huge_pages, small_pages, table, thp, with};

#[test]
fn noise_that_hides_the_threshold_is_named() {
    let id = "run-too-noisy";
    let mut record = always(huge_pages());
    says(
        &judge(&record),
        id,
        Outcome::NotShown,
        &expect![[r#"
            Noise hides no answer. as-is was compared with itself
        "#]],
    );

    sample::mark(&mut record, 2, Mark::Steal { permille: 31 });
    sample::mark(&mut record, 3, Mark::OtherLoad { permille: 400 });
    let mut table = table(&record, 0.04);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=always".to_owned(), Answer::NotDecided);
    let findings = findings::judge(&record, &table);
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            The control is too noisy (±4.0 %) to show a difference of ±1 %. as-is was compared with itself; disturbed trials: other load in 1, steal in 1
        "#]],
    );
    assert_eq!(findings[0].id, id, "doubts about the whole run come first");
}

#[test]
fn short_workloads_are_mostly_their_start() {
    let id = "workload-too-short";
    for (wall, expected) in [
        (
            0.031,
            expect![[r#"
                A trial is short (31.0 ms under as-is): process start and exit may be a large part of it. Memory is sampled a few times at most (here: 2)
            "#]],
        ),
        (
            0.004,
            expect![[r#"
                A trial is short (4.00 ms under as-is): process start and exit may be most of it. Memory is sampled a few times at most (here: 2)
            "#]],
        ),
    ] {
        let arms = [
            (
                Policy::as_is(),
                with(
                    &small_pages(),
                    &[("wall_seconds", wall), ("samples_total", 2.0)],
                ),
            ),
            (
                thp("thp=always", Thp::Always),
                with(&small_pages(), &[("wall_seconds", wall)]),
            ),
        ];
        says(
            &judge(&sample::record(&arms, 12)),
            id,
            Outcome::Shown,
            &expected,
        );
    }
    assert_eq!(of(&judge(&always(huge_pages())), id), None);
}

#[test]
fn what_was_read_back_is_believed() {
    let id = "policy-not-applied";
    let mut record = always(small_pages());
    let trials = record
        .trials
        .iter_mut()
        .filter(|trial| trial.policy == "thp=always");
    for trial in trials.take(4) {
        let path = "sys/kernel/mm/transparent_hugepage/enabled".to_owned();
        trial.read_back.files.insert(path, "never".to_owned());
    }
    let findings = judge(&record);
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: not in force in 4 of 12 trials. The first difference: /sys/kernel/mm/transparent_hugepage/enabled was never instead of always
        "#]],
    );
    let applied = findings.iter().filter(|finding| finding.id == id).nth(1);
    assert_eq!(applied, None, "as-is sets nothing");

    let mut record = always(small_pages());
    says(
        &judge(&record),
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: it was in force. 12 of 12 trials were read back, all as set
        "#]],
    );
    for trial in &mut record.trials {
        trial.read_back = ReadBack::default();
    }
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            thp=always: it is unknown whether it was in force. It could be read back in none of 12 trials
        "#]],
    );
}
