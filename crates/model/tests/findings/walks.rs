//! Page walks: what cheaper translation can save.

use expect_test::expect;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::findings::Outcome;
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::Reading;

use super::judged::{always, judge, of, says};
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

fn walks(figures: &Figures, walks: f64, cycles: f64, data: f64, code: f64) -> Figures {
    let counts = [
        ("dtlb_walks_total", walks),
        ("instructions_total", 9e9),
        ("cycles_total", cycles),
        ("data_walk_cycles_ratio", data),
        ("code_walk_cycles_ratio", code),
    ];
    with(figures, &counts)
}

fn two(baseline: Figures, always: Figures) -> Record {
    let arms = [
        (Policy::as_is(), baseline),
        (thp("thp=always", Thp::Always), always),
    ];
    sample::record(&arms, 12)
}

#[test]
fn the_share_of_walks_bounds_what_translation_can_save() {
    let id = "translation-bound";
    let huge = walks(&huge_pages(), 2e6, 10.2e9, 0.02, 0.001);
    let findings = judge(&two(
        walks(&small_pages(), 9e7, 12e9, 0.11, 0.004),
        huge.clone(),
    ));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            TLB misses cost at most 11.4 % of CPU time. Under as-is at most 11.4 % of cycles had a page walk under way (data 11.0 %, code 0.4 %)
        "#]],
    );
    assert_eq!(of(&findings, id).unwrap().policy, None);

    // A rate of misses that looks bad means nothing where hardly a cycle has a walk.
    let findings = judge(&two(
        walks(&small_pages(), 9e7, 12e9, 0.004, 0.001),
        huge.clone(),
    ));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            TLB misses are not the bottleneck. Under as-is at most 0.5 % of cycles had a page walk under way (data 0.4 %, code 0.1 %)
        "#]],
    );

    let findings = judge(&two(walks(&small_pages(), 9e6, 12e9, 0.01, 0.09), huge));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            TLB misses cost at most 10.0 % of CPU time. Under as-is at most 10.0 % of cycles had a page walk under way (data 1.0 %, code 9.0 %); mostly code, which huge pages for the heap do not help
        "#]],
    );
}

#[test]
fn without_walk_cycles_no_bound_is_claimed() {
    let id = "translation-bound";
    let mut record = two(
        walks(&small_pages(), 9e7, 12e9, 0.11, 0.004),
        walks(&huge_pages(), 2e6, 10.2e9, 0.02, 0.001),
    );
    let missing = Missing::not_supported("an event for the cycles of page walks");
    let cycles = ["data_walk_cycles_ratio", "code_walk_cycles_ratio"];
    sample::take_away(&mut record, &cycles, &missing);
    says(
        &judge(&record),
        id,
        Outcome::CannotTell,
        &expect![[r#"
            The cost of TLB misses is unknown. The cycles of page walks were not measured: not on this machine: an event for the cycles of page walks; 90.0 M data walks, 10.00 per 1000 instructions
        "#]],
    );
    let all = [&cycles[..], &["dtlb_walks_total", "instructions_total"]].concat();
    sample::take_away(&mut record, &all, &Missing::NoHardware);
    let findings = judge(&record);
    says(
        &findings,
        id,
        Outcome::CannotTell,
        &expect![[r#"
            The cost of TLB misses is unknown. The cycles of page walks were not measured: this machine has no hardware counters
        "#]],
    );
    assert_eq!(of(&findings, "cheaper-walks"), None);
    // A record of before there were counters says nothing at all.
    assert_eq!(of(&judge(&always(huge_pages())), id), None);
}

#[test]
fn cheaper_walks_are_a_bounded_part_of_the_gain() {
    let id = "cheaper-walks";
    let baseline = walks(&small_pages(), 9e7, 12e9, 0.11, 0.004);
    let findings = judge(&two(
        baseline.clone(),
        walks(&huge_pages(), 2e6, 10e9, 0.02, 0.001),
    ));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: cheaper page walks explain at most 56.0 % of the cycles saved. 90.0 M data page walks became 2.00 M; cycles with a walk under way fell from 11.0 % to 2.0 %
        "#]],
    );
    let faults = of(&findings, "fewer-faults-explain-gain").unwrap();
    assert!(
        faults.text.contains("finding on page walks"),
        "{}",
        faults.text
    );
    let part = of(&findings, id).unwrap().evidence["walk_share_of_gain_at_most"]
        .as_f64()
        .unwrap();
    // 0.11 of 12e9 less 0.02 of 10e9 are 1.12e9 of the 2e9 cycles gained.
    assert!((part - 0.56).abs() < 0.01, "{part}");

    let no_gain = with(
        &walks(&huge_pages(), 2e6, 12e9, 0.02, 0.001),
        &[("wall_seconds", 4.21)],
    );
    let findings = judge(&two(baseline.clone(), no_gain));
    says(
        &findings,
        id,
        Outcome::NotShown,
        &expect![[r#"
            thp=always: fewer page walks, but no significantly lower wall time. 90.0 M data page walks became 2.00 M
        "#]],
    );

    let elsewhere = walks(&huge_pages(), 9e7, 12e9, 0.11, 0.004);
    let findings = judge(&two(baseline, elsewhere));
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: the TLB misses are not in the memory that became huge. 806 MiB was huge under thp=always and 0 under as-is; as many data page walks
        "#]],
    );
}

/// Half a second less of user time, a tenth of one less of kernel time.
fn faster_user_mode() -> Record {
    always(with(
        &huge_pages(),
        &[
            ("wall_seconds", 3.61),
            ("user_seconds", 3.11),
            ("system_seconds", 0.48),
        ],
    ))
}

#[test]
fn user_time_is_the_larger_cause_where_no_counter_tells() {
    let id = "user-time-fell";
    let mut record = faster_user_mode();
    sample::take_away(&mut record, &["dtlb_walks_total"], &Missing::NoHardware);
    let findings = judge(&record);
    says(
        &findings,
        id,
        Outcome::Shown,
        &expect![[r#"
            thp=always: most of the time saved is user time, 13.8 % less: probably fewer TLB misses, which this machine cannot count; hugewise simulate estimates them. Mean change per run: wall time −595 ms, user time −499 ms, kernel time −99.8 ms
        "#]],
    );
    let share = of(&findings, id).unwrap().evidence["user_share_of_gain"].as_f64();
    assert!(
        share.is_some_and(|it| (0.8..0.9).contains(&it)),
        "{share:?}"
    );

    let silent = |record: &Record| of(&judge(record), id).is_none();
    // Counted walks have a rule of their own.
    let counted = |figures: &Figures| walks(figures, 9e7, 12e9, 0.11, 0.004);
    assert!(silent(&two(
        counted(&small_pages()),
        counted(&huge_pages())
    )));
    // Kernel time fell by more.
    let kernel = [("user_seconds", 3.4), ("system_seconds", 0.1)];
    assert!(silent(&always(with(&huge_pages(), &kernel))));
    // No more memory was huge.
    let mut small = faster_user_mode();
    for trial in &mut small.trials {
        for metric in ["huge_anon_peak_bytes", "thp_fault_alloc_total"] {
            trial.readings.insert(metric.to_owned(), Reading::of(0.0));
        }
    }
    assert!(silent(&small));
}
