//! Claims that part of a gain in time comes from fewer page faults, and how large a part.

use std::collections::BTreeMap;

use super::alone::runs_alone;
use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{Answer, Change};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Draw, mean_ratio};
use crate::run::trial::Trial;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct FewerFaultsExplainGain;

/// A wider interval says no more than that it is a part.
const WIDEST: f64 = 0.5;

impl Rule for FewerFaultsExplainGain {
    fn id(&self) -> &'static str {
        "fewer-faults-explain-gain"
    }

    fn explain(&self) -> &'static str {
        "Claims that part of a gain in wall time comes from fewer page faults. Evidence: wall time \
         is significantly lower, and minor faults and kernel time are, by their own intervals; the fall \
         of kernel time is given as a share of the gain, with its 95 % interval, from eight rounds on. In a program whose threads run side by side kernel time is summed over \
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
        let share = share(view).filter(|(low, high)| high - low <= WIDEST);
        part(policy, [gain, saved], share, rest(view))
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

/// How much of the gain was kernel time, as an interval: the ratio of two means over rounds.
fn share(view: &mut PolicyView<'_, '_>) -> Option<(f64, f64)> {
    let falls = |metric| {
        falls(
            view.context.record,
            view.context.baseline(),
            view.policy,
            metric,
        )
    };
    let (gains, saved) = (falls(MetricId::WallSeconds), falls(MetricId::SystemSeconds));
    let draws = gains.into_iter().filter_map(|(round, gain)| {
        Some(Draw {
            policy: *saved.get(&round)?,
            baseline: gain,
            control: None,
        })
    });
    let draws: Vec<Draw> = draws.collect();
    let (low, high) = mean_ratio(&draws, ALPHA)?.interval?;
    let ends = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    view.evidence.figure("kernel_share_of_gain_low", ends.0);
    view.evidence.figure("kernel_share_of_gain_high", ends.1);
    Some(ends)
}

/// By how much a metric is lower under the policy than under the baseline, by round.
fn falls(record: &Record, baseline: &str, policy: &str, metric: MetricId) -> BTreeMap<u32, f64> {
    let value = |trial: &Trial| trial.succeeded().then(|| trial.value(metric)).flatten();
    let mut before: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in record.trials.iter().filter(|it| it.policy == baseline) {
        before.entry(trial.round).or_default().extend(value(trial));
    }
    let after = arm_trials(record, policy).filter_map(|it| Some((it.round, value(it)?)));
    let fall = |(round, after): (u32, f64)| {
        let before = before.get(&round).filter(|values| !values.is_empty())?;
        Some((
            round,
            before.iter().sum::<f64>() / before.len() as f64 - after,
        ))
    };
    after.filter_map(fall).collect()
}

/// How much of the gain was kernel time, and what is left.
fn part(policy: &str, means: [f64; 2], share: Option<(f64, f64)>, rest: &str) -> [String; 2] {
    let [gain, saved] = means;
    let gained = told(MetricId::WallSeconds, gain);
    if saved > gain {
        let lost = told(MetricId::WallSeconds, saved - gain);
        return [
            format!("{policy}: fewer page faults explain all of the gain"),
            format!("{gained} of wall time were gained and {lost} lost elsewhere"),
        ];
    }
    let share = match share {
        Some((low, high)) => format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high),
        None => "part".to_owned(),
    };
    [
        format!("{policy}: fewer page faults explain {share} of the gain"),
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
