//! Plans, and the arms of many units.

use std::collections::BTreeMap;

use super::{OUTSIDE, Plan, Unit};

const PLAN: &str = r#"
name = "always"
starts = 2026-12-01T00:00:00Z
ends = 2026-12-15T00:00:00+01:00
arms = [{name = "control", policy = "as-is"}, {name = "always", policy = "thp=always"}]
"#;

fn plan(more: &str) -> Plan {
    // Tables stand last in TOML.
    Plan::parse(&format!("{PLAN}{more}")).unwrap()
}

fn shares(plan: &Plan, units: u32) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for index in 0..units {
        let name = format!("host-{index}");
        let unit = Unit {
            name: &name,
            cluster: &name,
            period: 0,
        };
        *found.entry(plan.rule.arm(&unit).to_owned()).or_default() += 1.0 / f64::from(units);
    }
    found
}

#[test]
fn moments_are_seconds_since_1970() {
    let plan = plan("");
    // date -u -d '2026-12-01' +%s; the end an hour earlier than in UTC.
    assert_eq!(plan.written.starts, 1_796_083_200);
    assert_eq!(plan.written.ends, 1_796_083_200 + 14 * 86_400 - 3600);
}

/// Three standard errors of 20,000 units.
#[test]
fn arms_have_the_share_of_their_weight() {
    let text = PLAN.replace("thp=always\"}", "thp=always\", weight = 3}");
    let found = shares(&Plan::parse(&text).unwrap(), 20_000);
    assert!((found["always"] - 0.75).abs() < 0.0095, "{found:?}");
    assert!(!found.contains_key(OUTSIDE), "{found:?}");
}

#[test]
fn a_unit_keeps_its_arm_when_the_share_grows() {
    let stages =
        [0, 1, 2].map(|stage| plan(&format!("shares = [0.01, 0.1, 0.5]\nstage = {stage}")));
    let mut inside = 0;
    for index in 0..5000 {
        let name = format!("host-{index}");
        let unit = Unit {
            name: &name,
            cluster: &name,
            period: 0,
        };
        let arms = stages.each_ref().map(|it| it.rule.arm(&unit));
        inside += u32::from(arms[2] != OUTSIDE);
        for pair in arms.windows(2) {
            assert!(pair[0] == OUTSIDE || pair[0] == pair[1], "{arms:?}");
        }
    }
    assert!((2394..=2606).contains(&inside), "{inside}");
}

#[test]
fn experiments_with_a_common_salt_exclude_each_other() {
    let one = plan("band = {salt = \"memory\", from = 0, to = 0.5}");
    let text = PLAN.replace("name = \"always\"\nstarts", "name = \"never\"\nstarts");
    let other = format!("{text}band = {{salt = \"memory\", from = 0.5, to = 1}}");
    let other = Plan::parse(&other).unwrap();
    for index in 0..2000 {
        let name = format!("host-{index}");
        let unit = Unit {
            name: &name,
            cluster: &name,
            period: 0,
        };
        let outside = [&one, &other].map(|it| it.rule.arm(&unit) == OUTSIDE);
        assert_ne!(outside[0], outside[1], "{name}");
    }
}

#[test]
fn clusters_have_levels() {
    let plan = plan("unit = \"pod\"\nsaturation = [0, 0.5, 1]");
    let mut levels = BTreeMap::<_, u32>::new();
    for host in 0..600 {
        let cluster = format!("host-{host}");
        let treated = (0..20).filter(|pod| {
            let name = format!("pod-{host}-{pod}");
            let unit = Unit {
                name: &name,
                cluster: &cluster,
                period: 0,
            };
            plan.rule.arm(&unit) == "always"
        });
        let level = match treated.count() {
            0 => "none",
            20 => "all",
            _ => "half",
        };
        *levels.entry(level).or_default() += 1;
    }
    assert!(
        levels.values().all(|&it| (165..=235).contains(&it)),
        "{levels:?}"
    );
}

#[test]
fn a_switchback_has_both_arms_in_each_pair() {
    let plan = plan("switchback = {washout = \"5m\"}");
    let mut first = 0;
    for pair in 0..200 {
        let arm = |period| {
            plan.rule.arm(&Unit {
                name: "host",
                cluster: "host",
                period,
            })
        };
        assert_ne!(arm(2 * pair), arm(2 * pair + 1));
        first += u32::from(arm(2 * pair) == "always");
    }
    assert!((79..=121).contains(&first), "{first}");
}

#[test]
fn what_is_wrong_is_named() {
    for (more, words) in [
        ("stage = 1", "the last stage is 0"),
        ("shares = [0.5, 0.1]", "must grow"),
        ("shares = [2]", "above 0 and up to 1"),
        ("saturation = [0, 1]", "units that share a host"),
        ("switchback = {washout = \"1h\"}", "shorter than `period`"),
        ("period = \"an hour\"", "is not a duration"),
        ("lease = \"1m\"", "no shorter"),
        ("bands = 1", "unknown field"),
        ("band = {salt = \"a b\", from = 0, to = 1}", "is no name"),
    ] {
        let error = Plan::parse(&format!("{PLAN}{more}")).unwrap_err();
        assert!(error.contains(words), "{more}: {error}");
    }
    let error = Plan::parse(&PLAN.replace("thp=always", "thp=sometimes")).unwrap_err();
    assert!(error.contains("thp=sometimes"), "{error}");
}
