//! How the error of an experiment is spent over its looks.
//!
//! Each stage is a look, and spends a part of the error in proportion to its added units (Kim and DeMets, Biometrika
//! 74, 1987, with exponent 1). The parts are summed, without using the correlation of the looks. This also holds for
//! p-values by draws and after Holm, whatever the units do between the looks. The cost is 4 % of the level of the last
//! of three looks at 1, 10 and 50 %.

use crate::plan::Plan;
use hugewise_experiment::run::stats::ALPHA;

/// The error of each look.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// The part of each look; the sum is 1.
    parts: Vec<f64>,
}

impl Spending {
    /// Equal parts for this many looks, if the looks are unknown.
    #[must_use]
    pub fn equal(looks: u32) -> Self {
        let looks = looks.max(1);
        Self {
            parts: vec![1.0 / f64::from(looks); looks as usize],
        }
    }

    /// A look after each stage of a plan, weighted by the added units.
    #[must_use]
    pub fn of_plan(plan: &Plan) -> Self {
        let shares: Vec<f64> = plan.stages.iter().map(|stage| stage.share).collect();
        let Some(all) = shares.last() else {
            return Self::equal(1);
        };
        let before = std::iter::once(0.0).chain(shares.iter().copied());
        let parts = shares.iter().zip(before);
        Self {
            parts: parts
                .map(|(share, before)| (share - before) / all)
                .collect(),
        }
    }

    /// The number of looks.
    #[must_use]
    pub fn looks(&self) -> u32 {
        u32::try_from(self.parts.len()).unwrap_or(u32::MAX)
    }

    /// The error of the look after a stage, counted from 0; zero beyond the last stage.
    #[must_use]
    pub fn level(&self, stage: u32) -> f64 {
        let part = self.parts.get(stage as usize);
        ALPHA * part.copied().unwrap_or(0.0)
    }

    /// The error of each look for a guardrail. It is equal for all looks, because a guardrail must be able to stop
    /// early stages.
    #[must_use]
    pub fn harm_level(&self) -> f64 {
        ALPHA / f64::from(self.looks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_spends_what_it_adds() {
        let text = "name = 'x'\nuntil = 1\nstages = [{share = 0.01}, {share = 0.1}, {share = 0.5}]\n\
            stage = 0\n[[arm]]\nname = 'a'\npolicy = 'as-is'\n\
            [[arm]]\nname = 'b'\npolicy = 'thp=never'";
        let plan: Plan = text.parse().expect("a plan");
        let spending = Spending::of_plan(&plan);
        for (stage, level) in [(0, 0.001), (1, 0.009), (2, 0.04), (3, 0.0)] {
            assert!((spending.level(stage) - level).abs() < 1e-12, "{stage}");
        }
        assert!((spending.harm_level() - 0.05 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn looks_of_which_nothing_is_known_share_alike() {
        assert!((Spending::equal(4).level(3) - 0.0125).abs() < 1e-12);
        assert!((Spending::equal(0).level(0) - 0.05).abs() < 1e-12);
    }
}
