//! Claims how a difference in time is made up: user mode, each cause of kernel time that was
//! timed, the rest of kernel time, and what is neither.
//!
//! Evidence: the means, over the rounds, of the difference of each part between this policy and
//! the baseline. Means add up, medians do not. Where a mean and the verdict's estimate differ,
//! single trials carry much of the difference.
//! Refuted when threads run side by side, so that their times add up to more than the wall
//! time; the part that is neither then says so by its sign and size.
//! Next: trace a trial with `hugewise trace`, which shows single stalls instead of sums.

use std::collections::BTreeMap;

use super::ground::{Absent, Ground, Look, Said, label, told};
use super::{Finding, Rule};
use crate::compare::Change;
use crate::observation::{Role, Trial};
use crate::report::scale::MINUS;

/// See the module.
#[derive(Debug)]
pub(super) struct WhereTheTimeWent;

/// Parts of kernel time that may be timed. Waiting for locks is none: a thread that waits does
/// not use the processor. Copying on write, and faults at the whole, contain some of the others
/// and would count twice.
const CAUSES: [&str; 5] = [
    "direct_compaction_seconds",
    "direct_reclaim_seconds",
    "cgroup_reclaim_seconds",
    "zeroing_seconds",
    "split_seconds",
];

impl Rule for WhereTheTimeWent {
    fn id(&self) -> &'static str {
        "where-the-time-went"
    }

    fn explain(&self) -> &'static str {
        "Claims how a difference in time is made up: user mode, each cause of kernel time that \
         was timed (compaction, reclaim, zeroing, splits), the rest of kernel time with all page \
         faults in it, and what is neither. Evidence: means over the rounds of the difference of \
         each part, which add up. Refuted when threads run side by side: the part that is neither \
         then holds what their times exceed the wall time by. Next: `hugewise trace` shows single \
         stalls."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let decided = matches!(
        look.change("wall_seconds"),
        Some(Change::Lower | Change::Higher)
    );
    let pairs = pairs(look);
    let difference = |metric: &str| mean_difference(&pairs, metric);
    let parts: Vec<(&str, f64)> = CAUSES
        .iter()
        .filter_map(|cause| Some((*cause, difference(cause)?)))
        .collect();
    let whole = ["wall_seconds", "user_seconds", "system_seconds"].map(difference);
    let [Some(wall), Some(user), Some(system)] = whole else {
        return Ok(Said::Nothing);
    };
    if !decided || parts.is_empty() {
        return Ok(Said::Nothing);
    }
    let rest = system - parts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let neither = wall - user - system;
    let mut words = vec![format!("user mode {}", signed(user))];
    for (cause, seconds) in &parts {
        look.evidence
            .figure(&format!("mean_change_{cause}"), *seconds);
        if *seconds != 0.0 {
            words.push(format!("{} {}", label(cause), signed(*seconds)));
        }
    }
    words.push(format!(
        "other kernel time (page faults in it) {}",
        signed(rest)
    ));
    words.push(format!("neither {}", signed(neither)));
    for (name, seconds) in [
        ("mean_change_wall_seconds", wall),
        ("mean_change_user_seconds", user),
        ("mean_change_other_kernel_seconds", rest),
        ("mean_change_unexplained_seconds", neither),
    ] {
        look.evidence.figure(name, seconds);
    }
    Ok(Said::Shown(format!(
        "{}: {} a run on average: {}{}",
        look.policy,
        signed(wall),
        words.join(", "),
        untimed(parts.len()),
    )))
}

/// What was not timed is in the rest.
fn untimed(timed: usize) -> String {
    match CAUSES.len() - timed {
        0 => String::new(),
        count => format!("; {count} of {} causes were not timed here", CAUSES.len()),
    }
}

/// The trials of this policy with those of the baseline in the same rounds.
fn pairs<'a>(look: &Look<'_, 'a>) -> Vec<(&'a Trial, &'a Trial)> {
    let of = |policy: &str| -> BTreeMap<u32, &'a Trial> {
        let trials = look.ground.record.trials.iter();
        trials
            .filter(|trial| trial.role == Role::Arm && trial.policy == policy && trial.succeeded())
            .map(|trial| (trial.round, trial))
            .collect()
    };
    let here = of(look.policy);
    let there = of(look.ground.baseline());
    let both = there
        .into_iter()
        .filter_map(|(round, base)| Some((base, *here.get(&round)?)));
    both.collect()
}

/// The mean over the rounds; `None` where a single reading is missing, because the parts would
/// then be means of different rounds.
fn mean_difference(pairs: &[(&Trial, &Trial)], metric: &str) -> Option<f64> {
    let differences = pairs
        .iter()
        .map(|(base, here)| Some(here.value(metric)? - base.value(metric)?));
    let sum = differences.sum::<Option<f64>>()?;
    (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
}

fn signed(seconds: f64) -> String {
    let sign = match seconds {
        less if less < 0.0 => MINUS.to_string(),
        more if more > 0.0 => "+".to_owned(),
        _ => String::new(),
    };
    format!("{sign}{}", told("wall_seconds", seconds.abs()))
}
