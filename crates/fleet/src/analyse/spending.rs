//! How the error of an experiment is spent over its looks.
//!
//! Each stage is a look, and spends as much of the error as it adds to the units (Kim and DeMets,
//! Biometrika 74, 1987, with exponent 1). Parts are added and not combined by the correlation of the
//! looks: that holds for p-values by draws and after Holm too, whatever the units do between the
//! looks, and costs the last of three looks at 1, 10 and 50 % four levels in a hundred.

use crate::plan::Plan;
use hugewise_experiment::run::stats::ALPHA;

/// What each look may spend.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// Of each look its part of the error; they add up to 1.
    parts: Vec<f64>,
}

impl Spending {
    /// So many looks, of which nothing is known: equal parts.
    #[must_use]
    pub fn equal(looks: u32) -> Self {
        let looks = looks.max(1);
        Self {
            parts: vec![1.0 / f64::from(looks); looks as usize],
        }
    }

    /// A look after each stage of a plan, by the units that it adds.
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

    /// Number of looks.
    #[must_use]
    pub fn looks(&self) -> u32 {
        u32::try_from(self.parts.len()).unwrap_or(u32::MAX)
    }

    /// The error that the look after a stage may make, from 0; beyond the last none is left.
    #[must_use]
    pub fn level(&self, stage: u32) -> f64 {
        let part = self.parts.get(stage as usize);
        ALPHA * part.copied().unwrap_or(0.0)
    }

    /// The error of a look for a guardrail: the same at each, because one that waits for the last
    /// stage guards nothing.
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
