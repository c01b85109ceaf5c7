//! Units by arm: how often fleets drawn by a rule are mistaken for others.

use super::{Fleet, MANY, SimulatedAssignment, each, percent, room, tally};
use crate::Row;
use crate::analyse::Tally;
use crate::analyse::loss::{ALARM, Loss};
use crate::analyse::shares::Shares;
use crate::assign::{OUTSIDE, assign};
use crate::plan::{Moment, Plan};
use hugewise_experiment::run::stats::ALPHA;

const NOW: Moment = Moment(1_000);
const EVEN: &str = "[[arm]]\nname = 'control'\npolicy = 'as-is'\n\
    [[arm]]\nname = 'treated'\npolicy = 'thp=never'\n";
const UNEVEN: &str = "[[arm]]\nname = 'control'\npolicy = 'as-is'\nweight = 8\n\
    [[arm]]\nname = 'treated'\npolicy = 'thp=never'\n\
    [[arm]]\nname = 'third'\npolicy = 'thp=always'\n";

/// A rule that assigns the arms of units.
struct Design {
    what: &'static str,
    /// The plan's further fields besides name and end, as TOML. Without a plan, whole hosts have equal chances.
    plan: Option<(&'static str, &'static str)>,
    units: fn() -> Vec<String>,
}

const DESIGNS: [Design; 7] = [
    Design {
        what: "60 hosts",
        plan: Some(("", EVEN)),
        units: || named(60, |host| vec![format!("web-{host}")]),
    },
    Design {
        what: "30 whole hosts of two units, no plan",
        plan: None,
        units: || {
            named(30, |host| {
                (0..2).map(|unit| format!("web-{host}/{unit}")).collect()
            })
        },
    },
    Design {
        what: "30 whole hosts of one to nine units, no plan",
        plan: None,
        units: || {
            let of = |host: usize| 1 + host * host % 9;
            named(30, |host| {
                (0..of(host))
                    .map(|unit| format!("web-{host}/{unit}"))
                    .collect()
            })
        },
    },
    Design {
        what: "half of 200 hosts of a band, in racks that are clusters",
        plan: Some((
            "band = [0.1, 0.9]\nstages = [{share = 0.6}]\nstage = 0\n",
            EVEN,
        )),
        units: || {
            named(50, |rack| {
                (0..4)
                    .map(|host| format!("rack{rack}/web-{host}"))
                    .collect()
            })
        },
    },
    Design {
        what: "120 hosts in shares of 80, 10 and 10 %",
        plan: Some(("", UNEVEN)),
        units: || named(120, |host| vec![format!("web-{host}")]),
    },
    Design {
        what: "20 hosts of five services",
        plan: Some(("unit = 'service'\n", EVEN)),
        units: || {
            named(20, |host| {
                (0..5).map(|it| format!("service{it}@web-{host}")).collect()
            })
        },
    },
    Design {
        what: "30 hosts of six pods, of which none, half or all are treated",
        plan: Some(("unit = 'pod'\nsaturation = [0, 0.5, 1]\n", EVEN)),
        units: || {
            named(30, |host| {
                (0..6).map(|pod| format!("web-{host}/pod-{pod}")).collect()
            })
        },
    },
];

fn named(clusters: usize, of: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    (0..clusters).flat_map(of).collect()
}

impl Design {
    fn plan_of(&self, seed: u64) -> Option<Plan> {
        let (rest, arms) = self.plan?;
        let text = format!("name = 'fleet-{seed}'\nuntil = 2000\n{rest}{arms}");
        Some(text.parse().expect("a plan"))
    }

    /// The fleet of a seed: one row per unit.
    fn tally(&self, seed: u64, plan: Option<&Plan>) -> Tally {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut tally, mut host, mut treated) = (Tally::new(None), String::new(), false);
        let shape = Fleet::quiet().rows(0).remove(0);
        for unit in (self.units)() {
            let cluster = match plan {
                Some(plan) => plan.unit.cluster(&unit),
                None => unit.split('/').next().unwrap_or(&unit),
            };
            if host != cluster {
                (host, treated) = (cluster.to_owned(), random.bool());
            }
            let arm = match plan {
                Some(plan) => assign(plan, &unit, NOW).arm,
                None => super::ARMS[usize::from(treated)].to_owned(),
            };
            if arm != OUTSIDE {
                let cluster = host.clone();
                let row = Row {
                    unit,
                    cluster,
                    arm,
                    ..shape.clone()
                };
                tally.add(&row).expect("a row of an agent");
            }
        }
        tally
    }

    /// p-value of its units by arm.
    fn p(&self, seed: u64) -> f64 {
        let plan = self.plan_of(seed);
        let units = self.tally(seed, plan.as_ref()).units;
        let shares = match &plan {
            Some(plan) => Shares::planned(&units, plan),
            None => Shares::even(&units),
        };
        // A fleet whose hosts all drew the same arm cannot be compared.
        shares.p().unwrap_or(1.0)
    }

    /// Shares of fleets with a p-value below 5 %, and below the alarm level.
    fn alarms(&self, of: u32) -> [f64; 2] {
        let p = each(0..of.into(), |seed| self.p(seed));
        [ALPHA, ALARM].map(|level| p.iter().filter(|p| **p <= level).count() as f64 / f64::from(of))
    }
}

#[test]
fn units_that_the_rule_drew_are_as_planned() {
    for design in DESIGNS {
        let [wrong, forbidden] = design.alarms(200);
        let (what, most) = (design.what, ALPHA + room(ALPHA, 200.0));
        assert!(
            wrong <= most && forbidden <= 0.01,
            "{what}: {wrong}, {forbidden}"
        );
    }
}

#[test]
fn units_that_another_rule_drew_are_not() {
    let design = &DESIGNS[4];
    let units = design.tally(1, design.plan_of(1).as_ref()).units;
    let text = format!(
        "name = 'fleet-1'\nuntil = 2000\n{}",
        UNEVEN.replace("weight = 8", "")
    );
    let p = Shares::planned(&units, &text.parse().expect("a plan")).p();
    assert!(p.is_some_and(|p| p < ALARM), "{p:?}");
}

/// Hosts with six units each. One tenth of the hosts fails, whatever the arm.
fn p_of_hosts_that_went_down(rule: SimulatedAssignment, seed: u64) -> [f64; 2] {
    let fleet = Fleet {
        rule,
        units: 6,
        hosts: 40,
        ..Fleet::quiet()
    };
    let units = tally(&fleet, seed).units;
    let mut random = fastrand::Rng::with_seed(seed);
    let down: Vec<bool> = (0..fleet.hosts).map(|_| random.f64() < 0.1).collect();
    let lost: Vec<bool> = units.iter().map(|unit| down[unit.cluster]).collect();
    let mut counts = [[0, 0]; 2];
    for (unit, lost) in units.iter().zip(&lost) {
        let count = &mut counts[usize::from(unit.arm == super::ARMS[1])];
        count[0] += u64::from(*lost);
        count[1] += 1;
    }
    let shares = Shares::even(&units);
    let by_units = Loss::new("lost", counts[1], counts[0]).p;
    let by_clusters = match shares.draws_clusters() {
        true => shares.loss_p(&lost, [super::ARMS[1], super::ARMS[0]]),
        false => None,
    };
    [by_clusters.unwrap_or(by_units), by_units]
}

fn losses_by_chance(rule: SimulatedAssignment, level: f64, of: u32) -> [f64; 2] {
    let p = each(0..of.into(), |seed| p_of_hosts_that_went_down(rule, seed));
    [0, 1].map(|by| p.iter().filter(|p| p[by] <= level).count() as f64 / f64::from(of))
}

#[test]
fn whole_hosts_that_go_down_are_no_loss_of_an_arm() {
    let [by_clusters, by_units] = losses_by_chance(SimulatedAssignment::Hosts, ALPHA, 200);
    assert!(by_clusters <= ALPHA + room(ALPHA, 200.0), "{by_clusters}");
    assert!(by_units > 0.15, "{by_units}");
}

#[test]
#[ignore = "takes minutes; docs/contributing.md names it"]
#[expect(
    clippy::disallowed_macros,
    reason = "its figures are what it is run for"
)]
fn ten_thousand_fleets_have_the_units_of_their_rule() {
    for design in DESIGNS {
        let [wrong, forbidden] = design.alarms(MANY);
        let what = design.what;
        println!(
            "| {what} | {MANY} | {} | {:.2} % |",
            percent(wrong),
            100.0 * forbidden
        );
        assert!(wrong <= ALPHA + room(ALPHA, MANY.into()), "{what}: {wrong}");
        assert!(
            forbidden <= ALARM + room(ALARM, MANY.into()),
            "{what}: {forbidden}"
        );
    }
    for (rule, what) in [
        (SimulatedAssignment::Hosts, "whole hosts"),
        (SimulatedAssignment::Units, "units"),
    ] {
        let [counted, by_units] = losses_by_chance(rule, ALPHA, MANY);
        println!(
            "| {what} | {MANY} | {} | {} |",
            percent(counted),
            percent(by_units)
        );
    }
}
