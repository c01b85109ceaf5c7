//! The program keeps huge pages from its own memory, whatever the policy.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::{Context, Found, Kind, Outcome};
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::Settings;
use crate::run::policy::realise::Tracer;
use crate::run::record::Record;
use crate::run::trial::{OwnAct, Trial};

/// A program that keeps huge pages from its own memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ProgramDisablesThp {
    /// The name of the process.
    pub process: String,
    /// Its program.
    pub program: String,
    /// The share of anonymous memory with `MADV_NOHUGEPAGE`; `None` when it called `prctl(PR_SET_THP_DISABLE)`.
    pub advised_against_share: Option<f64>,
    /// The setting that leaves huge pages on, when one is known.
    pub remedy: Option<String>,
    /// Trials in which this was seen and all trials, by arm.
    pub trials: BTreeMap<String, [usize; 2]>,
    /// Arms that set something and did not reach it.
    pub in_vain: Vec<String>,
    /// Huge pages from before it switched them off, in bytes by arm.
    pub earlier_huge_bytes: BTreeMap<String, f64>,
}

pub(in super::super) fn check(context: &Context<'_>) -> Vec<Found> {
    let record = context.record;
    let policies = context.policies().iter().map(|policy| policy.name.as_str());
    let shut: Vec<&str> = policies.filter(|arm| is_shut_out(record, arm)).collect();
    let first = shut.iter().find_map(|arm| acts(record, arm).next());
    let found = first.map(|act| (None, Outcome::Shown, kind(context, act, &shut)));
    found.into_iter().collect()
}

fn kind(context: &Context<'_>, act: OwnAct<'_>, shut: &[&str]) -> Kind {
    let record = context.record;
    let trials = |arm: &str| [acts(record, arm).count(), arm_trials(record, arm).count()];
    let process = act.process();
    let sets = |arm: &&&str| context.settings(arm) != Settings::default();
    let earlier = |arm: &&str| {
        let bytes = context.medians.get(arm, MetricId::HugeAnonPeakBytes).ok()?;
        let is_switch = matches!(act, OwnAct::SwitchedOff(_));
        (is_switch && bytes > 0.0).then(|| ((*arm).to_owned(), bytes))
    };
    Kind::ProgramDisablesThp(ProgramDisablesThp {
        process: process.name.clone(),
        program: process.program.clone(),
        advised_against_share: match act {
            OwnAct::SwitchedOff(_) => None,
            OwnAct::AdvisedAgainst { bytes, of, .. } => Some(bytes as f64 / of.max(1) as f64),
        },
        remedy: act.remedy(),
        trials: shut
            .iter()
            .map(|arm| ((*arm).to_owned(), trials(arm)))
            .collect(),
        in_vain: shut
            .iter()
            .filter(sets)
            .map(|arm| (*arm).to_owned())
            .collect(),
        earlier_huge_bytes: shut.iter().filter_map(earlier).collect(),
    })
}

/// Returns true when the program kept huge pages from its memory under an arm, or under the baseline beside it.
///
/// Without an arm, any of them counts.
pub(in super::super) fn is_vain(context: &Context<'_>, arm: Option<&str>) -> bool {
    let mut policies = context.policies().iter().map(|policy| policy.name.as_str());
    let baseline = context.baseline();
    let speaks_of = |other: &str| arm.is_none_or(|arm| arm == other || other == baseline);
    policies.any(|other| speaks_of(other) && is_shut_out(context.record, other))
}

/// Returns true when the program kept huge pages from its memory in most trials of an arm.
fn is_shut_out(record: &Record, arm: &str) -> bool {
    let looked = |trial: &&Trial| trial.read_back.tree.is_some();
    let looked = arm_trials(record, arm).filter(looked).count();
    2 * acts(record, arm).count() > looked
}

fn acts<'a>(record: &'a Record, arm: &str) -> impl Iterator<Item = OwnAct<'a>> {
    let realisation = record.header.realisations.get(arm);
    // These are acts of the policy: a tracer keeps other sites small, a setting of the allocator all memory.
    let is_chosen =
        realisation.is_some_and(|it| matches!(it.tracer, Tracer::Sites(_)) || it.asks_for_none());
    let trials = arm_trials(record, arm).filter(move |_| !is_chosen);
    trials.filter_map(|trial| trial.read_back.own_act())
}
