//! Reasons not to rely on the answer, the most serious first.

use std::collections::{BTreeMap, BTreeSet};

use super::Work;
use super::pages::{is_malloc_without_pages, more_huge_bytes};
use super::word::Decision;
use crate::base::verification;
use crate::base::verification::Standing;
use crate::run::answer::{
    Against, Budget, Call, Choice, ChoiceScope, Claim, ClaimId, Doubt, Effect, Interval, When, Word,
};
use crate::run::cause::facts;
use crate::run::compare::{
    ControlOutcome, PolicyAnswer, Runs, Statistic, Warning, host_differences,
};
use crate::run::metric::MetricId;
use crate::run::metric::live::LiveMetric;
use crate::run::metric::requests::suffix_metric;
use crate::run::plan::{HUGE, SMALL};
use crate::run::policy::advice_by_chance;
use crate::run::policy::realise::Realisation;
use crate::run::record::{Record, RemovalReason, by_our_means};
use crate::run::stats::median;
use crate::run::trial::{Mark, Pacing, Reading, Trial};

/// Servers need this many starts before their starts give evidence.
pub(super) const STARTS: u32 = 5;
/// Two starts change in the same direction by chance in half of the cases.
const FEWEST_STARTS: u32 = 3;
/// This share of runs beyond 95 % of the baseline's exceeds the one in twenty expected by chance.
const FEW: f64 = 0.1;

/// All doubts.
pub(super) fn doubts(
    work: &Work<'_>,
    claims: &[Claim],
    decision: &Decision,
    choice: Option<&Choice>,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    doubts.extend(records(work).flat_map(left_behind));
    doubts.extend(two_records(work));
    doubts.extend(control(work, claims));
    doubts.extend(records(work).filter_map(failed));
    doubts.extend(not_applied(work));
    doubts.extend(afterwards(work));
    doubts.extend(without_changed_pages(work, claims));
    doubts.extend(only_back_to_back(claims, choice));
    doubts.extend(without_pages(work, claims));
    doubts.extend(few_starts(claims));
    doubts.extend(order(work));
    doubts.extend(by_chance(work, choice));
    doubts.extend(mechanism_cost(work, claims, decision));
    doubts.extend(maybe_small(work, claims, decision));
    doubts.extend(faults_after_splits(work));
    doubts.extend(some_runs_worse(work, decision));
    doubts.extend(left_out(work));
    doubts.extend(load(work));
    doubts.extend(latencies(work));
    doubts.extend(records(work).filter_map(disturbed));
    doubts.extend(unseen(work, decision));
    doubts.extend(records(work).flat_map(dropped));
    doubts.extend(records(work).filter_map(unverified_counters));
    doubts.extend(objection(work, choice));
    doubts.extend(nothing_decided(work, decision));
    doubts.extend(warnings(work));
    doubts
}

/// The record, or both.
fn records<'a>(work: &Work<'a>) -> impl Iterator<Item = &'a Record> + use<'a> {
    std::iter::once(work.record()).chain(work.source.other)
}

fn left_behind(record: &Record) -> Vec<Doubt> {
    let end = record.end.iter();
    let left = end.flat_map(|end| &end.left_behind);
    left.map(|text| Doubt::LeftBehind { text: text.clone() })
        .collect()
}

fn two_records(work: &Work<'_>) -> Option<Doubt> {
    let other = work.source.other?;
    let (before, after) = (&work.record().header, &other.header);
    Some(Doubt::NotOneExperiment {
        differences: host_differences(&before.host, &after.host),
    })
}

fn control(work: &Work<'_>, claims: &[Claim]) -> Option<Doubt> {
    let control = work.table().control.as_ref()?;
    let at = claims
        .iter()
        .position(|claim| claim.contrast.against == Against::Itself)?;
    let claim = ClaimId(at);
    match control.outcome(work.table().verdict.threshold, smallest_effect(work)) {
        ControlOutcome::Passed => None,
        ControlOutcome::Failed => Some(Doubt::ControlFailed { claim }),
        // Without an interval it gives no evidence: it needs more rounds than a policy.
        ControlOutcome::TooWide => {
            let is_known = claims[at].interval.is_some();
            is_known.then_some(Doubt::ControlWide { claim })
        }
    }
}

/// The smallest effect compatible with what is reported as better or worse.
fn smallest_effect(work: &Work<'_>) -> Option<f64> {
    let plan = &work.record().header.plan;
    let policies = work.table().verdict.policies.iter();
    let decided = policies.filter(|(name, answer)| {
        matches!(answer, PolicyAnswer::Better | PolicyAnswer::Worse)
            && !plan.is_overhead_control(name)
    });
    let effects = decided.filter_map(|(name, _)| work.judged(name)?.least_distance());
    effects.min_by(f64::total_cmp)
}

fn failed(record: &Record) -> Option<Doubt> {
    let failed = || record.trials.iter().filter(|trial| !trial.succeeded());
    let first = failed().next()?;
    let mut by_arm: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in failed() {
        *by_arm.entry(&trial.policy).or_default() += 1;
    }
    Some(Doubt::FailedTrials {
        by_arm: by_arm
            .into_iter()
            .map(|(arm, count)| (arm.to_owned(), count))
            .collect(),
        of: record.trials.len() as u32,
        first: first.outcome.to_string(),
        said: first.stderr_tail.as_deref().and_then(last_lines),
    })
}

/// The last lines of a program's output, which show why it failed.
fn last_lines(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines.get(lines.len().saturating_sub(3)..)?;
    (!last.is_empty()).then(|| last.join(" / "))
}

fn not_applied(work: &Work<'_>) -> Vec<Doubt> {
    let trials = work.record().trials.iter();
    let marked = trials.filter(|trial| trial.lacked_its_policy());
    let arms: BTreeSet<&str> = marked.map(|trial| trial.policy.as_str()).collect();
    let each = arms.into_iter().filter_map(|arm| {
        let it = facts::not_applied(work.record(), arm)?;
        Some(Doubt::NotApplied {
            arm: arm.to_owned(),
            trials: it.trials as u32,
            of: it.of as u32,
            detail: it.detail,
        })
    });
    each.collect()
}

fn afterwards(work: &Work<'_>) -> Option<Doubt> {
    work.table()
        .verdict
        .chosen_afterwards
        .then_some(Doubt::ChosenAfterwards)
}

/// A policy that changed no page is an additional control of the experiment.
fn without_changed_pages(work: &Work<'_>, claims: &[Claim]) -> Vec<Doubt> {
    let threshold = work.table().verdict.threshold;
    let is_apart = |claim: &Claim| {
        let is_same = claim.budget == Budget::Verdict && matches!(claim.call, Call::SamePages(_));
        let ends = claim.interval.filter(|_| is_same);
        ends.is_some_and(|it| it.low > 1.0 + threshold || it.high < 1.0 - threshold)
            && matches!(claim.effect, Some(Effect::Ratio(_)))
    };
    let apart = claims
        .iter()
        .enumerate()
        .filter(|(_, claim)| is_apart(claim));
    apart
        .map(|(at, _)| Doubt::TimeWithoutPages { claim: ClaimId(at) })
        .collect()
}

fn only_back_to_back(claims: &[Claim], choice: Option<&Choice>) -> Option<Doubt> {
    let choice = choice?;
    let ChoiceScope::BackToBack(seconds) = choice.scope else {
        return None;
    };
    let arm = choice.arm.clone()?;
    let is_it = |claim: &Claim| {
        matches!(claim.contrast.when, When::AfterIdle(_)) && claim.contrast.arm == arm
    };
    let claim = claims.iter().position(is_it).map(ClaimId);
    Some(Doubt::OnlyBackToBack {
        arm,
        claim,
        seconds,
    })
}

/// A malloc that is best without the requested huge pages.
fn without_pages(work: &Work<'_>, claims: &[Claim]) -> Option<Doubt> {
    let best = work.table().verdict.best.as_deref()?;
    let is_vain = work.asks_about_pages() && is_malloc_without_pages(work.context, best);
    let claim = super::verdict_of(claims, best).filter(|_| is_vain)?;
    Some(Doubt::TimeWithoutPages { claim })
}

fn few_starts(claims: &[Claim]) -> Option<Doubt> {
    let starts = claims.iter().filter_map(|claim| match claim.contrast.when {
        When::PerStart(starts) => Some(starts),
        _ => None,
    });
    let starts = starts.max()?;
    (starts < FEWEST_STARTS).then_some(Doubt::FewStarts {
        starts,
        wanted: STARTS,
    })
}

/// The order mattered, and a policy that it may affect is open.
fn order(work: &Work<'_>) -> Option<Doubt> {
    let verdict = &work.table().verdict;
    let order = verdict.order.as_ref().filter(|order| order.matters())?;
    let open = |name: &&String| verdict.policies.get(*name) == Some(&PolicyAnswer::NotDecided);
    let arm = order.policies.iter().find(open)?;
    Some(Doubt::MayDependOnOrder {
        arm: arm.clone(),
        p: order.p,
        strata: order.strata.clone(),
    })
}

fn by_chance(work: &Work<'_>, choice: Option<&Choice>) -> Option<Doubt> {
    let arm = choice?.arm.as_deref()?;
    let header = &work.record().header;
    let policy = header.plan.policies.iter().find(|it| it.name == arm)?;
    let glibc = advice_by_chance(policy, &header.host)?;
    let taken = facts::taken_by_chance(work.record(), work.table(), arm);
    let bound = header
        .realisations
        .get(arm)
        .is_some_and(Realisation::binds_at_start);
    Some(Doubt::TakenByChance {
        arm: arm.to_owned(),
        ratio: taken.as_ref().and_then(|it| it.ratio),
        taken: taken.map(|it| [it.taken as u64, it.of as u64]),
        glibc,
        bound,
    })
}

/// The cost of the mechanism, if it was shown or the policy is open.
fn mechanism_cost(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Option<Doubt> {
    let arm = decision.arm.as_deref()?;
    let realisation = work.record().header.realisations.get(arm)?;
    if !realisation.is_traced() && realisation.library.is_none() {
        return None;
    }
    let plan = &work.record().header.plan;
    let control = plan.policies.iter().find(|policy| policy.is_idle_means())?;
    let claim = super::verdict_of(claims, &control.name)?;
    let is_shown = claims[claim.0].call.is_shown();
    let is_open = super::verdict_of(claims, arm).is_some_and(|id| claims[id.0].call.is_open());
    (is_shown || is_open).then(|| Doubt::MechanismCost {
        arm: arm.to_owned(),
        claim,
    })
}

/// The direction is known, and the near end of the interval is within the threshold.
fn maybe_small(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Option<Doubt> {
    let claim = *decision.headline.first()?;
    let shown = &claims[claim.0];
    let threshold = work.table().verdict.threshold;
    let (Some(Effect::Ratio(_)), Some(Interval { low, high, .. })) = (shown.effect, shown.interval)
    else {
        return None;
    };
    let is_decided =
        matches!(shown.call, Call::Better | Call::Worse) && decision.word != Word::Compared;
    let near = match low > 1.0 {
        true => low - 1.0,
        false => 1.0 - high,
    };
    (is_decided && near < threshold).then_some(Doubt::MaybeSmall { claim })
}

/// A page fault on a small page costs about this, in seconds: 500,000 of them took 1.0 s in a virtual machine on Linux
/// 6.18.
const FAULT_SECONDS: f64 = 2e-6;

/// A split gives back pages of zeros, and the next write to each is a page fault. Only periods with small pages have
/// these faults, and memory that was never huge would not.
fn faults_after_splits(work: &Work<'_>) -> Option<Doubt> {
    let record = work.record();
    record.header.plan.live.as_ref()?;
    let of = |policy: &'static str, metric: LiveMetric| {
        let trials = record.trials.iter().filter(|it| it.policy == policy);
        let values: Vec<f64> = trials.filter_map(|it| it.value(metric)).collect();
        median(&values)
    };
    let faults = |policy| of(policy, LiveMetric::MinorFaultsPerSecond);
    let more = faults(SMALL)? - faults(HUGE)?;
    let used = of(SMALL, LiveMetric::ProcessorUseRatio).filter(|it| *it > 0.0)?;
    let share = more * FAULT_SECONDS / used;
    (share >= work.table().verdict.threshold).then_some(Doubt::FaultsAfterSplits { share })
}

fn some_runs_worse(work: &Work<'_>, decision: &Decision) -> Option<Doubt> {
    let verdict = &work.table().verdict;
    let arm = decision.arm.as_ref()?;
    let is_better = verdict.policies.get(arm) == Some(&PolicyAnswer::Better);
    let runs = verdict.runs.get(arm).filter(|_| is_better)?;
    let many = runs.worse >= 2 && f64::from(runs.worse) > FEW * f64::from(runs.of);
    many.then(|| Doubt::SomeRunsWorse {
        arm: arm.clone(),
        worse: runs.worse,
        of: runs.of,
        ratio: runs.worse_ratio,
    })
}

/// Missing rounds or readings of the judged metric.
fn left_out(work: &Work<'_>) -> Vec<Doubt> {
    let metric = &work.table().verdict.metric;
    let rows = work.table().comparisons.iter();
    let rows = rows.filter(|row| row.metric == *metric && row.statistic == Statistic::Center);
    let mut by_why: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        let told = row
            .warnings
            .iter()
            .filter(|it| !matches!(it, Warning::Marked { .. } | Warning::Circumstances { .. }));
        for warning in told {
            by_why
                .entry(warning.to_string())
                .or_default()
                .push(row.policy.clone());
        }
    }
    by_why
        .into_iter()
        .map(|(why, arms)| Doubt::LeftOut { arms, why })
        .collect()
}

fn load(work: &Work<'_>) -> Option<Doubt> {
    let limit = facts::load_limit(work.record())?;
    Some(Doubt::LoadIsTheLimit {
        share: limit
            .bound_cpus
            .map(|cpus| limit.load_cpus / cpus.max(1) as f64),
        parted: limit.parted,
    })
}

fn latencies(work: &Work<'_>) -> Vec<Doubt> {
    let Some(source) = &work.record().header.plan.latency else {
        return Vec::new();
    };
    let trials = || {
        work.record()
            .trials
            .iter()
            .filter(|trial| trial.succeeded())
    };
    let unread: Vec<&Trial> = trials().filter(|trial| trial.pacing.is_none()).collect();
    let why = unread.first().and_then(|first| {
        let mut readings = first
            .readings
            .iter()
            .filter(|(name, _)| suffix_metric(name).is_some());
        readings.find_map(|(_, reading)| match reading {
            Reading::Missing { missing } => Some(missing.to_string()),
            _ => None,
        })
    });
    let unread = why.map(|why| Doubt::NoLatencies {
        trials: unread.len() as u32,
        of: trials().count() as u32,
        why,
    });
    let closed = trials().any(|trial| trial.pacing == Some(Pacing::Closed));
    let closed = closed.then(|| Doubt::ClosedLoop {
        program: source.reader.program(),
    });
    unread.into_iter().chain(closed).collect()
}

/// With a quarter of the trials or more, a disturbance may be part of the interval.
fn disturbed(record: &Record) -> Option<Doubt> {
    let is_other = |mark: &Mark| !matches!(mark, Mark::NotApplied { .. });
    let marked = record
        .trials
        .iter()
        .filter(|it| it.marks.iter().any(is_other))
        .count();
    let kinds = record.count_marks().into_iter();
    let kinds = kinds.filter(|(kind, _)| *kind != Mark::NOT_APPLIED);
    let is_many = marked > 0 && 4 * marked >= record.trials.len();
    is_many.then(|| Doubt::Disturbed {
        trials: marked as u32,
        of: record.trials.len() as u32,
        kinds: kinds
            .map(|(kind, count)| (kind.to_owned(), count as u32))
            .collect(),
    })
}

/// TLB figures whose events no loop of known misses has confirmed on the processor.
fn unverified_counters(record: &Record) -> Option<Doubt> {
    const OF_TLB: [MetricId; 4] = [
        MetricId::DtlbWalksTotal,
        MetricId::ItlbWalksTotal,
        MetricId::DataWalkCyclesRatio,
        MetricId::CodeWalkCyclesRatio,
    ];
    let has_value = |id: &MetricId| {
        let mut readings = record.trials.iter().map(|it| it.readings.get(id.name()));
        readings.any(|it| matches!(it, Some(Reading::Value { .. })))
    };
    let metrics = OF_TLB.iter().filter(|id| has_value(id));
    let metrics: Vec<String> = metrics.map(|id| id.name().to_owned()).collect();
    let verification = record.header.verification.clone().unwrap_or_default();
    let wrong = verification.kinds(Standing::Wrong);
    let verified = !verification.events.is_empty()
        && wrong.is_empty()
        && verification.kinds(Standing::Unverified).is_empty();
    (!metrics.is_empty() && !verified).then(|| Doubt::UnverifiedCounters {
        metrics,
        wrong,
        command: verification::COMMAND.to_owned(),
    })
}

/// A policy without a difference may still have rare bad runs.
fn unseen(work: &Work<'_>, decision: &Decision) -> Option<Doubt> {
    let arm = decision
        .arm
        .as_ref()
        .filter(|_| decision.word == Word::NoDifference)?;
    let runs: &Runs = work.table().verdict.runs.get(arm)?;
    Some(Doubt::RareRunsUnseen {
        arm: arm.clone(),
        at_most: runs.worse_at_most,
    })
}

fn dropped(record: &Record) -> Vec<Doubt> {
    let removals = record.removals.iter();
    let removals = removals.filter(|it| !it.is_of_an_overhead_control() && !it.why.is_about_time());
    let why = |why: &RemovalReason| match why {
        RemovalReason::CannotAct(why)
        | RemovalReason::Fails(why)
        | RemovalReason::TellsNoMore(why) => why.clone(),
        RemovalReason::OurMeans { how, clash } => by_our_means(how, *clash),
        _ => String::new(),
    };
    removals
        .map(|it| Doubt::Dropped {
            arm: it.policy.clone(),
            rounds: it.round,
            why: why(&it.why),
        })
        .collect()
}

fn objection(work: &Work<'_>, choice: Option<&Choice>) -> Option<Doubt> {
    let who = work.source.beside.objection.clone()?;
    let arm = choice?.arm.as_deref()?;
    let more = more_huge_bytes(work.context, arm).is_some_and(|more| more > 0.0);
    (arm != work.baseline && more).then(|| Doubt::VendorObjects {
        who,
        program: super::program_name(work.record()).to_owned(),
    })
}

fn nothing_decided(work: &Work<'_>, decision: &Decision) -> Option<Doubt> {
    let answers = &work.table().verdict.policies;
    let is_open = |answer: &PolicyAnswer| {
        matches!(
            answer,
            PolicyAnswer::NotDecided | PolicyAnswer::DependsOnOrder
        )
    };
    let is_open = answers.values().all(is_open) && decision.word != Word::Little;
    let is_nothing = !answers.is_empty() && is_open;
    is_nothing.then_some(Doubt::NothingDecided)
}

fn warnings(work: &Work<'_>) -> Vec<Doubt> {
    let texts = records(work).flat_map(|record| &record.warnings);
    texts
        .map(|text| Doubt::Warning { text: text.clone() })
        .collect()
}
