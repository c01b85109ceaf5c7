//! The program as a factor: several command lines, each run under every policy.
//!
//! An *arm* is one program under one policy. The policies of such a plan are its arms, each with the settings of its
//! policy and a separate name. So code that works by policy works by arm.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::run::policy::Policy;
use crate::run::policy::matrix::MATRIX_LIMIT;

/// One of the compared programs.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name, without `:`.
    pub name: String,
    /// The program and its arguments, without a shell.
    pub command: Vec<String>,
}

/// The separator of program and policy in the name of an arm.
const BETWEEN: &str = ": ";

impl Program {
    /// The name of this program's arm under a policy.
    #[must_use]
    pub fn under(&self, policy: &str) -> String {
        format!("{}{BETWEEN}{policy}", self.name)
    }

    /// The policy of an arm; `None` if the arm belongs to another program.
    #[must_use]
    pub fn policy_of<'a>(&self, arm: &'a str) -> Option<&'a str> {
        arm.strip_prefix(&self.name)?.strip_prefix(BETWEEN)
    }
}

impl Plan {
    /// The program of an arm; `None` if one command is run under all policies.
    #[must_use]
    pub fn program_of(&self, arm: &str) -> Option<&Program> {
        let mut programs = self.programs.iter();
        programs.find(|program| program.policy_of(arm).is_some())
    }

    /// The original name of an arm's policy.
    #[must_use]
    pub fn policy_of<'a>(&self, arm: &'a str) -> &'a str {
        let mut programs = self.programs.iter();
        programs
            .find_map(|program| program.policy_of(arm))
            .unwrap_or(arm)
    }

    /// The original names of the policies, in the order of reports.
    #[must_use]
    pub fn own_policies(&self) -> Vec<&str> {
        let arms = self.policies.iter();
        let names = arms.map(|arm| self.policy_of(&arm.name));
        let mut seen = BTreeSet::new();
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns true if others are compared with this arm: a program under the policy of the baseline.
    #[must_use]
    pub fn is_baseline(&self, arm: &str) -> bool {
        self.policy_of(arm) == self.policy_of(&self.baseline)
    }

    /// The policies that run a second time in each round, as indices: the baseline; with programs, that of each program
    /// whose policies are compared.
    #[must_use]
    pub fn controls(&self) -> Vec<usize> {
        if self.policies.len() < 2 {
            return Vec::new();
        }
        let has_others = |program: &Program| {
            let arms = self.policies.iter();
            let own = arms.filter(|arm| program.policy_of(&arm.name).is_some());
            own.count() > 1
        };
        let compared = |arm: &str| self.program_of(arm).is_some_and(has_others);
        let arms = self.policies.iter().enumerate();
        let own = arms.filter(|(_, arm)| self.is_baseline(&arm.name) && compared(&arm.name));
        let own: Vec<usize> = own.map(|(index, _)| index).collect();
        match own.is_empty() {
            true => vec![self.baseline_index()],
            false => own,
        }
    }
}

/// Every program under every policy.
///
/// # Errors
/// Fails if there are more than [`MATRIX_LIMIT`].
pub fn arms(programs: &[Program], policies: &[Policy]) -> Result<Vec<Policy>, String> {
    let count = programs.len() * policies.len();
    if count > MATRIX_LIMIT {
        return Err(format!(
            "{} programs under {} policies are {count} trials a round; {MATRIX_LIMIT} is the most",
            programs.len(),
            policies.len()
        ));
    }
    let under = |program: &Program, policy: &Policy| Policy {
        name: program.under(&policy.name),
        ..policy.clone()
    };
    let arms = programs.iter().flat_map(|program| {
        let policies = policies.iter();
        policies.map(move |policy| under(program, policy))
    });
    Ok(arms.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_a_program_and_a_policy() {
        let program = Program {
            name: "new".to_owned(),
            command: vec!["./new".to_owned()],
        };
        let arm = program.under("big:thp=always");
        assert_eq!(arm, "new: big:thp=always");
        assert_eq!(program.policy_of(&arm), Some("big:thp=always"));
        assert_eq!(program.policy_of("newer: as-is"), None);
    }
}
