//! Page walks: the possible savings from cheaper translation.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::{CauseId, CauseOutcome, Part, WalksFell};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Reading;

use super::judged::{always, figures, is_silent, judge, near, near_of, of};
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
    let huge = walks(&huge_pages(), 2e6, 10.2e9, 0.02, 0.001);
    let bound = |data: f64, code: f64| {
        let small = walks(&small_pages(), 9e7, 12e9, data, code);
        let causes = judge(&two(small, huge.clone()));
        let cause = of(&causes, CauseId::Translation).expect("a bound");
        assert_eq!(cause.arm, None);
        figures!(causes, Translation, Shown)
    };
    let some = bound(0.11, 0.004);
    near_of(some.at_most, 0.114, 1e-9);
    near(some.threshold, 0.01, 0.0);
    // A high rate of misses is irrelevant if hardly any cycle has a walk.
    let none = bound(0.004, 0.001);
    assert!(
        none.at_most.is_some_and(|it| it < none.threshold),
        "{none:?}"
    );
    let code = bound(0.01, 0.09);
    assert!(code.code > code.data, "{code:?}");
}

#[test]
fn without_walk_cycles_no_bound_is_claimed() {
    let mut record = two(
        walks(&small_pages(), 9e7, 12e9, 0.11, 0.004),
        walks(&huge_pages(), 2e6, 10.2e9, 0.02, 0.001),
    );
    let missing = Missing::not_supported("an event for the cycles of page walks");
    let cycles = ["data_walk_cycles_ratio", "code_walk_cycles_ratio"];
    sample::take_away(&mut record, &cycles, &missing);
    let found = figures!(judge(&record), Translation, CannotTell);
    assert_eq!((found.at_most, found.uncounted), (None, Some(missing)));
    near_of(found.walks, 9e7, 1.0);
    near_of(found.walks_per_1000_instructions, 10.0, 1e-9);
    let all = [&cycles[..], &["dtlb_walks_total", "instructions_total"]].concat();
    sample::take_away(&mut record, &all, &Missing::NoHardware);
    let causes = judge(&record);
    let found = figures!(&causes, Translation, CannotTell);
    assert_eq!(
        (found.uncounted, found.walks),
        (Some(Missing::NoHardware), None)
    );
    assert_eq!(figures!(causes, Breakdown, Shown).walks, None);
    // A record from before counters existed gives no result at all.
    assert!(is_silent(&always(huge_pages()), CauseId::Translation));
}

#[test]
fn cheaper_walks_are_a_bounded_part_of_the_gain() {
    let baseline = walks(&small_pages(), 9e7, 12e9, 0.11, 0.004);
    let cheaper = walks(&huge_pages(), 2e6, 10e9, 0.02, 0.001);
    let parts = figures!(judge(&two(baseline.clone(), cheaper)), Breakdown, Shown);
    let found = parts.walks.expect("walks");
    assert_eq!(
        (found.outcome, found.effect),
        (CauseOutcome::Shown, WalksFell::Cheaper)
    );
    assert_eq!((found.walks.baseline, found.walks.arm), (9e7, 2e6));
    // 0.11 of 12e9 minus 0.02 of 10e9 are 1.12e9 of the 2e9 cycles gained.
    near_of(found.part_of_gain_at_most, 0.56, 0.001);
    assert_eq!(
        (parts.dominant, parts.user_time),
        (Some(Part::PageWalks), None)
    );

    let slow = walks(&huge_pages(), 2e6, 12e9, 0.02, 0.001);
    let no_gain = with(&slow, &[("wall_seconds", 4.21)]);
    let parts = figures!(judge(&two(baseline.clone(), no_gain)), Breakdown, Shown);
    assert_eq!(parts.walks.expect("walks").outcome, CauseOutcome::NotShown);

    let elsewhere = walks(&huge_pages(), 9e7, 12e9, 0.11, 0.004);
    let parts = figures!(judge(&two(baseline, elsewhere)), Breakdown, Shown);
    let found = parts.walks.expect("walks");
    assert_eq!(
        (found.outcome, found.effect),
        (CauseOutcome::Shown, WalksFell::Elsewhere)
    );
}

/// Half a second less of user time, a tenth of one less of kernel time.
fn faster_user_mode() -> Record {
    let faster = [
        ("wall_seconds", 3.61),
        ("user_seconds", 3.11),
        ("system_seconds", 0.48),
    ];
    always(with(&huge_pages(), &faster))
}

#[test]
fn user_time_is_the_larger_cause_if_no_counter_tells() {
    let mut record = faster_user_mode();
    sample::take_away(&mut record, &["dtlb_walks_total"], &Missing::NoHardware);
    let parts = figures!(judge(&record), Breakdown, Shown);
    assert_eq!(parts.dominant, Some(Part::UserMode));
    let found = parts.user_time.expect("user time");
    near(found.ratio, 1.0 - 0.138, 0.001);
    near_of(found.share_of_gain, 0.84, 0.02);
    assert_eq!(found.uncounted, Missing::NoHardware);
    let seconds = parts.seconds.expect("seconds");
    near(seconds.user, -0.499, 0.001);
    near(seconds.system, -0.0998, 0.001);

    let silent = |record: &Record| {
        figures!(judge(record), Breakdown, Shown)
            .user_time
            .is_none()
    };
    // Counted walks are a separate part.
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
