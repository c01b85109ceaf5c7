//! The arms of the experiment, with facts about their trials.

use super::Work;
use super::pages::{huge_bytes, more_huge_bytes};
use crate::run::answer::{Applied, Arm, ArmRole, Call, Mechanism, Pages};
use crate::run::cause::facts::{self, InForce};
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{PolicyAnswer, Why};
use crate::run::policy::Policy;
use crate::run::policy::Settings;
use crate::run::policy::realise::Realisation;

/// Every arm, the baseline first.
pub(super) fn arms(work: &Work<'_>) -> Vec<Arm> {
    let policies = &work.record().header.plan.policies;
    let baseline = policies.iter().filter(|it| it.name == work.baseline);
    let arms = baseline.chain(work.policies());
    arms.map(|policy| arm(work, policy)).collect()
}

fn arm(work: &Work<'_>, policy: &Policy) -> Arm {
    let record = work.record();
    let name = policy.name.as_str();
    let trials = || arm_trials(record, name);
    let ended = trials().filter(|trial| trial.succeeded()).count();
    let baseline = work.context.settings(work.baseline);
    let mut removals = record.removals.iter();
    let removal = removals.find(|removal| removal.policy == name);
    let mechanism = match record.header.plan.live {
        Some(_) => Mechanism::Switch,
        None => mechanism(record.header.realisations.get(name), policy),
    };
    Arm {
        name: name.to_owned(),
        role: role(work, policy),
        mechanism,
        mode: work.context.mode(name).to_owned(),
        pages_only: policy.settings.changes_pages_alone(&baseline),
        trials: [ended as u32, trials().count() as u32],
        pages: Pages {
            huge_bytes: huge_bytes(work.context, name),
            more_bytes: (name != work.baseline)
                .then(|| more_huge_bytes(work.context, name))
                .flatten(),
        },
        applied: applied(work, name),
        taken: facts::taken_by_chance(record, work.table(), name)
            .map(|it| [it.taken as u64, it.of as u64]),
        made_huge: facts::collapsed_later(record, name),
        huge_code: facts::huge_code(record, name),
        pool: facts::pool(record, name),
        means: facts::mechanism(record, work.table(), name),
        dropped: removal.map(|it| (it.round, it.why.clone())),
    }
}

fn role(work: &Work<'_>, policy: &Policy) -> ArmRole {
    let plan = &work.record().header.plan;
    if policy.name == work.baseline {
        ArmRole::Baseline
    } else if plan.is_overhead_control(&policy.name) && policy.settings.is_malloc_alone() {
        ArmRole::SmallPages
    } else if plan.is_overhead_control(&policy.name) {
        ArmRole::OverheadControl
    } else {
        ArmRole::Policy
    }
}

/// The scope of a policy's changes, the widest of all its settings.
pub(super) fn mechanism(realisation: Option<&Realisation>, policy: &Policy) -> Mechanism {
    match realisation {
        Some(it) if !it.files.is_empty() => Mechanism::Machine,
        Some(it) if it.is_traced() => Mechanism::Tracer,
        Some(it) if it.library.is_some() => Mechanism::Preload,
        _ if policy.settings == Settings::default() => Mechanism::Nothing,
        _ => Mechanism::Program,
    }
}

fn applied(work: &Work<'_>, policy: &str) -> Applied {
    match facts::in_force(work.record(), policy) {
        Some(InForce::Not(it)) => Applied::Not {
            trials: it.trials as u32,
            of: it.of as u32,
            detail: it.detail,
        },
        Some(InForce::ReadBack { read, .. }) => Applied::ReadBack(read as u32),
        _ => Applied::Unknown,
    }
}

/// The call for a policy with a reason instead of an answer.
pub(super) fn without_answer(
    work: &Work<'_>,
    policy: &str,
    answer: PolicyAnswer,
    why: &Why,
) -> Call {
    let why = why.clone();
    match (&why, answer) {
        (_, PolicyAnswer::NoEffect) => Call::SamePages(why),
        (Why::ReadBackDiffers { .. }, _) => {
            let mut acts = arm_trials(work.record(), policy);
            let act = acts.find_map(|trial| trial.read_back.own_act().map(|it| it.to_string()));
            Call::NotApplied(act.map_or(why, |act| Why::ProgramRefuses { act }))
        }
        (Why::EveryTrialFailed { .. }, _) => Call::Failed(why),
        _ => Call::NotRun(why),
    }
}
