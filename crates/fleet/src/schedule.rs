//! The duty of a unit at a point in time, and the next change.

use super::Phase;
use super::assign::rules;
use super::plan::{Moment, Plan};

/// The duty of a unit under a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Duty {
    /// The plan is over.
    Over,
    /// The unit has no arm.
    Outside,
    /// The unit has an arm.
    Arm(Part),
}

/// The part of a unit in an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Index of its arm.
    pub arm: usize,
    /// Index of the stage.
    pub stage: usize,
    /// Treated share of the cluster's units.
    pub saturation: Option<f64>,
    /// Before the arms begin, under the arm, or in the washout after a change of arm.
    pub phase: Phase,
}

/// Returns the duty of a unit at a point in time.
#[must_use]
pub fn duty(plan: &Plan, unit: &str, now: Moment) -> Duty {
    if now >= plan.until {
        return Duty::Over;
    }
    let rules = rules(plan, now);
    let rule = rules.rule_of(plan, unit);
    match (rule.arm, rules.stage) {
        (Some(arm), Some(stage)) => Duty::Arm(Part {
            arm,
            stage,
            saturation: rule.saturation,
            phase: phase(plan, now),
        }),
        _ => Duty::Outside,
    }
}

fn phase(plan: &Plan, now: Moment) -> Phase {
    if plan.starts.is_some_and(|starts| now < starts) {
        return Phase::Before;
    }
    match plan.turns() {
        Some(turns) if turns.is_washout(now) => Phase::Washout,
        _ => Phase::During,
    }
}

/// The next point in time at which the duty can change. No period extends beyond it.
#[must_use]
pub fn next_change(plan: &Plan, now: Moment) -> Moment {
    let stages = plan.stages.iter().filter_map(|stage| stage.starts);
    let fixed = stages.chain(plan.starts).filter(|&at| at > now);
    fixed
        .chain(turns(plan, now))
        .fold(plan.until, std::cmp::min)
}

fn turns(plan: &Plan, now: Moment) -> Vec<Moment> {
    let Some(turns) = plan.turns().filter(|turns| turns.starts <= now) else {
        return Vec::new();
    };
    let into = turns.into_turn(now);
    let edges = [turns.washout, turns.seconds];
    let later = edges.into_iter().filter(|&edge| edge > into);
    later.map(|edge| Moment(now.0 - into + edge)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rest: &str) -> Plan {
        let arms =
            "[[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";
        format!("name = 'x'\nuntil = 100000\n{rest}\n{arms}")
            .parse()
            .expect(rest)
    }

    fn phase_at(plan: &Plan, now: i64) -> Phase {
        match duty(plan, "u", Moment(now)) {
            Duty::Arm(part) => part.phase,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn before_its_start_a_unit_has_a_past_and_after_the_end_nothing() {
        let plan = plan("starts = 1000");
        assert_eq!(phase_at(&plan, 999), Phase::Before);
        assert_eq!(phase_at(&plan, 1000), Phase::During);
        assert_eq!(duty(&plan, "u", Moment(100_000)), Duty::Over);
        assert_eq!(next_change(&plan, Moment(5)), Moment(1000));
        assert_eq!(next_change(&plan, Moment(1000)), Moment(100_000));
    }

    #[test]
    fn a_turn_begins_with_its_washout() {
        let plan = plan("starts = 1000\nswitchback = {turn = '100s', washout = '10s'}");
        for (now, phase, next) in [
            (1000, Phase::Washout, 1010),
            (1009, Phase::Washout, 1010),
            (1010, Phase::During, 1100),
            (1199, Phase::During, 1200),
            (1200, Phase::Washout, 1210),
        ] {
            assert_eq!(phase_at(&plan, now), phase, "{now}");
            assert_eq!(next_change(&plan, Moment(now)), Moment(next), "{now}");
        }
    }

    #[test]
    fn a_plan_without_a_washout_has_none() {
        let plan = plan("starts = 0\nswitchback = {turn = '100s'}");
        assert_eq!(phase_at(&plan, 100), Phase::During);
        assert_eq!(next_change(&plan, Moment(100)), Moment(200));
    }
}
