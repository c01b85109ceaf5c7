//! Every metric, peaks and sums of trees, and the cost of sampling.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::METRICS;
use hugewise_experiment::run::policy::realise::ThpPrctl;
use hugewise_experiment::run::trial::{Outcome, Reading};
use hugewise_linux::machine::root::Root;
use hugewise_linux::spawn::{AtExit, CgroupChoice};

use super::observing::{MIB, PAGES, all_huge, command, counting, lab, missing, observe, value};
use super::pool::{self, Pool};
use crate::skipping::skip;

/// Metrics available only from hardware counters.
const COUNTED: [&str; 6] = [
    "cycles_total",
    "instructions_total",
    "dtlb_walks_total",
    "itlb_walks_total",
    "data_walk_cycles_ratio",
    "code_walk_cycles_ratio",
];

pub(super) fn every_metric_has_a_reading() {
    // Long enough for a sample of all its memory on a shared machine.
    let seen = observe(&lab(&["touch", "--pages", PAGES, "--hold", "1000"]));
    for metric in METRICS.iter() {
        assert!(seen.readings.contains_key(&*metric.name), "{}", metric.name);
    }
    // Metrics with a cost, or of servers, are measured only on request.
    const ON_REQUEST: [&str; 15] = [
        "cgroup_peak_bytes",
        "direct_compaction_seconds",
        "direct_reclaim_seconds",
        "cgroup_reclaim_seconds",
        "zeroing_seconds",
        "split_seconds",
        "page_fault_seconds",
        "copy_on_write_seconds",
        "mmap_lock_wait_seconds",
        "service_ready_seconds",
        "service_use_ratio",
        "load_use_ratio",
        "thread_stacks_bytes",
        "thread_stacks_huge_bytes",
        "threads_total",
    ];
    for (name, reading) in &seen.readings {
        assert!(
            hugewise_experiment::run::metric::find(name).is_some(),
            "{name}"
        );
        // One process shares nothing, so nothing is copied or counted twice.
        let of_several = ["fork_copied_bytes", "peak_tree_pss_bytes"].contains(&name.as_str());
        let is_seen = !COUNTED.contains(&name.as_str()) && !of_several;
        if !ON_REQUEST.contains(&name.as_str()) && is_seen {
            assert!(
                matches!(reading, Reading::Value { .. }),
                "{name}: {reading:?}"
            );
        }
    }
    for name in ON_REQUEST {
        assert_eq!(missing(&seen, name), Missing::NotAsked, "{name}");
    }
    match counting().plan {
        Ok(_) => assert!(value(&seen, "cycles_total") > 0.0),
        Err(why) => {
            skip("hardware counters", &why.to_string());
            assert!(COUNTED.iter().all(|name| missing(&seen, name) == *why));
        }
    }
    let held = value(&seen, "wall_seconds");
    assert!((0.05..5.0).contains(&held), "{held}");
}

pub(super) fn peaks_are_true_under_a_fat_parent() {
    let fat = vec![1_u8; 300 << 20];
    let seen = observe(&command(&["true"]));
    let peak = value(&seen, "peak_rss_bytes");
    assert!(peak < 8.0 * MIB, "{peak}");
    let mut blind = command(&["true"]);
    blind.at_exit = AtExit::Pass;
    let floor = match missing(&observe(&blind), "peak_rss_bytes") {
        Missing::BelowFloor { floor } => floor,
        other => panic!("{other:?}"),
    };
    assert!(floor < 16 << 20, "{floor}");
    blind = lab(&["touch", "--pages", PAGES, "--small"]);
    blind.at_exit = AtExit::Pass;
    for launch in [blind, lab(&["touch", "--pages", PAGES, "--small"])] {
        let peak = value(&observe(&launch), "peak_rss_bytes");
        let least = 23_029.0 * 4096.0;
        assert!((least..least + 8.0 * MIB).contains(&peak), "{peak}");
    }
    assert_eq!(fat[fat.len() - 1], 1);
}

pub(super) fn trees_are_summed() {
    let words = [
        "tree",
        "--processes",
        "3",
        "--pages",
        "5000",
        "--hold",
        "800",
    ];
    let mut launch = lab(&words);
    launch.prctl = ThpPrctl::Disable;
    let seen = observe(&launch);
    let each = 5000.0 * rustix::param::page_size() as f64;
    assert!(value(&seen, "minor_faults_total") >= 15_000.0);
    let tree = value(&seen, "peak_tree_rss_bytes");
    assert!(
        tree >= 3.0 * each && tree < 3.0 * each + 40.0 * MIB,
        "{tree}"
    );
    let once = value(&seen, "peak_tree_pss_bytes");
    assert!(once >= 3.0 * each && once <= tree, "{once} {tree}");
    let one = value(&seen, "peak_rss_bytes");
    assert!(one >= each && one < each + 8.0 * MIB, "{one}");
    let mean = value(&seen, "rss_mean_bytes");
    assert!(mean > each && mean < tree, "{mean}");
}

/// Three processes share three pages, and one has one more.
pub(super) fn pages_of_a_pool_count_once() {
    let test = "pages_of_a_pool_count_once";
    let _pool = match Pool::with_room() {
        Ok(pool) => pool,
        Err(why) => return skip(test, &why),
    };
    let held = ((pool::SHARED + pool::ALONE) * Pool::page_bytes()) as f64;
    // While other programs take or free pages, only bounds are known.
    for _ in 0..5 {
        let taken = Pool::taken();
        let seen = observe(&command(&["/proc/self/exe", "__pool"]));
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
        let (peak, mean) = (
            value(&seen, "hugetlb_peak_bytes"),
            value(&seen, "hugetlb_mean_bytes"),
        );
        if taken == Pool::taken() && peak == held {
            assert!((0.0..=held).contains(&mean), "{mean}");
            return;
        }
        let shared = (pool::SHARED * Pool::page_bytes()) as f64;
        let sum = held + (pool::PROCESSES - 1) as f64 * shared;
        assert!((shared..sum).contains(&peak), "{peak}");
    }
    panic!("five times others used the pool, or shared pages counted more than once");
}

/// The exact budget is a property of the pace, tested without a clock. The cost of a sample here depends on other load,
/// so this test only distinguishes sampling from a busy loop.
pub(super) fn sampling_is_cheap_and_right() {
    const HELD: f64 = 1.0;
    let seen = all_huge(&lab(&[
        "touch", "--pages", PAGES, "--huge", "--hold", "1000",
    ]));
    let samples = value(&seen, "samples_total");
    assert!((5.0..200.0).contains(&samples), "{samples}");
    let ratio = value(&seen, "sampling_ratio");
    assert!(ratio > 0.0 && ratio < 0.05, "{ratio}");
    let mean = value(&seen, "huge_anon_mean_bytes");
    let share = HELD / value(&seen, "wall_seconds");
    assert!(
        (60.0 * share * MIB..=88.0 * MIB).contains(&mean),
        "{mean} while {share} of the time"
    );
    assert_eq!(value(&seen, "huge_anon_peak_bytes"), 88.0 * MIB);
}

pub(super) fn without_the_hold() {
    let mut launch = lab(&["touch", "--pages", PAGES, "--huge", "--hold", "300"]);
    launch.at_exit = AtExit::Pass;
    let seen = observe(&launch);
    assert_eq!(missing(&seen, "huge_anon_exit_bytes"), Missing::NotAsked);
    let peak = value(&seen, "huge_anon_peak_bytes");
    assert!((80.0 * MIB..=88.0 * MIB).contains(&peak), "{peak}");
    let mut short = command(&["true"]);
    short.at_exit = AtExit::Pass;
    let seen = observe(&short);
    if value(&seen, "samples_total") == 0.0 {
        assert_eq!(missing(&seen, "huge_anon_peak_bytes"), Missing::TooShort);
    }
}

pub(super) fn groups_are_made_and_removed() {
    let mut launch = lab(&["touch", "--pages", PAGES, "--small"]);
    launch.group = CgroupChoice::Make;
    let seen = observe(&launch);
    match &seen.readings["cgroup_peak_bytes"] {
        Reading::Value { value } => assert!(*value >= 89.0 * MIB, "{value}"),
        Reading::Missing { missing } => {
            let told = matches!(
                missing,
                Missing::NotPermitted { .. } | Missing::NotSupported { .. }
            );
            assert!(told, "{missing:?}");
        }
        other => panic!("{other:?}"),
    }
    let own = hugewise_linux::sys::cgroup::read_place(&Root::real());
    if let Ok(Some(place)) = own {
        let left = Root::real().list(place.folder()).unwrap_or_default();
        let prefix = format!("hugewise-{}-", std::process::id());
        assert!(
            !left.iter().any(|name| name.starts_with(&prefix)),
            "{left:?}"
        );
    }
}
