//! Claims that part of a gain in time comes from fewer page faults, and how large a part.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{Answer, Change};
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// The rule of this module.
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
         is significantly lower, and minor faults and kernel time are, by their own intervals; the fall \
         of kernel time is given as a share of the gain. In a program whose threads run side by side kernel time is summed over \
         them, and no share is given. Refuted when kernel time did not fall. The rest is cheaper address \
         translation, another effect in user mode or less waiting; without counters of page walks these cannot \
         be told apart. Next: count page walks with `perf stat`, on a machine with hardware \
         counters."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let fell = |metric: MetricId| view.change(metric) == Some(Change::Lower);
    let gained = view.change(MetricId::WallSeconds) == Some(Change::Lower);
    // Of runs that are mixed, half of the story would be told.
    let is_mixed = view.context.answer(view.policy) == Some(Answer::Mixed);
    if is_mixed || !gained || !fell(MetricId::MinorFaultsTotal) {
        return Ok(Claim::Nothing);
    }
    let system_fell = fell(MetricId::SystemSeconds);
    let (faults_before, faults) = view.both(MetricId::MinorFaultsTotal)?;
    let (wall_before, wall) = view.means(MetricId::WallSeconds)?;
    let (system_before, system) = view.means(MetricId::SystemSeconds)?;
    let (gain, saved) = (wall_before - wall, system_before - system);
    let policy = view.policy;
    let faults = format!(
        "{} faults became {}",
        told(MetricId::MinorFaultsTotal, faults_before),
        told(MetricId::MinorFaultsTotal, faults)
    );
    if !system_fell || gain <= 0.0 {
        return Ok(Claim::NotShown(format!(
            "{policy}: fewer page faults, but no significantly lower kernel time. {faults}; kernel time \
             was {} and is {}",
            told(MetricId::SystemSeconds, system_before),
            told(MetricId::SystemSeconds, system)
        )));
    }
    let part = if runs_alone(view) {
        view.evidence.figure("kernel_share_of_gain", saved / gain);
        part(policy, gain, saved, rest(view))
    } else {
        [
            format!("{policy}: fewer page faults explain part of the gain"),
            format!(
                "wall time fell by {}; kernel time is summed over parallel threads, so its share \
                 is unknown",
                told(MetricId::WallSeconds, gain)
            ),
        ]
    };
    let [claim, rest] = part;
    Ok(Claim::Shown(format!(
        "{claim}. {faults}, kernel time fell by {} per run on average; {rest}",
        told(MetricId::SystemSeconds, saved)
    )))
}

/// Whether processor time is time of the wall: one thread at a time, under both policies. The
/// question is asked of each trial, because medians of parts do not add up to that of the whole.
/// Where user time was not read this is not known, and nothing may be worked out.
fn runs_alone(view: &mut PolicyView<'_, '_>) -> bool {
    let policies = [view.context.baseline(), view.policy];
    policies.into_iter().all(|policy| {
        let trials = arm_trials(view.context.record, policy).filter(|trial| trial.succeeded());
        let busy: Option<Vec<f64>> = trials.map(processors_used).collect();
        let Some(busy) = busy.as_deref().and_then(median) else {
            return false;
        };
        view.evidence.reading("processors_used", policy, busy);
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
fn part(policy: &str, gain: f64, saved: f64, rest: &str) -> [String; 2] {
    let gained = told(MetricId::WallSeconds, gain);
    if saved > gain {
        let lost = told(MetricId::WallSeconds, saved - gain);
        return [
            format!("{policy}: fewer page faults explain all of the gain"),
            format!("{gained} of wall time were gained and {lost} lost elsewhere"),
        ];
    }
    [
        format!(
            "{policy}: fewer page faults explain about {:.0} % of the gain",
            100.0 * saved / gain
        ),
        format!(
            "{} of the {gained} gained: {rest}",
            told(MetricId::WallSeconds, gain - saved)
        ),
    ]
}

/// What the gain that was not kernel time may be.
fn rest(view: &PolicyView<'_, '_>) -> &'static str {
    match view.median_or_missing(MetricId::DtlbWalksTotal) {
        Ok(_) => {
            "fewer TLB misses, other user time or less waiting (see the finding on page walks)"
        }
        Err(_) => "fewer TLB misses or less waiting; telling these apart needs page-walk counters",
    }
}
