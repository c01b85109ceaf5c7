//! Re-randomisation by the rule of the plan: each draw is another salt, which gives every unit a new arm.

use std::cell::OnceCell;
use std::rc::Rc;

use super::estimate::Sample;
use super::randomisation_test::{Draws, Lot};
use super::tally::Unit;
use crate::assign::{Rules, arm_name, rules};
use crate::plan::{Moment, Plan};

/// One arm against the control, in every draw.
#[derive(Debug)]
pub struct Redrawn<'a> {
    drawer: Rc<Drawer<'a>>,
    /// Index of the arm among those drawn together.
    arm: usize,
}

/// Salts tried until a unit has one of the two compared arms.
const SALTS: u32 = 64;
/// Draws kept for the next metric; few metrics need more.
const KEPT: usize = 999;

/// The sides of one draw, by arm and unit: true for that arm, false for the control.
type Sides = Vec<Vec<bool>>;

#[derive(Debug)]
struct Drawer<'a> {
    plan: &'a Plan,
    units: &'a [Unit],
    control: &'a str,
    treated: &'a [String],
    enrolled: Vec<bool>,
    rules: Rules,
    kept: Vec<OnceCell<Sides>>,
}

impl<'a> Redrawn<'a> {
    /// Returns the draws for each of `treated` against `control`, in that order. `units` are those of the tally, and
    /// the rules of the plan are those at `now`. Enrolment does not change.
    ///
    /// Hashes are the expensive part, so all arms are drawn together. One pass over the salts shows for each arm
    /// whether it comes before the control.
    #[must_use]
    pub fn of_plan(
        plan: &'a Plan,
        units: &'a [Unit],
        control: &'a str,
        treated: &'a [String],
        now: Moment,
    ) -> Vec<Self> {
        let all = rules(plan, now);
        let drawer = Rc::new(Drawer {
            plan,
            units,
            control,
            treated,
            enrolled: units.iter().map(|it| all.enrols(plan, &it.name)).collect(),
            rules: all.of_enrolled(),
            kept: vec![OnceCell::new(); KEPT],
        });
        let arms = 0..treated.len();
        arms.map(|arm| Self {
            drawer: Rc::clone(&drawer),
            arm,
        })
        .collect()
    }
}

impl Drawer<'_> {
    fn draw(&self, number: u32) -> Sides {
        let mut plans: Vec<Plan> = Vec::new();
        let mut all: Sides = vec![Vec::with_capacity(self.units.len()); self.treated.len()];
        for (unit, enrolled) in self.units.iter().zip(&self.enrolled) {
            let salts = if *enrolled { SALTS } else { 0 };
            let sides = self.sides(unit, number, salts, &mut plans);
            for (arm, side) in all.iter_mut().zip(sides) {
                arm.push(side);
            }
        }
        all
    }

    /// The side of the unit for each arm: true if treated. Each arm is compared only with the control.
    fn sides(&self, unit: &Unit, number: u32, salts: u32, plans: &mut Vec<Plan>) -> Vec<bool> {
        let mut sides: Vec<Option<bool>> = vec![None; self.treated.len()];
        for salt in 0..salts {
            if plans.len() <= salt as usize {
                plans.push(self.salted(number, salt));
            }
            let plan = &plans[salt as usize];
            let name = arm_name(plan, self.rules.rule_of(plan, &unit.name).arm);
            for (side, treated) in sides.iter_mut().zip(self.treated) {
                if side.is_none() && (name == treated || name == self.control) {
                    *side = Some(name == treated);
                }
            }
            if sides.iter().all(Option::is_some) {
                break;
            }
        }
        let kept = |(side, treated): (Option<bool>, &String)| side.unwrap_or(unit.arm == *treated);
        sides.into_iter().zip(self.treated).map(kept).collect()
    }

    fn salted(&self, number: u32, salt: u32) -> Plan {
        Plan {
            salt: Some(self.plan.enrol_salt().to_owned()),
            name: format!("{}#{number}.{salt}", self.plan.name),
            ..self.plan.clone()
        }
    }
}

impl Lot for Redrawn<'_> {
    fn over<'a>(&'a self, sample: &'a Sample) -> Draws<'a> {
        let of = |sides: &Sides| {
            let units = sample.unit.iter();
            units.map(|&unit| sides[self.arm][unit]).collect()
        };
        Box::new(
            move |number| match self.drawer.kept.get(number as usize - 1) {
                Some(kept) => of(kept.get_or_init(|| self.drawer.draw(number))),
                None => of(&self.drawer.draw(number)),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tally;
    use super::*;
    use crate::assign::{OUTSIDE, assign};
    use crate::simulate::Fleet;

    const NOW: Moment = Moment(1_000);
    const PLAN: &str = "name = 'simulated'\nuntil = 2000\nband = [0.1, 0.9]\n\
        stages = [{share = 0.8}]\nstage = 0\n\
        [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
        [[arm]]\nname = 'treated'\npolicy = 'thp=never'\nweight = 2\n\
        [[arm]]\nname = 'third'\npolicy = 'thp=always'\n";

    fn units() -> Vec<Unit> {
        let mut tally = Tally::new(None);
        for row in Fleet::quiet().rows(1) {
            tally.add(&row).expect("a row of an agent");
        }
        tally.units
    }

    /// A literal implementation of the method, for one unit and one arm at a time.
    fn side(plan: &Plan, unit: &Unit, treated: &str, number: u32) -> bool {
        for salt in 0..SALTS {
            let salted = Plan {
                salt: Some(plan.name.clone()),
                name: format!("{}#{number}.{salt}", plan.name),
                ..plan.clone()
            };
            match assign(&salted, &unit.name, NOW).arm {
                arm if arm == treated => return true,
                arm if arm == "control" => return false,
                _ => {}
            }
        }
        unit.arm == treated
    }

    #[test]
    fn arms_that_are_drawn_together_are_those_of_each_alone() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let (units, treated) = (units(), ["third", "treated"].map(str::to_owned));
        let outside = |unit: &&Unit| assign(&plan, &unit.name, NOW).arm == OUTSIDE;
        let left = units.iter().filter(outside).count();
        assert!((10..50).contains(&left), "{left}");
        let sample = Sample {
            unit: (0..units.len()).collect(),
            ..Sample::default()
        };
        let lots = Redrawn::of_plan(&plan, &units, "control", &treated, NOW);
        for (lot, treated) in lots.iter().zip(&treated) {
            for number in [1, 2, 999, 1000] {
                let alone = units.iter().map(|it| side(&plan, it, treated, number));
                assert_eq!(lot.over(&sample)(number), alone.collect::<Vec<_>>());
            }
            let drawn = lot.over(&sample)(1);
            assert!(drawn.contains(&true) && drawn.contains(&false));
        }
    }
}
