//! Each rule about benches on a record in which its cause is planted, and on one in which it is
//! not.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]

mod sample;

use expect_test::{Expect, expect};
use hugewise_model::base::missing::Missing;
use hugewise_model::bench;
use hugewise_model::run::cells::Bench;
use hugewise_model::run::compare;
use hugewise_model::run::compare::Options;
use hugewise_model::run::findings::{Finding, Outcome};
use hugewise_model::run::policy::Policy;
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::Reading;
use sample::Figures;

fn bench(suite: &str, cells: &[&str], arms: &[Figures]) -> Record {
    let named = |(index, figures): (usize, &Figures)| {
        let name = ["4k", "2m"][index].to_owned();
        let policy = Policy {
            name,
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

fn says(record: &Record, id: &str, outcome: Outcome, expected: &Expect) {
    let finding = found(record, id).unwrap_or_else(|| panic!("{id} says nothing"));
    expected.assert_eq(&format!("{}\n", finding.text));
    assert_eq!(finding.outcome, outcome, "{}", finding.text);
    assert!(!finding.evidence.is_empty(), "{id} gives no evidence");
}

/// The finding about the last policy.
fn found(record: &Record, id: &str) -> Option<Finding> {
    let mut rules = bench::findings::RULES.iter();
    assert!(rules.any(|rule| rule.id() == id), "{id} is no rule");
    let table = compare::table(record, &Options::default()).unwrap();
    let report = bench::report(record, table, None);
    report
        .findings
        .into_iter()
        .rfind(|finding| finding.id == id)
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
fn small_steps_are_named_where_whole_ones_came_out_huge() {
    let id = "growth-below-huge-page";
    says(
        &growth(0.0, 1.0),
        id,
        Outcome::Shown,
        &expect![[r#"
            4k: heaps that grow by less than 2 MiB and are touched at once get no huge pages. In steps of 1 MiB up to 0 % of the heap became huge, in steps of 2 MiB 100 %
        "#]],
    );
    says(
        &growth(0.9, 1.0),
        id,
        Outcome::NotShown,
        &expect![[r#"
            4k: heaps that grow by less than 2 MiB get huge pages too. In steps of 1 MiB up to 90 % of the heap became huge, in steps of 2 MiB 100 %
        "#]],
    );
    assert_eq!(found(&growth(0.0, 0.0), id), None);
    let mut unseen = growth(0.0, 1.0);
    let name = format!("bench/{WHOLE}/huge_ratio");
    sample::take_away(&mut unseen, &[&name], &Missing::NotPrinted);
    says(
        &unseen,
        id,
        Outcome::CannotTell,
        &expect![[r#"
            4k: huge share of mmap 2 MiB was not measured under 4k: the workload printed nothing that matches
        "#]],
    );
}

fn prefault(read_huge: f64) -> Record {
    let figures = vec![
        ("bench/store/268435456/1/written_huge_bytes", 268_435_456.0),
        ("bench/load/268435456/1/written_huge_bytes", read_huge),
        (
            "bench/load/268435456/1/written_small_bytes",
            268_435_456.0 - read_huge,
        ),
    ];
    let cells = ["store/268435456/1", "load/268435456/1"];
    bench("prefault", &cells, &[figures])
}

#[test]
fn reading_first_is_named_where_it_leaves_small_pages() {
    let id = "read-first-prefault";
    says(
        &prefault(0.0),
        id,
        Outcome::Shown,
        &expect![[r#"
            4k: prefaulting by reads leaves small pages on this kernel. By load 0 % of the memory was huge after the write, by store 100 %; a read maps the huge zero page, and a later write splits it
        "#]],
    );
    says(
        &prefault(268_435_456.0),
        id,
        Outcome::NotShown,
        &expect![[r#"
            4k: prefaulting by reads costs no huge pages on this kernel. By load 100 % of the memory was huge after the write, by store 100 %
        "#]],
    );
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
fn faults_and_zeroing_are_named_where_they_are_a_good_part() {
    says(
        &slab(0.15, 0.1165),
        "page-fault-bound",
        Outcome::Shown,
        &expect![[r#"
            4k: page faults and the zeroing in them are a large share of the time. The kernel share is up to 15 % (with slab)
        "#]],
    );
    says(
        &slab(0.15, 0.1165),
        "zeroing-bound",
        Outcome::Shown,
        &expect![[r#"
            4k: zeroing new memory is a large share of the time. The zeroing share is up to 12 % (with slab); huge pages and prefaulting move it and save none of it
        "#]],
    );
    says(
        &slab(0.03, 0.004),
        "page-fault-bound",
        Outcome::NotShown,
        &expect![[r#"
            4k: page faults are a small share of the time. The kernel share is up to 3.0 % (with slab)
        "#]],
    );
    says(
        &slab(0.03, 0.004),
        "zeroing-bound",
        Outcome::NotShown,
        &expect![[r#"
            4k: zeroing new memory is a small share of the time. The zeroing share is up to 0.4 % (with slab)
        "#]],
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
                // Up to a thousandth up or down, in an order that has nothing to do with policies.
                *value *= 1.0 + 0.001 * ((index * 7 % 11) as f64 / 5.0 - 1.0);
            }
        }
    }
    record
}

#[test]
fn no_difference_is_said_with_its_bound() {
    let id = "no-difference";
    says(
        &rates(4e6),
        id,
        Outcome::Shown,
        &expect![[r#"
            2m: no difference within ±0.1 % in any of 2 cells
        "#]],
    );
    says(
        &rates(4.4e6),
        id,
        Outcome::NotShown,
        &expect![[r#"
            2m: 1 of 2 cells differ
        "#]],
    );
}

const WRITTEN: &str = "copy/libc/65536/written/1";
const UNTOUCHED: &str = "copy/libc/65536/untouched/1";

/// A copy from written memory at 10 GB/s, and one from memory of which so much was the zero page.
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
    let id = "zero-page-source";
    says(
        &copies(65_536.0),
        id,
        Outcome::Shown,
        &expect![[r#"
            4k: 1 of 2 cells read the zero page, which is not memory speed. The page stays in the cache; copy/libc/65536/untouched/1 reads at 40.0 GB/s, and at 10.0 GB/s over written memory, 25 % of that
        "#]],
    );
    says(
        &copies(4096.0),
        id,
        Outcome::NotShown,
        &expect![[r#"
        4k: no cell read the zero page
    "#]],
    );
    let fill = vec![(
        "bench/fill/libc/65536/written/1/rate_bytes_per_second",
        1e10,
    )];
    let fill = bench("memory", &["fill/libc/65536/written/1"], &[fill]);
    assert_eq!(found(&fill, id), None);
}

#[test]
fn other_experiments_have_no_such_findings() {
    let record = sample::clear_win();
    for id in [
        "growth-below-huge-page",
        "read-first-prefault",
        "page-fault-bound",
        "zeroing-bound",
        "no-difference",
        "zero-page-source",
    ] {
        assert_eq!(found(&record, id), None, "{id}");
    }
}
