//! Claims that a policy was not in force in some trials.

use std::collections::BTreeSet;

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::base::host::ThpDisable;
use crate::run::compare::medians::arm_trials;
use crate::run::policy::realise::{Realisation, ThpPrctl};
use crate::run::trial::{Mark, Trial};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct PolicyNotApplied;

impl Rule for PolicyNotApplied {
    fn id(&self) -> &'static str {
        "policy-not-applied"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy was not in force in some trials, so that these are trials of something \
         else. Evidence: what was read back while the workload ran differs from what was set: a \
         settings file, the per-process switch, a limit of its cgroup, its memory nodes, or the \
         allocator in its memory. Refuted only by a fault in the reading back. Next: see who else writes the settings \
         (tuned, a container runtime, another experiment), and whether the program is static or \
         setuid, where LD_PRELOAD does nothing."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let record = view.context.record;
    let realisation = record.header.realisations.get(view.policy);
    let mut trials = 0_usize;
    let (mut wrong, mut read) = (0_usize, 0_usize);
    let mut details = BTreeSet::new();
    for trial in arm_trials(record, view.policy) {
        let found: Vec<String> = differences(trial, realisation).collect();
        trials += 1;
        wrong += usize::from(!found.is_empty());
        read += usize::from(realisation.is_some_and(|set| was_read_back(trial, set)));
        details.extend(found);
    }
    view.evidence.figure("trials", trials);
    view.evidence.figure("trials_read_back", read);
    view.evidence.figure("trials_not_applied", wrong);
    let can_be_read = realisation.is_some_and(can_be_read_back);
    Ok(match (trials, details.first()) {
        (0, _) => Claim::Nothing,
        (_, None) if !can_be_read => Claim::Nothing,
        (_, None) if read == 0 => Claim::CannotTell(format!(
            "{}: it is unknown whether it was in force. It could be read back in none of {trials} trials",
            view.policy
        )),
        (_, None) => Claim::NotShown(format!(
            "{}: it was in force. {read} of {trials} trials were read back, all as set",
            view.policy
        )),
        (_, Some(first)) => Claim::Shown(format!(
            "{}: not in force in {wrong} of {trials} trials. The first difference: {first}",
            view.policy
        )),
    })
}

/// Whether a policy sets anything that can be seen from outside; a variable cannot.
fn can_be_read_back(set: &Realisation) -> bool {
    let of_program = set.prctl != ThpPrctl::Leave
        || set.preload.is_some()
        || set.library.is_some()
        || set.numa.is_some();
    !set.files.is_empty() || !set.limits.is_none() || of_program
}

/// Whether everything that a policy sets, and that can be read, was read back.
fn was_read_back(trial: &Trial, set: &Realisation) -> bool {
    let read = &trial.read_back;
    set.files
        .iter()
        .all(|file| read.files.contains_key(&file.path))
        && (set.prctl == ThpPrctl::Leave || read.thp_disable.is_some())
        && (set.preload.is_none() || read.allocator.is_some())
        && (set.limits.is_none() || read.cgroup.is_some())
        && (set.numa.is_none() || read.numa.is_some())
        && (set.library.is_none() || read.library.is_some())
}

fn differences<'t>(
    trial: &'t Trial,
    realisation: Option<&'t Realisation>,
) -> impl Iterator<Item = String> + 't {
    let marked = trial.marks.iter().filter_map(|mark| match mark {
        Mark::NotApplied { detail } => Some(detail.clone()),
        _ => None,
    });
    let read_back = realisation
        .into_iter()
        .flat_map(|r| files(trial, r).chain(switch(trial, r)));
    marked.chain(read_back)
}

fn files<'t>(trial: &'t Trial, set: &'t Realisation) -> impl Iterator<Item = String> + 't {
    set.files.iter().filter_map(|file| {
        let found = trial.read_back.files.get(&file.path)?;
        let differs = *found != file.value;
        differs.then(|| format!("/{} was {found} instead of {}", file.path, file.value))
    })
}

fn switch(trial: &Trial, set: &Realisation) -> Option<String> {
    let found = trial.read_back.thp_disable?;
    let wanted = match set.prctl {
        ThpPrctl::Leave => return None,
        ThpPrctl::Clear => ThpDisable::Off,
        ThpPrctl::Disable => ThpDisable::Disabled,
        ThpPrctl::ExceptAdvised => ThpDisable::ExceptAdvised,
    };
    let differs = found != wanted;
    differs.then(|| {
        format!(
            "PR_GET_THP_DISABLE was `{}` instead of `{}`",
            word(found),
            word(wanted)
        )
    })
}

/// As the record has it.
fn word(switch: ThpDisable) -> &'static str {
    match switch {
        ThpDisable::Off => "off",
        ThpDisable::Disabled => "disabled",
        ThpDisable::ExceptAdvised => "except_advised",
    }
}
