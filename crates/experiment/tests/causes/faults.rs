//! Fewer faults, zeroing, refusals of huge pages, memory that the program only read.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::{CauseId, CauseOutcome, Part, causes};
use hugewise_experiment::run::compare::{Change, PolicyAnswer, Table};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;

use super::judged::{always, figures, is_silent, judge, near, near_of, unread};
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

/// The table of a record with undecided wall time.
fn undecided(record: &Record) -> Table {
    let mut table = table(record, 0.005);
    for row in table
        .comparisons
        .iter_mut()
        .filter(|row| row.metric == "wall_seconds")
    {
        row.change = Change::CannotTell;
    }
    table
}

#[test]
fn fewer_faults_explain_a_part_of_the_gain() {
    let parts = figures!(judge(&always(huge_pages())), Breakdown, Shown);
    let faults = parts.faults.expect("faults");
    assert_eq!((faults.baseline, faults.arm), (51_200.0, 1_340.0));
    let fewer = parts.fewer_faults.expect("fewer faults");
    assert_eq!(fewer.outcome, CauseOutcome::Shown);
    near(fewer.saved_seconds, 0.390, 0.001);
    near(fewer.gained_seconds, 0.826, 0.001);
    let share = fewer.share.expect("one thread");
    near(share.estimate, 0.472, 0.003);
    let [low, high] = share.narrow().expect("eight rounds");
    near(low, 0.47, 0.006);
    near(high, 0.48, 0.006);

    let same_kernel_time = with(&huge_pages(), &[("system_seconds", 0.58)]);
    let parts = figures!(judge(&always(same_kernel_time)), Breakdown, Shown);
    let fewer = parts.fewer_faults.expect("fewer faults");
    assert_eq!((fewer.outcome, fewer.share), (CauseOutcome::NotShown, None));

    let waits = with(&huge_pages(), &[("wall_seconds", 4.1)]);
    let parts = figures!(judge(&always(waits)), Breakdown, Shown);
    let fewer = parts.fewer_faults.expect("fewer faults");
    near(fewer.gained_seconds, 0.105, 0.001);
    assert!(
        fewer.share.is_some_and(|it| it.estimate > 1.0),
        "all of the gain"
    );
}

#[test]
fn threads_side_by_side_forbid_a_share() {
    let threads = |figures: &Figures| with(figures, &[("user_seconds", 14.0)]);
    let arms = [
        (Policy::as_is(), threads(&small_pages())),
        (thp("thp=always", Thp::Always), threads(&huge_pages())),
    ];
    let parts = figures!(judge(&sample::record(&arms, 12)), Breakdown, Shown);
    let fewer = parts.fewer_faults.expect("fewer faults");
    assert_eq!((fewer.outcome, fewer.share), (CauseOutcome::Shown, None));
    near(fewer.saved_seconds, 0.390, 0.001);
    assert_eq!(
        parts.dominant,
        Some(Part::PageFaults),
        "user time did not fall"
    );
}

#[test]
fn a_cause_is_claimed_only_if_the_time_is_decided() {
    let record = always(huge_pages());
    let mut table = undecided(&record);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=always".to_owned(), PolicyAnswer::NotDecided);
    let parts = figures!(causes(&record, &table), Breakdown, Shown);
    assert_eq!((parts.dominant, parts.fewer_faults), (None, None));
    let lasting = parts.lasting.expect("kernel and user time are decided");
    assert_eq!(lasting.outcome, CauseOutcome::Shown);
}

#[test]
fn zeroing_ate_the_gain() {
    let slow = with(
        &huge_pages(),
        &[
            ("wall_seconds", 4.22),
            ("system_seconds", 0.61),
            ("compact_stall_total", 40.0),
        ],
    );
    let parts = figures!(judge(&always(slow.clone())), Breakdown, Shown);
    let made = parts.zeroing.expect("zeroing");
    assert!(made.outcome == CauseOutcome::Shown && made.is_dearer);
    near_of(made.growth_per_huge_fault_seconds, 74.9e-6, 0.1e-6);
    assert_eq!(
        (made.huge_faults, made.compaction_stalls),
        (Some(403.0), Some(40.0))
    );
    assert_eq!(
        (made.zeroing_seconds, made.hypervisor.as_deref()),
        (None, Some("KVM"))
    );
    near(made.system_seconds.arm, 0.610, 0.001);
    assert_eq!(parts.dominant, None, "wall time is the same");

    let timed = [
        ("zeroing_seconds", 0.31),
        ("direct_compaction_seconds", 0.05),
    ];
    let parts = figures!(judge(&always(with(&slow, &timed))), Breakdown, Shown);
    let made = parts.zeroing.expect("zeroing");
    near_of(made.zeroing_seconds, 0.31, 0.002);
    near_of(made.compaction_seconds, 0.05, 0.001);

    let faster_kernel = [("wall_seconds", 4.21), ("system_seconds", 0.5)];
    let parts = figures!(
        judge(&always(with(&huge_pages(), &faster_kernel))),
        Breakdown,
        Shown
    );
    assert_eq!(
        parts.zeroing.expect("zeroing").outcome,
        CauseOutcome::NotShown
    );
    let parts = figures!(judge(&always(huge_pages())), Breakdown, Shown);
    assert_eq!(parts.zeroing, None);
}

#[test]
fn a_loss_by_making_huge_pages_is_theirs() {
    let dear = [
        ("wall_seconds", 5.4),
        ("user_seconds", 3.61),
        ("system_seconds", 1.7),
    ];
    let parts = figures!(judge(&always(with(&huge_pages(), &dear))), Breakdown, Shown);
    assert_eq!(parts.dominant, Some(Part::Zeroing));
}

/// `sort -n` of six million lines in a virtual machine, early: the time is open, and the correction for four policies
/// still keeps every other row undecided.
#[test]
fn what_explains_need_not_wait_for_the_verdict() {
    let small = with(
        &small_pages(),
        &[("minor_faults_total", 109_000.0), ("system_seconds", 0.33)],
    );
    let huge = with(
        &huge_pages(),
        &[
            ("wall_seconds", 4.24),
            ("system_seconds", 0.74),
            ("minor_faults_total", 1_100.0),
        ],
    );
    let arms = [
        (Policy::as_is(), small.clone()),
        (thp("thp=never", Thp::Never), small),
        (thp("thp=always", Thp::Always), huge),
    ];
    let record = sample::record(&arms, 12);
    let causes = causes(&record, &undecided(&record));
    let parts = figures!(&causes, Breakdown, Shown);
    let made = parts.zeroing.expect("zeroing");
    near_of(made.growth_per_huge_fault_seconds, 1.02e-3, 0.01e-3);
    assert_eq!((parts.dominant, parts.fewer_faults), (None, None));
    assert!(super::judged::of(&causes, CauseId::MemoryBloat).is_none());
}

#[test]
fn memory_that_was_only_read_is_recognised() {
    let read = with(&huge_pages(), &[("huge_zero_exit_bytes", 6.4e8)]);
    let found = figures!(judge(&always(read)), ReadFirstZeroPage, Shown);
    assert_eq!((found.zero_bytes, found.splits), (6.4e8, None));

    let split = with(&small_pages(), &[("thp_split_pmd_total", 90.0)]);
    let of_kernel = |kernel: &str| {
        let mut record = always(split.clone());
        record.header.host.kernel = kernel.to_owned();
        record
    };
    let id = CauseId::ReadFirstZeroPage;
    assert!(
        is_silent(&of_kernel("6.13.0"), id),
        "a write makes a huge page there"
    );
    let mut record = of_kernel("6.1.0-18-amd64");
    let found = figures!(judge(&record), ReadFirstZeroPage, CannotTell);
    assert_eq!(found.splits, Some(90.0));
    let old = Missing::not_supported("PAGEMAP_SCAN (Linux 6.7)");
    sample::take_away(&mut record, &["huge_zero_exit_bytes"], &old);
    let missing = unread!(judge(&record), ReadFirstZeroPage);
    assert_eq!(
        (missing.metric.as_str(), missing.reason),
        ("huge_zero_exit_bytes", old)
    );
    assert!(is_silent(&always(huge_pages()), id));
}

#[test]
fn refused_huge_faults_are_counted() {
    let refused = [
        ("thp_fault_fallback_total", 97.0),
        ("thp_fault_fallback_charge_total", 12.0),
        ("free_huge_pages_before_total", 310.0),
    ];
    let record = always(with(&huge_pages(), &refused));
    let found = figures!(judge(&record), HugeAllocationFellBack, Shown);
    near(found.share, 0.194, 1e-9);
    assert_eq!((found.refused, found.of), (97.0, 500.0));
    assert_eq!(
        (found.at_cgroup_limit, found.free_before),
        (Some(12.0), Some(310.0))
    );
    let none = figures!(
        judge(&always(huge_pages())),
        HugeAllocationFellBack,
        NotShown
    );
    assert_eq!((none.refused, none.of), (0.0, 403.0));
}

#[test]
fn khugepaged_needs_time() {
    let found = figures!(judge(&always(small_pages())), KhugepagedHadNoTime, Shown);
    near(found.needed_seconds, 8.46 * 60.0, 0.5);
    near(found.run_seconds, 4.22, 0.02);
    near(found.bytes_per_second, 1.6 * 1_048_576.0, 100_000.0);
    assert!(found.huge_bytes == 0.0 && !found.is_anonymous);

    let long = [("wall_seconds", 900.0), ("huge_anon_peak_bytes", 1e8)];
    let found = figures!(
        judge(&always(with(&small_pages(), &long))),
        KhugepagedHadNoTime,
        NotShown
    );
    near(found.huge_bytes / found.memory_bytes, 0.117, 0.001);
    // khugepaged cannot collapse shared memory.
    let shared = with(&small_pages(), &[("anon_peak_bytes", 3e7)]);
    let found = figures!(judge(&always(shared)), KhugepagedHadNoTime, Shown);
    near(found.needed_seconds, 17.9, 0.05);
    assert!(found.is_anonymous && found.memory_bytes == 3e7);
    assert!(is_silent(
        &always(huge_pages()),
        CauseId::KhugepagedHadNoTime
    ));

    let mut record = always(small_pages());
    let refused = Missing::not_permitted("root");
    sample::take_away(&mut record, &["huge_anon_peak_bytes"], &refused);
    assert_eq!(
        unread!(judge(&record), KhugepagedHadNoTime).arm,
        "thp=always"
    );
}
