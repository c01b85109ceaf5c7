//! The experiment inside the servers of a record: periods of huge and small pages while a server is under load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Header, Record};
use crate::run::plan::Plan;
use crate::run::policy::realise::Realisation;

/// The begin of the experiment inside the servers.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// Its plan; each trial is a period.
    pub plan: Plan,
}

impl Record {
    /// Begins the experiment inside the servers, in another record of the same machine.
    pub fn begin_inside(&mut self, inside: Inside) {
        let header = Header {
            realisations: live_realisations(&inside.plan),
            plan: inside.plan,
            ..self.header.clone()
        };
        self.inside = Some(Box::new(Self::begin(header)));
    }
}

/// How the policies of a switchback are reached: nothing is set, because their pages are switched from outside.
#[must_use]
pub fn live_realisations(plan: &Plan) -> BTreeMap<String, Realisation> {
    let policies = plan.policies.iter();
    policies
        .map(|policy| (policy.name.clone(), Realisation::default()))
        .collect()
}
