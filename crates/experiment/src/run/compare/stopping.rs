//! The running experiment: which policies have an answer, and may it stop?

use std::collections::BTreeSet;

use crate::base::host::Host;
use crate::run::compare::effect::{Effect, limit};
use crate::run::compare::verdict::Judgement;
use crate::run::compare::{CompareError, Comparison, Judged, PolicyAnswer, programs};
use crate::run::metric::MetricId;
use crate::run::plan::Bounds;
use crate::run::policy::Policy;
use crate::run::record::{Record, Removal, RemovalReason, StopReason};
use crate::run::stats::median;
use crate::run::trial::{A_GOOD_PART, Trial, huge_memory};

/// The progress of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Number of rounds in which every trial has run.
    pub rounds: u32,
    /// Why no further round is needed.
    pub stop: Option<StopReason>,
    /// The policies that need not run in the next round.
    pub drops: Vec<Removal>,
    /// True if some policy has an actionable answer: the direction of its effect, or that there is none.
    pub is_shown: bool,
}

/// With fewer rounds there is no forecast.
pub(super) const FORETELLING: u32 = 8;

/// Returns the policies with an answer after the rounds in `record`, and whether the experiment may stop. It may be
/// called after every round, and its result may be acted on. `rounds_left` is the number of further rounds that fit
/// into the time.
///
/// A single policy has nothing to decide: it ends after `min_rounds`.
///
/// # Errors
/// Fails if the plan has a baseline or a metric that does not exist.
pub fn progress(record: &Record, rounds_left: u32) -> Result<Progress, CompareError> {
    if !record.header.plan.programs.is_empty() {
        return programs::progress(record, rounds_left);
    }
    let judged = Judged::as_planned(record)?;
    let rounds = judged.rounds.whole;
    let next = record.next_round();
    let evidence = judged.evidence();
    let mut drops = Vec::new();
    let mut is_shown = false;
    for policy in judged.policies() {
        let judgement = evidence.judge(&policy.name);
        is_shown |= says_something(&judged, policy, judgement.answer);
        if record.is_run(&policy.name, next) && rounds >= record.header.plan.bounds.min_rounds {
            let why = reason_to_drop(&judged, policy, &judgement, rounds_left);
            drops.extend(why.map(|why| Removal {
                round: next,
                policy: policy.name.clone(),
                why,
            }));
        }
    }
    drop_malloc_alone(&judged, &mut drops);
    let mut stop = stop(&judged, &drops);
    if stop == Some(StopReason::OutOfReach) && !is_shown {
        keep_the_open(&judged, &mut drops);
        stop = self::stop(&judged, &drops);
    }
    // The cells of a bench are separate questions, and one decision applies to all.
    if record.header.plan.bench.is_some() {
        drops.clear();
    }
    Ok(Progress {
        rounds,
        stop,
        drops,
        is_shown,
    })
}

/// Returns true if the rounds of a policy show what to set. Those of an overhead control do not. Nor does a loss under
/// a policy that also changes malloc, because malloc may be the reason. The separate effect of its huge pages is no
/// such answer while the policy itself is open.
fn says_something(judged: &Judged, policy: &Policy, answer: PolicyAnswer) -> bool {
    if judged.record.header.plan.is_overhead_control(&policy.name) {
        return false;
    }
    let is_by_malloc = policy
        .settings
        .changes_malloc_too(&judged.baseline.settings);
    let evidence = judged.evidence();
    let pages = evidence.beside_malloc(policy).map(|it| it.judge().answer);
    let is_of_pages = !is_by_malloc || answer != PolicyAnswer::Worse;
    answer.is_shown() && (is_of_pages || pages.is_some_and(PolicyAnswer::is_shown))
}

/// The allocator-only policy runs as long as the policy paired with it, and has no separate question.
fn drop_malloc_alone(judged: &Judged, drops: &mut Vec<Removal>) {
    let plan = &judged.record.header.plan;
    let next = judged.record.next_round();
    for policy in judged.policies() {
        let Some(alone) = plan.malloc_alone(policy) else {
            continue;
        };
        drops.retain(|it| it.policy != alone.name);
        let is_left = !judged.record.is_run(&policy.name, next)
            || drops.iter().any(|it| it.policy == policy.name);
        if is_left && judged.record.is_run(&alone.name, next) && !plan.is_baseline(&alone.name) {
            drops.push(Removal {
                round: next,
                policy: alone.name.clone(),
                why: RemovalReason::Decided,
            });
        }
    }
}

/// The running estimates of the verdict metric, for the progress line.
///
/// # Errors
/// Fails if the plan has a baseline or a metric that does not exist.
pub fn running(record: &Record) -> Result<Vec<Comparison>, CompareError> {
    if !record.header.plan.programs.is_empty() {
        return programs::running(record);
    }
    Ok(Judged::as_planned(record)?.deciding_rows())
}

/// Long-lived servers are the same processes in all their rounds. An answer that generalises beyond them needs a few
/// starts.
const FEWEST_STARTS: usize = 3;

fn has_starts_enough(record: &Record, policy: &str) -> bool {
    if !record.header.plan.compares_starts() {
        return true;
    }
    let trials = record.trials.iter().filter(|trial| trial.policy == policy);
    let starts: Option<BTreeSet<u32>> = trials.map(|trial| trial.start).collect();
    starts.is_none_or(|starts| starts.len() >= FEWEST_STARTS)
}

/// Returns why a policy need not run any more; `None` while it is open and within reach.
pub(super) fn reason_to_drop(
    judged: &Judged,
    policy: &Policy,
    judgement: &Judgement,
    rounds_left: u32,
) -> Option<RemovalReason> {
    if makes_no_page(judged, policy) {
        return Some(RemovalReason::NoHugePage);
    }
    if awaits_pages(judged, policy, judgement.answer, rounds_left) {
        return None;
    }
    if judgement.is_settled {
        let is_overhead_control = judged.record.header.plan.is_overhead_control(&policy.name);
        if !is_overhead_control
            && judgement.answer.is_shown()
            && narrows(judged, judgement, rounds_left)
        {
            return None;
        }
        // A policy that cannot change a page cannot do so in any start.
        let is_of_starts = judgement.answer != PolicyAnswer::NoEffect;
        let is_told = !is_of_starts || has_starts_enough(judged.record, &policy.name);
        return is_told.then_some(RemovalReason::Decided);
    }
    let is_open = judgement.answer == PolicyAnswer::NotDecided && judgement.reason.is_none();
    if !is_open || judged.rounds.whole < FORETELLING || rounds_left == 0 {
        return None;
    }
    let is_hopeless = !judged.evidence().is_within_reach(&policy.name, rounds_left);
    is_hopeless.then_some(RemovalReason::OutOfReach)
}

/// Within this many rounds, a malloc that takes its setting by chance has shown its effect: glibc before 2.38 missed it
/// in up to one start of four.
const SEEN_WITH_PAGES: u32 = 4;

/// Returns true if a policy asks for huge pages through malloc and made none, but another one did. No effect of it
/// would be a reason to set it, so the others get its time.
fn makes_no_page(judged: &Judged, policy: &Policy) -> bool {
    let settings = &policy.settings;
    let is_by_malloc = settings.changes_malloc_too(&judged.baseline.settings);
    if !is_by_malloc || settings.is_malloc_alone() || judged.rounds.whole < SEEN_WITH_PAGES {
        return false;
    }
    let trials = &judged.record.trials;
    let page = judged.record.header.host.pmd_bytes().unwrap_or(0) as f64;
    let bytes = |trial: &Trial| huge_memory(|metric| trial.value(metric), page);
    let is_none = |trial: &Trial, bytes: f64| {
        let peak = trial.value(MetricId::PeakRssBytes);
        bytes == 0.0 || bytes <= page && peak.is_some_and(|peak| bytes < A_GOOD_PART * peak)
    };
    let mut own = trials.iter().filter(|it| it.policy == policy.name);
    let mut others = trials.iter().filter(|it| it.policy != policy.name);
    let has_pages = |trial: &Trial| bytes(trial).is_some_and(|it| !is_none(trial, it));
    own.all(|it| bytes(it).is_some_and(|bytes| is_none(it, bytes))) && others.any(has_pages)
}

/// An interval is narrow enough if its half-width is at most the threshold or this part of the estimate.
const NARROW: f64 = 1.0 / 3.0;
/// Once the direction is known, at most this part of the time is spent on a narrower interval.
const TO_NARROW: f64 = 1.0 / 3.0;

/// Returns true while more rounds are worth their time though the direction of an effect is known: its interval is
/// wide, and little time has passed.
fn narrows(judged: &Judged, judgement: &Judgement, rounds_left: u32) -> bool {
    let done = f64::from(judged.rounds.whole);
    if done >= TO_NARROW * (done + f64::from(rounds_left)) {
        return false;
    }
    let question = judged.question();
    let effect = judgement.effect.as_ref();
    let effect = effect.filter(|_| !question.is_approximate());
    effect.is_some_and(|effect| {
        let limit = limit(effect.scale, effect.baseline_value, question.threshold);
        let enough = limit.max(NARROW * effect.estimate.abs());
        let half = effect.interval.map(|(low, high)| (high - low) / 2.0);
        half.is_some_and(|half| half > enough)
    })
}

/// Returns true if more rounds may isolate the effect of the huge pages of a policy that also changes malloc. A policy
/// that changes only pages and shows the same has already isolated it.
fn awaits_pages(judged: &Judged, policy: &Policy, answer: PolicyAnswer, rounds_left: u32) -> bool {
    let evidence = judged.evidence();
    let Some(pages) = evidence.beside_malloc(policy) else {
        return false;
    };
    let baseline = &judged.baseline.settings;
    let mut of_pages = judged
        .policies()
        .filter(|it| it.settings.changes_pages_alone(baseline));
    let shows_the_same = |it: &Policy| evidence.judge(&it.name).answer == answer;
    let is_asked = answer != PolicyAnswer::NoEffect
        && !(answer.is_shown() && of_pages.any(shows_the_same))
        && judged
            .record
            .is_run(&pages.malloc_alone().name, judged.record.next_round());
    let judgement = pages.judge();
    let is_open = judgement.answer == PolicyAnswer::NotDecided && judgement.reason.is_none();
    let is_early = judged.rounds.whole < FORETELLING;
    let is_within_reach = || is_early || pages.is_within_reach(rounds_left);
    // The fewest rounds that can decide always run.
    let least = judged.record.header.plan.bounds.least_rounds;
    let is_due = least.is_some_and(|least| judged.rounds.whole < least);
    let has_time = is_due || rounds_left > 0 && is_within_reach();
    is_asked && is_open && has_time
}

/// Policies out of reach yield their time to those within reach. If none is within reach and nothing was shown, all
/// keep running: the time narrows the intervals and bounds the effects.
fn keep_the_open(judged: &Judged, drops: &mut Vec<Removal>) {
    let plan = &judged.record.header.plan;
    drops.retain(|it| it.why != RemovalReason::OutOfReach || plan.is_overhead_control(&it.policy));
}

fn stop(judged: &Judged, drops: &[Removal]) -> Option<StopReason> {
    let record = judged.record;
    let rounds = judged.rounds.whole;
    let bounds = &record.header.plan.bounds;
    let all = || record.removals_at(record.next_round()).chain(drops);
    if record.header.plan.policies.len() < 2 {
        return (rounds >= bounds.min_rounds.max(1)).then_some(StopReason::Measured);
    }
    let is_dropped = |policy: &Policy| all().any(|drop| drop.policy == policy.name);
    // An overhead control gets no more rounds than the policies it controls.
    let plan = &record.header.plan;
    let mut worth_rounds = judged
        .policies()
        .filter(|it| !plan.is_overhead_control(&it.name))
        .peekable();
    let is_over = match worth_rounds.peek() {
        Some(_) => worth_rounds.all(is_dropped),
        None => judged.policies().all(is_dropped),
    };
    if is_over {
        let mut asked = all().filter(|drop| !plan.is_overhead_control(&drop.policy));
        let is_open = asked.any(|drop| drop.why == RemovalReason::OutOfReach);
        return Some(match is_open {
            true => StopReason::OutOfReach,
            false => StopReason::Decided,
        });
    }
    // A user who sets the duration gets it.
    let is_free = bounds.least_rounds.is_some();
    if is_free && rounds >= bounds.min_rounds.max(SEEN_SMALL) && is_too_small(record) {
        return Some(StopReason::TooSmall);
    }
    stop_reason(bounds, rounds, |precision| judged.is_precise(precision))
}

/// A program must be small in this many rounds: the first may not be representative.
const SEEN_SMALL: u32 = 2;

/// Returns true if the policies differ only in huge-page settings, and the program is smaller than any huge page. More
/// rounds would only compare noise.
fn is_too_small(record: &Record) -> bool {
    let plan = &record.header.plan;
    let Some(least) = least_huge_page(&record.header.host) else {
        return false;
    };
    let Some(baseline) = plan.policies.iter().find(|it| it.name == plan.baseline) else {
        return false;
    };
    let only_pages = |policy: &Policy| {
        let settings = &policy.settings;
        settings.mthp.is_empty()
            && settings.mthp_shmem.is_empty()
            && (policy.is_idle_means() || settings.is_sibling_of(&baseline.settings))
    };
    let has_none = |trial: &Trial| {
        let seen = [MetricId::HugeAnonPeakBytes, MetricId::HugeShmemPeakBytes];
        let mut seen = seen.into_iter().filter_map(|it| trial.value(it));
        seen.all(|bytes| bytes == 0.0)
    };
    let trials = || record.trials.iter();
    let peaks: Option<Vec<f64>> = trials()
        .map(|trial| trial.value(MetricId::PeakRssBytes))
        .collect();
    // A single trial may use slightly more than the others.
    let peak = peaks.and_then(|peaks| median(&peaks));
    plan.bench.is_none()
        && plan.policies.iter().all(only_pages)
        && peak.is_some_and(|peak| record.holds_no_huge_page(peak, least))
        && trials().all(has_none)
}

/// The smallest huge page, in bytes, that memory on this host may get under any mode of `enabled`.
fn least_huge_page(host: &Host) -> Option<u64> {
    let thp = host.thp.as_ref().ok()?;
    let sizes = thp.sizes.iter();
    let open = sizes.filter(|(_, mode)| mode.as_str() != "never");
    let least = open.map(|(kib, _)| kib * 1024).min();
    Some(least.unwrap_or(u64::MAX).min(host.pmd_bytes()?))
}

/// Returns why an experiment with open questions ends after so many rounds, if it does.
pub(super) fn stop_reason(
    bounds: &Bounds,
    rounds: u32,
    is_precise: impl Fn(f64) -> bool,
) -> Option<StopReason> {
    let is_precise = |precision| rounds >= bounds.min_rounds && is_precise(precision);
    if bounds.precision.is_some_and(is_precise) {
        return Some(StopReason::Precise);
    }
    (rounds >= bounds.max_rounds).then_some(StopReason::MaxRounds)
}

impl Judged<'_> {
    /// Returns true if no interval of the verdict metric is wider than ± `precision`.
    pub(super) fn is_precise(&self, precision: f64) -> bool {
        let evidence = self.evidence();
        self.policies().all(|policy| {
            Effect::of_draws(&evidence.draws(&policy.name), evidence.question.claims)
                .and_then(|effect| effect.half_width())
                .is_some_and(|half| half <= precision)
        })
    }
}
