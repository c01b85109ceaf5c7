use std::collections::BTreeMap;

use super::*;
use crate::export::GroupRule;
use crate::export::exposition::{Format, text};
use hugewise_base::histogram::durations::Durations;
use hugewise_observe::inspect::reasons::Code;
use hugewise_observe::machine::Collected;

fn collected<T>(value: T) -> Option<Collected<T>> {
    Some(Collected {
        value: Ok(value),
        seconds: 0.0,
    })
}

fn cgroup(place: usize) -> Cgroup {
    Cgroup {
        path: format!("/{place}"),
        anon_bytes: 4096,
        anon_huge_bytes: Some(2048),
        huge_faults: Some(1),
        collapses: None,
    }
}

fn group(name: String) -> ProcessGroup {
    ProcessGroup {
        name,
        small_bytes: Code::all().map(|code| (code, 4096)).collect(),
        processes: BTreeMap::from([(Knowledge::Read, 2)]),
        ..ProcessGroup::default()
    }
}

fn lines(extras: &Extras) -> Vec<String> {
    let text = text(&extra_families(extras), Format::Prometheus);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn cgroups_beyond_the_most_are_one() {
    let extras = Extras {
        cgroups: collected((0..MOST_CGROUPS + 3).map(cgroup).collect()),
        ..Extras::default()
    };
    let lines = lines(&extras);
    let other = "hugewise_cgroup_memory_bytes{cgroup=\"other\",kind=\"anon\"} 12288";
    assert!(lines.iter().any(|line| line == other), "{lines:#?}");
    assert!(lines.len() <= 4 + (MOST_CGROUPS + 1) * 4);
}

/// A group has at most fourteen series, whatever runs.
#[test]
fn a_group_has_few_series_whatever_runs() {
    let names = (0..MOST_GROUPS + 5).map(|place| format!("g{place}"));
    let groups = ProcessGroups {
        groups: names.map(group).collect(),
        cpu_ns: 1_500_000_000,
    };
    let extras = Extras {
        groups: collected(groups),
        ..Extras::default()
    };
    let stored: usize = extra_families(&extras).iter().map(Family::stored).sum();
    assert!(stored <= MOST_GROUPS * 14 + 1, "{stored}");
    let lines = lines(&extras);
    for line in [
        "hugewise_group_processes{group=\"g0\",pages=\"read\"} 2",
        "hugewise_group_processes{group=\"g0\",pages=\"large\"} 0",
        "hugewise_inspect_cpu_seconds_total 1.5",
    ] {
        assert!(lines.iter().any(|it| it == line), "{lines:#?}");
    }
    assert!(lines.iter().any(|it| it.contains("reason=\"other\"")));
}

#[test]
fn durations_are_counted_up_to_each_bound() {
    let mut durations = Durations::default();
    for ns in [900, 5_000, 5_000, 20_000_000_000] {
        durations.add(ns);
    }
    let point = "direct_compaction".to_owned();
    let lines = lines(&Extras {
        durations: collected(vec![PointDurations { point, durations }]),
        ..Extras::default()
    });
    let bucket = |le: &str, count: u64| {
        format!("hugewise_stall_seconds_bucket{{point=\"direct_compaction\",le=\"{le}\"}} {count}")
    };
    for line in [
        bucket("0.000001024", 1),
        bucket("0.000016384", 3),
        bucket("4.294967296", 3),
        bucket("+Inf", 4),
    ] {
        assert!(lines.contains(&line), "{line} {lines:#?}");
    }
}

#[test]
fn an_effect_has_its_interval_where_there_is_one() {
    let effect = |policy: &str, interval| Effect {
        policy: policy.to_owned(),
        ratio: 0.8,
        interval,
    };
    let experiment = Experiment {
        name: "2026".to_owned(),
        program: "sort".to_owned(),
        kernel: "6.12".to_owned(),
        created_unix_ms: 1500,
        baseline: "as-is".to_owned(),
        metric: "wall_seconds".to_owned(),
        best: None,
        effects: vec![effect("a", Some((0.7, 0.9))), effect("b", None)],
    };
    let lines = lines(&Extras {
        experiments: collected(vec![experiment]),
        ..Extras::default()
    });
    let effects = lines
        .iter()
        .filter(|line| line.starts_with("hugewise_experiment_effect_ratio{"));
    assert_eq!(effects.count(), 4, "{lines:#?}");
    let low =
        "hugewise_experiment_effect_ratio{experiment=\"2026\",policy=\"a\",bound=\"low\"} 0.7";
    assert!(lines.iter().any(|line| line == low), "{lines:#?}");
}

#[test]
fn a_rule_names_a_group_and_its_processes() {
    let rule: GroupRule = "web=nginx*".parse().unwrap();
    assert!(rule.fits("nginx") && !rule.fits("redis"));
    for wrong in ["web", "=x", "web="] {
        wrong.parse::<GroupRule>().unwrap_err();
    }
}
