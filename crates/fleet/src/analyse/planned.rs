//! Checks the rows against the plan: each unit must have its planned arm.

use super::tally::Tally;
use crate::assign::{arm_name, rules};
use crate::plan::{Moment, Plan};

/// A unit whose rows have an arm that differs from the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The name.
    pub unit: String,
    /// The arm of its first row.
    pub arm: String,
    /// Its planned arm at that time.
    pub planned: String,
}

/// Returns all units whose arm differs from the plan. Enrolment is not checked, because stages grow while rows are
/// written.
#[must_use]
pub fn misplaced(tally: &Tally, plan: &Plan) -> Vec<Misplaced> {
    let units = tally.units.iter().filter_map(|unit| {
        let rules = rules(plan, Moment(unit.first())).of_enrolled();
        let arm = rules.rule_of(plan, &unit.name).arm?;
        let planned = arm_name(plan, Some(arm));
        (planned != unit.arm).then(|| Misplaced {
            unit: unit.name.clone(),
            arm: unit.arm.clone(),
            planned: planned.to_owned(),
        })
    });
    units.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::assign;
    use crate::simulate::Fleet;

    fn plan(arms: [&str; 2], rest: &str) -> Plan {
        let arms = arms.map(|arm| format!("[[arm]]\nname = '{arm}'\npolicy = 'as-is'\n"));
        let text = format!(
            "name = 'simulated'\nuntil = 9000\n{rest}\n{}",
            arms.concat()
        );
        text.parse().expect("a plan")
    }

    /// Rows under the arms of a plan.
    fn tally(plan: &Plan) -> Tally {
        let mut tally = Tally::new(plan.turns());
        for mut row in Fleet::quiet().rows(1) {
            row.arm = assign(plan, &row.unit, Moment(row.start)).arm;
            tally.add(&row).expect("a row of an agent");
        }
        tally
    }

    #[test]
    fn rows_of_the_plan_have_its_arms_and_those_of_another_have_not() {
        for rest in ["", "starts = 600\nswitchback = {turn = '5m'}"] {
            let (own, swapped) = (
                plan(["control", "treated"], rest),
                plan(["treated", "control"], rest),
            );
            let tally = tally(&own);
            assert_eq!(misplaced(&tally, &own), []);
            assert_eq!(misplaced(&tally, &swapped).len(), tally.units.len());
        }
    }
}
