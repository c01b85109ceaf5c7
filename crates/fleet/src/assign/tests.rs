use super::*;

const NOW: Moment = Moment(1_795_239_959);

fn plan(rest: &str) -> Plan {
    let text = format!(
        "name = 'thp'\nsalt = 'memory'\nuntil = 1900000000\n{rest}\n\
         [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
         [[arm]]\nname = 'never'\npolicy = 'thp=never'\n"
    );
    text.parse().expect(rest)
}

fn units() -> impl Iterator<Item = String> {
    (0..20_000).map(|at| format!("rack{}/host-{at}", at % 500))
}

fn arms(plan: &Plan, now: Moment) -> Vec<Assignment> {
    units().map(|unit| assign(plan, &unit, now)).collect()
}

/// Returns true if a count of n units is within five standard deviations of its share.
fn is_share(count: usize, n: usize, share: f64) -> bool {
    let (count, n) = (count as f64, n as f64);
    (count - n * share).abs() <= 5.0 * (n * share * (1.0 - share)).sqrt() + 1e-9
}

fn count(all: &[Assignment], arm: &str) -> usize {
    all.iter().filter(|it| it.arm == arm).count()
}

#[test]
fn a_hash_is_that_of_any_sha256() {
    // printf memory/enrol/web-1 | sha256sum
    assert_eq!(hash("memory", Draw::Enrol, "web-1"), "879c7285ce89d");
}

#[test]
fn thresholds_are_compared_as_text() {
    assert_eq!(Threshold::of(0.0).to_string(), "0000000000000");
    assert_eq!(Threshold::of(0.5).to_string(), "8000000000000");
    assert!("fffffffffffff" < Threshold::of(1.0).0.as_str());
}

#[test]
fn a_growing_stage_keeps_every_unit_in_its_arm() {
    let text = |stage| {
        format!("band = [0.2, 0.9]\nstages = [{{share = 0.1}}, {{share = 0.5}}]\nstage = {stage}")
    };
    let (small, large) = (arms(&plan(&text(0)), NOW), arms(&plan(&text(1)), NOW));
    let inside = |all: &[Assignment]| all.len() - count(all, OUTSIDE);
    assert!(is_share(inside(&small), small.len(), 0.07));
    assert!(is_share(inside(&large), large.len(), 0.35));
    for (small, large) in small.iter().zip(&large) {
        assert!(small.arm == OUTSIDE || small.arm == large.arm, "{small:?}");
    }
}

#[test]
fn a_shared_salt_and_bands_apart_never_meet() {
    let low = arms(&plan("band = [0, 0.4]"), NOW);
    let high = arms(&plan("band = [0.4, 1]"), NOW);
    let meet = low.iter().zip(&high);
    let both = meet.filter(|(low, high)| (low.arm == OUTSIDE) == (high.arm == OUTSIDE));
    assert_eq!(both.count(), 0);
}

#[test]
fn arms_of_experiments_with_one_salt_are_independent() {
    let one = plan("");
    let other = Plan {
        name: "other".to_owned(),
        ..one.clone()
    };
    let pairs: Vec<_> = arms(&one, NOW).into_iter().zip(arms(&other, NOW)).collect();
    let both = pairs
        .iter()
        .filter(|(a, b)| a.arm == "never" && b.arm == "never");
    assert!(is_share(both.count(), pairs.len(), 0.25));
}

#[test]
fn clusters_have_the_saturation_that_they_draw() {
    let all = arms(&plan("saturation = [0, 0.5, 1]"), NOW);
    for level in [0.0, 0.5, 1.0] {
        let of_level: Vec<_> = all
            .iter()
            .filter(|it| it.saturation == Some(level))
            .collect();
        let treated = of_level.iter().filter(|it| it.arm == "never").count();
        assert!(
            !of_level.is_empty() && is_share(treated, of_level.len(), level),
            "{level}"
        );
    }
    let clusters: std::collections::BTreeMap<_, _> =
        all.iter().map(|it| (&it.cluster, it.saturation)).collect();
    assert!(all.iter().all(|it| clusters[&it.cluster] == it.saturation));
}

#[test]
fn each_pair_of_turns_has_both_arms() {
    let plan = plan("starts = 1795000000\nswitchback = {turn = '1h', washout = '10m'}");
    let at = |turn: i64| arms(&plan, Moment(1_795_000_000 + turn * 3600 + 60));
    let (first, second, third) = (at(0), at(1), at(2));
    assert!(first.iter().zip(&second).all(|(a, b)| a.arm != b.arm));
    let same = first.iter().zip(&third).filter(|(a, b)| a.arm == b.arm);
    assert!(is_share(same.count(), first.len(), 0.5));
}

#[test]
fn after_its_end_and_before_its_first_stage_a_plan_has_no_unit() {
    let plan = plan("stages = [{share = 1, starts = 1795239000}]");
    for now in [Moment(1_795_238_999), Moment(1_900_000_000)] {
        assert_eq!(count(&arms(&plan, now), OUTSIDE), 20_000);
    }
    assert_eq!(count(&arms(&plan, NOW), OUTSIDE), 0);
}
