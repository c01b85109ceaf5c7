//! Simulated fleets with fixed seeds: what is planted is found, and nothing else.

use fastrand::Rng;

use super::{Analysis, DRAWS, Gathered, Verdict, analyse, drawing};
use crate::fleet::assign::assign;
use crate::fleet::plan::{Moment, Plan};
use crate::fleet::{Ending, Phase, Proof, Row, Sums};

const PLAN: &str = r#"
name = "trial"
until = 2026-12-15T00:00:00Z
starts = 2026-12-01T00:00:00Z
period = "1h"
[[arm]]
name = "control"
policy = "as-is"
[[arm]]
name = "always"
policy = "thp=always"
"#;

/// A fleet to simulate.
#[derive(Clone, Copy)]
struct Fleet {
    seed: u64,
    units: u32,
    /// Factor of the metric under the arm.
    effect: f64,
    /// Whether rows tell the units' own past.
    past: bool,
    /// Chance that a treated unit falls silent after its first period.
    lost: f64,
    /// Of the randomisation test; most simulations do without it.
    draws: u32,
}

const PLAIN: Fleet = Fleet {
    seed: 1,
    units: 60,
    effect: 1.0,
    past: false,
    lost: 0.0,
    draws: 0,
};

fn plan(name: &str) -> Plan {
    PLAN.replace("\"trial\"", &format!("\"{name}\""))
        .parse()
        .expect("a plan")
}

/// About normal, with variance 1.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

/// Units differ by 20 %, each by 3 % from period to period; a stratum is half as large again.
fn simulate(fleet: Fleet) -> Analysis {
    let plan = plan(&format!("trial-{}", fleet.seed));
    let mut rng = Rng::with_seed(fleet.seed);
    let mut rows = Gathered::default();
    for index in 0..fleet.units {
        let name = format!("host-{index}");
        let arm = assign(&plan, &name, Moment(plan.until.0 - 1)).arm;
        let large = index % 2 == 0;
        let own = 100.0 * (0.2 * normal(&mut rng)).exp() * if large { 1.5 } else { 1.0 };
        let treated = arm == "always";
        let silent = treated && rng.f64() < fleet.lost;
        for period in -4..8_i64 {
            let during = period >= 0;
            if (!during && !fleet.past) || (silent && period > 0) {
                continue;
            }
            let factor = if during && treated { fleet.effect } else { 1.0 };
            let mean = own * factor * (0.03 * normal(&mut rng)).exp();
            let row = Row {
                experiment: plan.name.clone(),
                plan: "0".repeat(16),
                unit: name.clone(),
                cluster: name.clone(),
                stratum: if large { "large" } else { "small" }.to_owned(),
                arm: arm.clone(),
                stage: 0,
                saturation: None,
                start: 1_796_083_200 + 3600 * period,
                seconds: 3600.0,
                phase: if during { Phase::During } else { Phase::Before },
                exposure: 1.0,
                proof: Proof::Proved,
                ending: Ending::Whole,
                metric: "p99_seconds".to_owned(),
                sums: Sums {
                    n: 10,
                    mean,
                    m2: 1.0,
                },
                histogram: None,
            };
            rows.add(&row, &plan.name);
        }
    }
    drawing(&plan, &rows, fleet.draws).expect("rows")
}

/// At most 5 % and three standard errors of 400 experiments.
#[test]
fn without_an_effect_hardly_any_is_shown() {
    let shown = (0..400).filter(|&seed| {
        let analysis = simulate(Fleet { seed, ..PLAIN });
        matches!(
            analysis.effects[0].verdict,
            Verdict::Higher | Verdict::Lower
        )
    });
    let shown = shown.count();
    assert!(shown <= 33, "{shown} of 400");
}

/// At least 95 % less three standard errors of 300 experiments.
#[test]
fn the_interval_contains_what_is_planted() {
    let inside = (0..300).filter(|&seed| {
        let analysis = simulate(Fleet {
            seed,
            effect: 0.95,
            past: true,
            ..PLAIN
        });
        let effect = &analysis.effects[0];
        effect.low <= -0.05 && -0.05 <= effect.high
    });
    let inside = inside.count();
    assert!(inside >= 274, "{inside} of 300");
}

/// The past of a unit foretells most of what it does: 5 % of 60 units are found, and by the rule.
#[test]
fn the_past_makes_small_effects_visible() {
    let without = simulate(Fleet {
        seed: 7,
        effect: 0.95,
        ..PLAIN
    });
    assert_eq!(
        without.effects[0].verdict,
        Verdict::NotDecided,
        "{without:?}"
    );
    let with = simulate(Fleet {
        seed: 7,
        effect: 0.95,
        past: true,
        draws: DRAWS,
        ..PLAIN
    });
    let effect = &with.effects[0];
    assert_eq!(effect.verdict, Verdict::Lower, "{effect:?}");
    assert!(effect.randomisation_p <= 0.005, "{effect:?}");
    assert!(
        effect.variance_left.is_some_and(|it| it < 0.1),
        "{effect:?}"
    );
}

/// The forecast of one experiment holds for those that follow: a rise of that size is found in
/// about 80 of 100.
#[test]
fn power_is_as_forecast() {
    let forecast = simulate(Fleet {
        seed: 3,
        past: true,
        ..PLAIN
    })
    .effects[0]
        .detectable;
    let found = (100..300).filter(|&seed| {
        let fleet = Fleet {
            seed,
            effect: 1.0 + forecast,
            past: true,
            ..PLAIN
        };
        simulate(fleet).effects[0].verdict == Verdict::Higher
    });
    let found = found.count();
    // The forecast is itself an estimate from 60 units; 10 % of its error are 7 points of power.
    assert!((130..=190).contains(&found), "{found} of 200 at {forecast}");
}

#[test]
fn units_that_fall_silent_raise_an_alarm() {
    let whole = simulate(Fleet { seed: 5, ..PLAIN });
    assert_eq!(whole.arms[1].lost_p, Some(1.0), "{whole:?}");
    let thinned = simulate(Fleet {
        seed: 5,
        lost: 0.5,
        ..PLAIN
    });
    assert!(
        thinned.arms[1].lost_p.is_some_and(|p| p < 0.001),
        "{thinned:?}"
    );
    let text = crate::text::to_text(&thinned.document(), &crate::text::Style::default());
    assert!(text.contains("fell silent"), "{text}");
}

/// Half of the treated units write nothing at all.
#[test]
fn units_that_never_write_raise_an_alarm() {
    let plan = plan("ratio");
    let mut rows = Gathered::default();
    for index in 0..200 {
        let name = format!("host-{index}");
        let arm = assign(&plan, &name, Moment(plan.until.0 - 1)).arm;
        if arm == "always" && index % 2 == 0 {
            continue;
        }
        let row = Row {
            experiment: plan.name.clone(),
            plan: String::new(),
            unit: name.clone(),
            cluster: name,
            stratum: String::new(),
            arm,
            stage: 0,
            saturation: None,
            start: 0,
            seconds: 60.0,
            phase: Phase::During,
            exposure: 1.0,
            proof: Proof::Proved,
            ending: Ending::Whole,
            metric: "p99_seconds".to_owned(),
            sums: Sums {
                n: 1,
                mean: 1.0,
                m2: 0.0,
            },
            histogram: None,
        };
        rows.add(&row, &plan.name);
    }
    let analysis = analyse(&plan, &rows).expect("rows");
    assert!(
        analysis.sample_ratio_p.is_some_and(|p| p < 0.001),
        "{analysis:?}"
    );
    assert_eq!(analysis.left_out[0].why, "the same value everywhere");
}
