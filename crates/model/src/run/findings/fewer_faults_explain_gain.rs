//! Claims that part of a gain in time comes from fewer page faults, and how large a part.
//!
//! Evidence: wall time decidedly lower, minor faults lower by their own interval; the fall of kernel time as a share
//! of the fall of wall time. What is left is cheaper translation or another effect in user mode:
//! without counters of page walks these cannot be told apart, and the rule says so.
//! Refuted when kernel time did not fall. Next: counters of page walks (`perf stat`)
//! on a machine that has them.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// See the module.
#[derive(Debug)]
pub(super) struct FewerFaultsExplainGain;

/// Processor time over wall time, up to which a program counts as one thread.
const ALONE: f64 = 1.05;

impl Rule for FewerFaultsExplainGain {
    fn id(&self) -> &'static str {
        "fewer-faults-explain-gain"
    }

    fn explain(&self) -> &'static str {
        "Claims that part of a gain in wall time comes from fewer page faults. Evidence: wall time \
         is decidedly lower, and minor faults and kernel time are, by their own intervals; the fall \
         of kernel time is given as a share of the gain. In a program whose threads run side by side kernel time is summed over \
         them, and no share is given. Refuted when kernel time did not fall. The rest is cheaper address \
         translation, another effect in user mode or less waiting; without counters of page walks these cannot \
         be told apart. Next: count page walks with `perf stat`, on a machine with hardware \
         counters."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let fell = |metric: MetricId| look.change_by_itself(metric) == Some(Change::Lower);
    let gained = look.change(MetricId::WallSeconds) == Some(Change::Lower);
    if !gained || !fell(MetricId::MinorFaultsTotal) {
        return Ok(Said::Nothing);
    }
    let system_fell = fell(MetricId::SystemSeconds);
    let (faults_before, faults) = look.both(MetricId::MinorFaultsTotal)?;
    let (wall_before, wall) = look.both(MetricId::WallSeconds)?;
    let (system_before, system) = look.both(MetricId::SystemSeconds)?;
    let (gain, saved) = (wall_before - wall, system_before - system);
    let faults = format!(
        "{}: {} faults became {}",
        look.policy,
        told(MetricId::MinorFaultsTotal, faults_before),
        told(MetricId::MinorFaultsTotal, faults)
    );
    if !system_fell || gain <= 0.0 {
        return Ok(Said::NotShown(format!(
            "{faults}, but kernel time did not clearly fall ({} and {})",
            told(MetricId::SystemSeconds, system_before),
            told(MetricId::SystemSeconds, system)
        )));
    }
    let part = if runs_alone(look) {
        look.evidence.figure("kernel_share_of_gain", saved / gain);
        part(gain, saved, rest(look))
    } else {
        format!(
            ", wall time by {}; kernel time is summed over threads that ran side by side, so that \
             its share of the gain cannot be told",
            told(MetricId::WallSeconds, gain)
        )
    };
    Ok(Said::Shown(format!(
        "{faults}, and kernel time fell by about {}{part}",
        told(MetricId::SystemSeconds, saved)
    )))
}

/// Whether processor time is time of the wall: one thread at a time, under both policies. The
/// question is asked of each trial, because medians of parts do not add up to that of the whole.
/// Where user time was not read this is not known, and nothing may be worked out.
fn runs_alone(look: &mut Look<'_, '_>) -> bool {
    let policies = [look.ground.baseline(), look.policy];
    policies.into_iter().all(|policy| {
        let trials = arm_trials(look.ground.record, policy).filter(|trial| trial.succeeded());
        let busy: Option<Vec<f64>> = trials.map(processors_used).collect();
        let Some(busy) = busy.as_deref().and_then(median) else {
            return false;
        };
        look.evidence.reading("processors_used", policy, busy);
        busy <= ALONE
    })
}

/// Processor time over wall time.
fn processors_used(trial: &Trial) -> Option<f64> {
    let busy = trial.value(MetricId::UserSeconds)? + trial.value(MetricId::SystemSeconds)?;
    Some(
        busy / trial
            .value(MetricId::WallSeconds)
            .filter(|&wall| wall > 0.0)?,
    )
}

/// How much of the gain was kernel time, and what is left.
fn part(gain: f64, saved: f64, rest: &str) -> String {
    let gained = told(MetricId::WallSeconds, gain);
    if saved > gain {
        let lost = told(MetricId::WallSeconds, saved - gain);
        return format!(", more than the {gained} gained, as {lost} were lost elsewhere");
    }
    format!(
        ": about {:.0} % of the {gained} gained. The other {} or so are {rest}",
        100.0 * saved / gain,
        told(MetricId::WallSeconds, gain - saved)
    )
}

/// What the gain that was not kernel time may be.
fn rest(look: &Look<'_, '_>) -> &'static str {
    match look.median_or_missing(MetricId::DtlbWalksTotal) {
        Ok(_) => {
            "cheaper translation, other effects in user mode or less waiting: the finding on page \
             walks bounds the first"
        }
        Err(_) => {
            "cheaper translation, other effects in user mode or less waiting; which of them cannot \
             be told without counters of page walks"
        }
    }
}
