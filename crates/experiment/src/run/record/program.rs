//! The part of a record about one program.

use std::collections::BTreeMap;

use super::{ChangeOfMeans, Header, Record, Removal};
use crate::run::plan::{Plan, Program};
use crate::run::policy::Policy;
use crate::run::policy::realise::Realisation;
use crate::run::trial::Trial;

impl Record {
    /// The trials of one program, as a record of only this program under the policies. The numbers of trials and rounds
    /// stay.
    #[must_use]
    pub fn of_program(&self, program: &Program) -> Self {
        let own = |arm: &str| program.policy_of(arm).map(str::to_owned);
        let trials = |all: &[Trial]| -> Vec<Trial> {
            let own = all.iter().filter_map(|trial| {
                let policy = own(&trial.policy)?;
                Some(Trial {
                    policy,
                    ..trial.clone()
                })
            });
            own.collect()
        };
        let removals = self.removals.iter().filter_map(|removal| {
            let policy = own(&removal.policy)?;
            Some(Removal {
                policy,
                ..removal.clone()
            })
        });
        let changes = self.changes_of_means.iter().filter_map(|change| {
            let policy = own(&change.policy)?;
            Some(ChangeOfMeans {
                policy,
                ..change.clone()
            })
        });
        let realisations = self.header.realisations.iter();
        let realisations = realisations.filter_map(|(arm, it)| Some((own(arm)?, it.clone())));
        Self {
            header: self.header_of(program, realisations.collect()),
            trials: trials(&self.trials),
            cold: trials(&self.cold),
            removals: removals.collect(),
            changes_of_means: changes.collect(),
            continuations: self.continuations.clone(),
            inside: None,
            end: self.end.clone(),
            warnings: Vec::new(),
        }
    }

    fn header_of(&self, program: &Program, realisations: BTreeMap<String, Realisation>) -> Header {
        let plan = &self.header.plan;
        let policies = plan.policies.iter().filter_map(|arm| {
            Some(Policy {
                name: program.policy_of(&arm.name)?.to_owned(),
                ..arm.clone()
            })
        });
        Header {
            plan: Plan {
                command: program.command.clone(),
                programs: Vec::new(),
                policies: policies.collect(),
                baseline: plan.policy_of(&plan.baseline).to_owned(),
                not_tried: None,
                ..plan.clone()
            },
            realisations,
            ..self.header.clone()
        }
    }
}
