//! The number of runs of each arm in a round.

use serde::{Deserialize, Serialize};

use super::Plan;

/// The distribution of a round's runs over the policies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// Each policy runs once. The baseline runs twice, and all policies share it.
    #[default]
    Shared,
    /// The same while several policies run. If one policy is left, it and the baseline run equally often: three times
    /// each in the first round, twice in each other.
    Even,
}

/// How often the arms run in one round; the baseline runs once more than its control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Runs {
    pub(super) policy: usize,
    pub(super) control: usize,
}

/// Runs of each arm in the first round of one policy, and in each other.
const FIRST: usize = 3;
const LATER: usize = 2;

impl Blocks {
    /// The distribution of the first round, if it has so many policies.
    #[must_use]
    pub fn of_first_round(self, policies: usize) -> Self {
        match policies {
            0..=2 => self,
            _ => Self::Shared,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub(super) fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

impl Plan {
    /// The number of runs of each arm in a round with these policies, by their indices.
    pub(super) fn runs_of_each(&self, round: u32, run: &[usize]) -> Runs {
        let names = run.iter().map(|&policy| &self.policies[policy].name);
        let others = names.filter(|name| !self.is_baseline(name)).count();
        let each = match (self.blocks, others, round) {
            (Blocks::Even, 1, 0) => FIRST,
            (Blocks::Even, 1, _) => LATER,
            _ => {
                return Runs {
                    policy: 1,
                    control: 1,
                };
            }
        };
        Runs {
            policy: each,
            control: each - 1,
        }
    }
}
