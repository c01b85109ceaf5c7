//! Causes of benches, each on a record with the cause, and on one without it.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::cause::{Cause, CauseId, CauseOutcome, Kind, LargeShare, causes};
use hugewise_experiment::run::cells::Bench;
use hugewise_experiment::run::compare::{self, Options};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Reading;

use super::judged::{figures, near, near_of, of, unread};
use crate::sample::{self, Figures};

fn bench(suite: &str, cells: &[&str], arms: &[Figures]) -> Record {
    let named = |(index, figures): (usize, &Figures)| {
        let policy = Policy {
            name: ["4k", "2m"][index].to_owned(),
            ..Policy::as_is()
        };
        (policy, [sample::small_pages(), figures.clone()].concat())
    };
    let arms: Vec<(Policy, Figures)> = arms.iter().enumerate().map(named).collect();
    let mut record = sample::record(&arms, 12);
    record.header.plan.bench = Some(Bench {
        suite: suite.to_owned(),
        processor: None,
        left_out: None,
        cells: cells.iter().map(|cell| cell.parse().unwrap()).collect(),
    });
    record
}

fn judge(record: &Record) -> Vec<Cause> {
    causes(
        record,
        &compare::table(record, &Options::default()).unwrap(),
    )
}

fn is_silent(record: &Record, id: CauseId) -> bool {
    of(&judge(record), id).is_none()
}

const BELOW: &str = "mmap/1048576/aligned/at-once/67108864";
const WHOLE: &str = "mmap/2097152/aligned/at-once/67108864";

fn growth(below: f64, whole: f64) -> Record {
    let figures = vec![
        (
            "bench/mmap/1048576/aligned/at-once/67108864/huge_ratio",
            below,
        ),
        (
            "bench/mmap/2097152/aligned/at-once/67108864/huge_ratio",
            whole,
        ),
    ];
    bench("growth", &[BELOW, WHOLE], &[figures])
}

#[test]
fn small_steps_are_named_if_whole_ones_came_out_huge() {
    let found = figures!(judge(&growth(0.0, 1.0)), GrowthBelowHugePage, Shown);
    assert_eq!(
        (found.step_below_bytes, found.step_whole_bytes),
        (1 << 20, 2 << 20)
    );
    assert_eq!((found.share_below, found.share_whole), (0.0, 1.0));
    let found = figures!(judge(&growth(0.9, 1.0)), GrowthBelowHugePage, NotShown);
    near(found.share_below, 0.9, 1e-9);
    assert!(is_silent(&growth(0.0, 0.0), CauseId::GrowthBelowHugePage));
    let mut unseen = growth(0.0, 1.0);
    let name = format!("bench/{WHOLE}/huge_ratio");
    sample::take_away(&mut unseen, &[&name], &Missing::NotPrinted);
    let missing = unread!(judge(&unseen), GrowthBelowHugePage);
    assert_eq!(
        (missing.metric, missing.reason),
        (name, Missing::NotPrinted)
    );
}

fn prefault(read_huge: f64) -> Record {
    let whole = 268_435_456.0;
    let figures = vec![
        ("bench/store/268435456/1/written_huge_bytes", whole),
        ("bench/load/268435456/1/written_huge_bytes", read_huge),
        (
            "bench/load/268435456/1/written_small_bytes",
            whole - read_huge,
        ),
    ];
    let cells = ["store/268435456/1", "load/268435456/1"];
    bench("prefault", &cells, &[figures])
}

#[test]
fn reading_first_is_named_if_it_leaves_small_pages() {
    let found = figures!(judge(&prefault(0.0)), ReadFirstPrefault, Shown);
    assert_eq!(
        (found.method, found.share, found.store_share),
        ("load", 0.0, 1.0)
    );
    let found = figures!(judge(&prefault(268_435_456.0)), ReadFirstPrefault, NotShown);
    assert_eq!(found.share, 1.0);
}

fn slab(kernel: f64, zeroing: f64) -> Record {
    let figures = vec![
        ("bench/slab/1000/5000/kernel_ratio", kernel),
        ("bench/slab/1000/5000/zeroing_ratio", zeroing),
        ("bench/slab-touch/1000/5000/kernel_ratio", kernel / 2.0),
        ("bench/slab-touch/1000/5000/zeroing_ratio", zeroing / 2.0),
    ];
    let cells = ["slab/1000/5000", "slab-touch/1000/5000"];
    bench("slab", &cells, &[figures])
}

#[test]
fn faults_and_zeroing_are_named_if_they_are_a_good_part() {
    let found = |record: &Record, id: CauseId| {
        let causes = judge(record);
        let cause = of(&causes, id).expect("a share").clone();
        let Kind::LargeShare(LargeShare { share, cell }) = cause.kind else {
            panic!("{cause:?}");
        };
        assert_eq!(cell, "slab");
        (cause.outcome, share)
    };
    let large = slab(0.15, 0.1165);
    assert_eq!(
        found(&large, CauseId::PageFaultBound),
        (CauseOutcome::Shown, 0.15)
    );
    assert_eq!(
        found(&large, CauseId::ZeroingBound),
        (CauseOutcome::Shown, 0.1165)
    );
    let small = slab(0.03, 0.004);
    assert_eq!(
        found(&small, CauseId::PageFaultBound),
        (CauseOutcome::NotShown, 0.03)
    );
    assert_eq!(
        found(&small, CauseId::ZeroingBound),
        (CauseOutcome::NotShown, 0.004)
    );
}

fn rates(second: f64) -> Record {
    let figures = |rate| {
        vec![
            ("bench/slab/1000/5000/operations_per_second", 4e6),
            ("bench/slab-touch/1000/5000/operations_per_second", rate),
        ]
    };
    let cells = ["slab/1000/5000", "slab-touch/1000/5000"];
    let mut record = bench("slab", &cells, &[figures(4e6), figures(second)]);
    for (index, trial) in record.trials.iter_mut().enumerate() {
        for (name, reading) in &mut trial.readings {
            if let (true, Reading::Value { value }) = (name.starts_with("bench/"), reading) {
                // Up to a thousandth up or down, in an order independent of the policies.
                *value *= 1.0 + 0.001 * ((index * 7 % 11) as f64 / 5.0 - 1.0);
            }
        }
    }
    record
}

#[test]
fn no_difference_comes_with_its_bound() {
    let found = figures!(judge(&rates(4e6)), NoDifference, Shown);
    assert_eq!((found.cells, found.differ), (2, 0));
    near(found.bound, 0.001, 0.0005);
    let found = figures!(judge(&rates(4.4e6)), NoDifference, NotShown);
    assert_eq!((found.cells, found.differ), (2, 1));
}

const WRITTEN: &str = "copy/libc/65536/written/1";
const UNTOUCHED: &str = "copy/libc/65536/untouched/1";

/// A copy from written memory at 10 GB/s, and one from memory with so large a share of the zero page.
fn copies(zero: f64) -> Record {
    let figures = vec![
        (
            "bench/copy/libc/65536/written/1/rate_bytes_per_second",
            1e10,
        ),
        (
            "bench/copy/libc/65536/written/1/source_small_bytes",
            65_536.0,
        ),
        (
            "bench/copy/libc/65536/untouched/1/rate_bytes_per_second",
            4e10,
        ),
        ("bench/copy/libc/65536/untouched/1/source_zero_bytes", zero),
        (
            "bench/copy/libc/65536/untouched/1/source_small_bytes",
            65_536.0 - zero,
        ),
    ];
    bench("memory", &[WRITTEN, UNTOUCHED], &[figures])
}

#[test]
fn a_source_that_was_the_zero_page_is_named() {
    let found = figures!(judge(&copies(65_536.0)), ZeroPageSource, Shown);
    assert_eq!((found.reading, found.of_zero_page), (2, 1));
    let worst = found.worst.expect("a cell");
    assert_eq!(worst.cell, UNTOUCHED);
    near(worst.bytes_per_second, 4e10, 1.0);
    near_of(worst.written_bytes_per_second, 1e10, 1.0);
    let found = figures!(judge(&copies(4096.0)), ZeroPageSource, NotShown);
    assert_eq!((found.of_zero_page, found.worst), (0, None));
    let fill = vec![(
        "bench/fill/libc/65536/written/1/rate_bytes_per_second",
        1e10,
    )];
    let fill = bench("memory", &["fill/libc/65536/written/1"], &[fill]);
    assert!(is_silent(&fill, CauseId::ZeroPageSource));
}

#[test]
fn programs_and_benches_have_causes_of_their_own() {
    let of_benches = [
        CauseId::GrowthBelowHugePage,
        CauseId::ReadFirstPrefault,
        CauseId::PageFaultBound,
        CauseId::ZeroingBound,
        CauseId::NoDifference,
        CauseId::ZeroPageSource,
    ];
    let program = judge(&sample::clear_win());
    assert!(
        program.iter().all(|cause| !of_benches.contains(&cause.id)),
        "{program:?}"
    );
    let bench = judge(&rates(4e6));
    assert!(
        bench.iter().all(|cause| of_benches.contains(&cause.id)),
        "{bench:?}"
    );
}
