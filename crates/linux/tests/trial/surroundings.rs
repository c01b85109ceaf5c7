//! The memory nodes and memory limits of a trial.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hugewise_experiment::run::policy::realise::{MemoryLimits, Realisation};
use hugewise_experiment::run::policy::{Numa, NumaMode};
use hugewise_experiment::run::trial::{Mark, Outcome};
use hugewise_linux::machine::root::Root;
use hugewise_linux::spawn::CgroupChoice;
use hugewise_linux::sys::cgroup::read_place;

use super::observing::{MIB, lab, observe, observe_expecting, said, value};
use super::pool::Pool;
use super::skipping::skip;

const LIMIT: u64 = 64 << 20;

fn limits() -> MemoryLimits {
    MemoryLimits {
        max_bytes: Some(LIMIT),
        high_bytes: None,
    }
}

/// Returns the current cgroups of this process.
fn groups() -> Vec<PathBuf> {
    let root = Root::real();
    let Ok(Some(place)) = read_place(&root) else {
        return Vec::new();
    };
    let own = root.path(place.folder());
    let beside = own.parent().map(PathBuf::from);
    let folders = std::iter::once(own).chain(beside);
    let prefix = format!("hugewise-{}-", std::process::id());
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&prefix))
    };
    paths.filter(is_ours).collect()
}

/// Touches this many pages of 4 KiB in a group of 64 MiB; `None` if no group can be created.
fn limited(name: &str, pages: &str) -> Option<hugewise_linux::collect::TrialObservation> {
    let mut launch = lab(&["touch", "--pages", pages, "--small"]);
    launch.group = CgroupChoice::Limit(limits());
    let expected = Realisation {
        limits: limits(),
        ..Realisation::default()
    };
    let seen = observe_expecting(&launch, &expected, &[]);
    assert!(groups().is_empty(), "{:?}", groups());
    if let Outcome::NotStarted { error } = &seen.outcome {
        skip(name, error);
        return None;
    }
    let marked = |mark: &Mark| matches!(mark, Mark::NotApplied { .. });
    assert!(!seen.marks.iter().any(marked), "{:?}", seen.marks);
    Some(seen)
}

pub(super) fn limits_hold_and_go_with_the_trial() {
    let name = "limits_hold_and_go_with_the_trial";
    let Some(seen) = limited(name, "8192") else {
        return;
    };
    let cgroup = seen.read_back.cgroup.expect("its group was read");
    assert_eq!(cgroup.limits, limits());
    assert_eq!((cgroup.at_max, cgroup.killed), (Some(0), Some(0)));
    assert_eq!(said(&seen), "pages 8192 faults 8192\n");
    let peak = value(&seen, "cgroup_peak_bytes");
    assert!((32.0 * MIB..=64.0 * MIB).contains(&peak), "{peak}");
}

pub(super) fn what_is_beyond_its_limit_is_killed() {
    let name = "what_is_beyond_its_limit_is_killed";
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().count() > 1 {
        return skip(name, "what is beyond the limit is swapped here");
    }
    let Some(seen) = limited(name, "32768") else {
        return;
    };
    assert_eq!(seen.outcome, Outcome::Signalled { signal: 9 });
    let cgroup = seen.read_back.cgroup.expect("its group was read");
    assert_eq!(cgroup.killed, Some(1));
    assert!(cgroup.at_max > Some(0), "{cgroup:?}");
}

pub(super) fn memory_nodes_are_read_back() {
    let node = |mode, nodes: &[u32]| Numa {
        mode,
        nodes: nodes.iter().copied().collect::<BTreeSet<u32>>(),
    };
    let policies = [
        node(NumaMode::Local, &[]),
        node(NumaMode::Prefer, &[0]),
        node(NumaMode::Bind, &[0]),
        node(NumaMode::Interleave, &[]),
    ];
    if !std::path::Path::new("/proc/self/numa_maps").exists() {
        return skip("memory_nodes_are_read_back", "a kernel without CONFIG_NUMA");
    }
    for numa in policies {
        let mut launch = lab(&["touch", "--pages", "100", "--small"]);
        launch.numa = Some(numa.clone());
        let expected = Realisation {
            numa: Some(numa.clone()),
            ..Realisation::default()
        };
        let seen = observe_expecting(&launch, &expected, &[]);
        let shown = seen.read_back.numa.as_deref().unwrap_or("nothing");
        assert!(numa.is_shown_by(shown), "{numa}: {shown}");
        let marked = |mark: &Mark| matches!(mark, Mark::NotApplied { .. });
        assert!(!seen.marks.iter().any(marked), "{:?}", seen.marks);
        // A policy different from the applied one is marked.
        let other = Realisation {
            numa: Some(node(NumaMode::Bind, &[1])),
            ..Realisation::default()
        };
        let seen = observe_expecting(&launch, &other, &[]);
        assert!(seen.marks.iter().any(marked), "{:?}", seen.marks);
    }
    let mut launch = lab(&["touch", "--pages", "1"]);
    launch.numa = Some(node(NumaMode::Bind, &[1023]));
    let seen = observe(&launch);
    let Outcome::NotStarted { error } = &seen.outcome else {
        panic!("{:?}", seen.outcome)
    };
    assert!(error.contains("memory nodes"), "{error}");
}

pub(super) fn pages_of_a_pool_are_seen() {
    let _pool = match Pool::with_room() {
        Ok(pool) => pool,
        Err(why) => return skip("pages_of_a_pool_are_seen", &why),
    };
    let seen = observe(&lab(&["pool", "--huge-pages", "3", "--hold", "300"]));
    // A fault or two may come from the program's stack or code.
    let text = said(&seen);
    let faults = text.trim().strip_prefix("huge-pages 3 faults ");
    let faults: Option<u32> = faults.and_then(|faults| faults.parse().ok());
    assert!(faults.is_some_and(|it| (3..=5).contains(&it)), "{text}");
    let bytes = 3.0 * Pool::page_bytes() as f64;
    assert_eq!(value(&seen, "hugetlb_peak_bytes"), bytes);
}
