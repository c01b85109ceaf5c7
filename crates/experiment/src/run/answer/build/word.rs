//! The verdict: whether huge pages help, and its supporting claims.

use std::collections::BTreeSet;

use super::claims::is_shown_beside;
use super::pages::{is_malloc_without_pages, is_telling, more_huge_bytes};
use super::{Work, verdict_of};
use crate::run::answer::{Against, Call, Claim, ClaimId, Effect, Needs, When, Word};
use crate::run::cause::facts;
use crate::run::cells::BenchCell;
use crate::run::compare::{Comparison, PolicyAnswer, Statistic, Why};
use crate::run::metric::{Better, MetricId};
use crate::run::policy::Policy;
use crate::run::record::StopReason;

/// An effect is small if its whole interval is within this many thresholds of zero.
const LITTLE: f64 = 3.0;

/// The share of the largest number of huge pages above which a policy counts as having equally many.
const AS_MANY: f64 = 0.9;

/// The verdict with its deciding policy.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) word: Word,
    pub(super) headline: Vec<ClaimId>,
    /// The policy; `None` if no policy changed the pages.
    pub(super) arm: Option<String>,
    /// True if a contrast with small pages and the same malloc shows it.
    pub(super) pages_alone: bool,
}

/// A policy against the baseline.
#[derive(Clone, Copy)]
struct Arm<'a> {
    policy: &'a str,
    answer: PolicyAnswer,
    /// Additional bytes in huge pages over the baseline.
    more: f64,
    /// The distance from the baseline, in either direction.
    effect: f64,
}

/// Decides the word.
pub(super) fn decide(work: &Work<'_>, claims: &[Claim]) -> Decision {
    let found = found(work, claims);
    let headline = headline(work, claims, &found);
    Decision { headline, ..found }
}

fn found(work: &Work<'_>, claims: &[Claim]) -> Decision {
    let end = work.record().end.as_ref();
    if end.is_some_and(|end| end.reason == StopReason::WorkloadFails) || nothing_measured(work) {
        return Decision::without_arm(Word::Failed);
    }
    if work.table().verdict.policies.is_empty() {
        return Decision::without_arm(Word::Measured);
    }
    if !work.asks_about_pages() {
        return Decision::without_arm(Word::Compared);
    }
    let pages = about_pages(work, claims);
    match with_more_than_pages(work, claims, pages.as_ref()) {
        Some(arm) => Decision::of(Word::NotAboutPages, arm),
        None => pages.unwrap_or_else(|| not_about_pages(work, claims)),
    }
}

/// Returns true if no trial gave the judged metric.
fn nothing_measured(work: &Work<'_>) -> bool {
    let metric = &work.table().verdict.metric;
    let mut trials = work.record().trials.iter();
    !trials.any(|trial| {
        trial.succeeded()
            && trial
                .readings
                .get(metric)
                .is_some_and(|it| it.middle().is_ok())
    })
}

/// The verdict on huge pages; `None` if no policy is about them.
fn about_pages(work: &Work<'_>, claims: &[Claim]) -> Option<Decision> {
    let baseline = work.context.settings(work.baseline);
    let mut arms = arms_where(work, |it| it.settings.changes_pages_alone(&baseline));
    let others = arms_where(work, |it| it.settings.changes_malloc_too(&baseline));
    if arms.is_empty() && others.is_empty() {
        return None;
    }
    let (confirmed, unconfirmed): (Vec<_>, Vec<_>) = others.into_iter().partition(|other| {
        let beside_malloc = beside_malloc(work, other);
        let mut telling = arms.iter().chain(&beside_malloc);
        telling.any(|arm| arm.shows_the_same_as(other))
    });
    arms.extend(confirmed);
    if let Some(decision) = shown(work, claims, &arms) {
        return Some(decision);
    }
    let changing = || {
        unconfirmed
            .iter()
            .filter(|arm| is_telling(work.context, arm.more))
    };
    let beside_malloc: Vec<Arm<'_>> = changing()
        .filter_map(|it| beside_malloc(work, it))
        .collect();
    if let Some(decision) = shown_beside_malloc(&beside_malloc) {
        return Some(decision);
    }
    // An estimate of malloc and its pages together is more informative than a policy without an answer.
    let is_estimated = changing().next().is_some();
    let has_reason = |arm: &Arm<'_>| work.table().verdict.reasons.contains_key(arm.policy);
    let told: Vec<Arm<'_>> = arms
        .iter()
        .copied()
        .filter(|arm| !is_estimated || !has_reason(arm))
        .collect();
    let decision = not_shown(work, claims, &told);
    Some(decision.unwrap_or_else(|| without_pages(work, claims, &arms)))
}

fn arms_where<'a>(work: &Work<'a>, is_wanted: impl Fn(&Policy) -> bool) -> Vec<Arm<'a>> {
    let arm = |policy: &'a Policy| {
        let name = policy.name.as_str();
        Some(Arm {
            policy: name,
            answer: *work.table().verdict.policies.get(name)?,
            more: more_huge_bytes(work.context, name)?,
            effect: work
                .judged(name)
                .and_then(|row| row.distance())
                .unwrap_or(0.0),
        })
    };
    let policies = work.record().header.plan.policies.iter();
    policies
        .filter(|policy| is_wanted(policy))
        .filter_map(arm)
        .collect()
}

/// The same policy against the same malloc with small pages, if the latter also ran.
fn beside_malloc<'a>(work: &Work<'_>, arm: &Arm<'a>) -> Option<Arm<'a>> {
    let mut known = work.table().pages_alone.iter();
    let known = known.find(|it| it.comparison.policy == arm.policy)?;
    Some(Arm {
        answer: known.answer,
        effect: known.comparison.distance()?,
        ..*arm
    })
}

/// The verdict from a policy with a shown effect and different pages.
fn shown(work: &Work<'_>, claims: &[Claim], arms: &[Arm<'_>]) -> Option<Decision> {
    let best = work.table().verdict.best.as_deref();
    let largest = |wanted: &[PolicyAnswer], sign: f64| {
        let fitting = arms
            .iter()
            .filter(|arm| wanted.contains(&arm.answer) && arm.more * sign > 0.0);
        fitting.max_by(|a, b| {
            let is_best = |arm: &Arm<'_>| best == Some(arm.policy);
            is_best(a)
                .cmp(&is_best(b))
                .then(a.effect.total_cmp(&b.effect))
        })
    };
    let of = |word, arm: &Arm<'_>| Decision::of(word, arm.policy.to_owned());
    let both = [
        PolicyAnswer::Mixed,
        PolicyAnswer::RarelyWorse,
        PolicyAnswer::DependsOnOrder,
    ];
    largest(&[PolicyAnswer::Better], 1.0)
        .map(|arm| of(Word::Help, arm))
        .or_else(|| largest(&[PolicyAnswer::Worse], -1.0).map(|arm| of(Word::Help, arm)))
        .or_else(|| largest(&[PolicyAnswer::Better], -1.0).map(|arm| of(Word::Hurt, arm)))
        .or_else(|| largest(&[PolicyAnswer::Worse], 1.0).map(|arm| of(Word::Hurt, arm)))
        .or_else(|| {
            let arm = largest(&both, 1.0).or_else(|| largest(&both, -1.0))?;
            Some(of(either_way(claims, arm.policy), arm))
        })
}

/// The word for a policy whose runs go both ways.
fn either_way(claims: &[Claim], arm: &str) -> Word {
    let call = verdict_of(claims, arm).map(|id| &claims[id.0].call);
    match call {
        Some(Call::DependsOnOrder { .. }) => Word::DependsOnOrder,
        Some(Call::RareSlow(_)) => Word::RareSlow,
        _ => Word::Mixed,
    }
}

/// The verdict from a policy whose huge pages were shown, in isolation, to have an effect or none.
fn shown_beside_malloc(arms: &[Arm<'_>]) -> Option<Decision> {
    let shown = arms.iter().filter_map(|arm| {
        let word = match arm.answer {
            PolicyAnswer::Better => Word::Help,
            PolicyAnswer::Worse => Word::Hurt,
            PolicyAnswer::NoDifference => Word::NoDifference,
            _ => return None,
        };
        Some((word, arm))
    });
    let (word, arm) = shown.max_by(|(_, a), (_, b)| a.effect.total_cmp(&b.effect))?;
    Some(Decision {
        pages_alone: true,
        ..Decision::of(word, arm.policy.to_owned())
    })
}

/// Without a shown effect: prefers a policy that took effect in every trial, then those with the most additional pages,
/// then the one with the most to gain. `None` if the pages of all were equal.
fn not_shown(work: &Work<'_>, claims: &[Claim], arms: &[Arm<'_>]) -> Option<Decision> {
    let differing = || arms.iter().filter(|arm| arm.more != 0.0);
    let most = differing().map(|arm| arm.more.abs()).fold(0.0, f64::max);
    let in_all = |arm: &Arm<'_>| {
        let taken = facts::taken_by_chance(work.record(), work.table(), arm.policy);
        taken.is_none_or(|it| it.taken == it.of)
    };
    let rank = |arm: &Arm<'_>| {
        let size = arm.more.abs();
        let gain = work.judged(arm.policy).and_then(|row| best_end(work, &row));
        (
            (in_all(arm), size >= AS_MANY * most),
            gain.map_or(0.0, |end| end.ln().abs()),
            size,
        )
    };
    let farthest = differing().max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0)
            .then(a.1.total_cmp(&b.1))
            .then(a.2.total_cmp(&b.2))
    })?;
    let word = match farthest.answer {
        PolicyAnswer::NoDifference => Word::NoDifference,
        PolicyAnswer::NotDecided if is_little(work, farthest) => Word::Little,
        _ => open(claims, farthest.policy),
    };
    Some(Decision::of(word, farthest.policy.to_owned()))
}

/// The word for an open claim.
fn open(claims: &[Claim], arm: &str) -> Word {
    match verdict_of(claims, arm).map(|id| &claims[id.0].call) {
        Some(Call::Open(Needs {
            fewest_rounds: Some(_),
            ..
        })) => Word::TooFewRounds,
        Some(Call::NotRun(Why::NoRound)) => Word::TooFewRounds,
        Some(Call::Failed(_) | Call::NotApplied(_)) => Word::CouldNotTry,
        _ => Word::Open,
    }
}

/// Returns true if only a small effect is possible. A malloc may hide the effect of its huge pages, so the isolated
/// effect must be small too.
fn is_little(work: &Work<'_>, arm: &Arm<'_>) -> bool {
    let verdict = &work.table().verdict;
    let baseline = work.context.settings(work.baseline);
    let of_pages = work
        .context
        .settings(arm.policy)
        .changes_pages_alone(&baseline);
    let mut alone = work.table().pages_alone.iter();
    let alone = alone.find(|it| it.comparison.policy == arm.policy);
    let small_alone = of_pages || alone.is_some_and(|it| can_only_be_small(work, &it.comparison));
    !verdict.reasons.contains_key(arm.policy)
        && small_alone
        && work
            .judged(arm.policy)
            .is_some_and(|row| can_only_be_small(work, &row))
}

/// Returns true if the whole interval is within [`LITTLE`] thresholds.
pub(super) fn can_only_be_small(work: &Work<'_>, row: &Comparison) -> bool {
    let most = LITTLE * work.table().verdict.threshold;
    let ends = row.low.zip(row.high).filter(|_| row.ratio.is_some());
    ends.is_some_and(|(low, high)| 1.0 - most <= low && high <= 1.0 + most)
}

/// The end of an interval of ratios at which the policy is better.
pub(super) fn best_end(work: &Work<'_>, row: &Comparison) -> Option<f64> {
    row.ratio?;
    let (low, high) = row.low.zip(row.high)?;
    match crate::run::compare::labels::metric_of(work.record(), &row.metric).better {
        Better::Lower => (low < 1.0).then_some(low),
        Better::Higher => (high > 1.0).then_some(high),
        Better::Neither => None,
    }
}

/// No setting that affects only pages changed a page. A policy with further settings may have: if it changed the time,
/// pages need not be the reason.
fn without_pages(work: &Work<'_>, claims: &[Claim], arms: &[Arm<'_>]) -> Decision {
    let is_other = |policy: &Policy| arms.iter().all(|arm| arm.policy != policy.name);
    let others = arms_where(work, is_other);
    let same = arms.iter().chain(&others).any(|arm| arm.more == 0.0);
    let telling = others
        .into_iter()
        .filter(|arm| is_telling(work.context, arm.more));
    let telling: Vec<Arm<'_>> = telling.collect();
    let undecided = [PolicyAnswer::NotDecided, PolicyAnswer::NoDifference];
    let shown = telling
        .iter()
        .filter(|arm| !undecided.contains(&arm.answer));
    match shown.max_by(|a, b| a.effect.total_cmp(&b.effect)) {
        Some(largest) => {
            let best = work.table().verdict.best.clone();
            let is_other = |it: &String| *it != work.baseline;
            let arm = best.filter(is_other).unwrap_or(largest.policy.to_owned());
            return Decision::of(Word::NotAboutPages, arm);
        }
        None => {
            if let Some(decision) = not_shown(work, claims, &telling) {
                return decision;
            }
        }
    }
    Decision::without_arm(match smallness(work).is_some() || same {
        true => Word::SamePages,
        false => Word::CouldNotTry,
    })
}

/// The memory of the largest process and of a huge page, in bytes, if the first is less.
pub(super) fn smallness(work: &Work<'_>) -> Option<(f64, f64)> {
    let peak = work
        .context
        .medians
        .get(work.baseline, MetricId::PeakRssBytes)
        .ok()?;
    let huge_page = work.context.host().pmd_bytes()?;
    let is_small = work.record().holds_no_huge_page(peak, huge_page);
    is_small.then_some((peak, huge_page as f64))
}

/// A policy that sets more than pages and changed them by more than one, if pages on their own are undecided. It must
/// be the best, or shown to be worse.
fn with_more_than_pages(
    work: &Work<'_>,
    claims: &[Claim],
    pages: Option<&Decision>,
) -> Option<String> {
    let verdict = &work.table().verdict;
    let pages = pages?;
    let is_asked = match pages.word {
        Word::Open | Word::Little | Word::TooFewRounds => true,
        Word::Mixed | Word::RareSlow | Word::DependsOnOrder => verdict.best.is_some(),
        Word::SamePages | Word::CouldNotTry => pages.arm.is_none(),
        _ => false,
    };
    if !is_asked {
        return None;
    }
    let best = verdict
        .best
        .as_ref()
        .filter(|it| **it != verdict.baseline && pages.arm.as_ref() != Some(*it));
    // A policy meant to change pages that made none is no answer if another one made some.
    let idle = |best: &str| pages.arm.is_some() && is_malloc_without_pages(work.context, best);
    let best = best.filter(|best| !idle(best));
    let changing = changing(work).map(|it| &it.name);
    let worse = |name: &&String| verdict.policies.get(*name) == Some(&PolicyAnswer::Worse);
    let found = match (best, &pages.arm) {
        (Some(best), Some(_)) => Some(best),
        (Some(best), None) => changing.filter(|it| *it == best),
        (None, _) => changing.filter(worse),
    };
    found
        .filter(|name| verdict_of(claims, name).is_some())
        .cloned()
}

/// A policy that changed the pages by more than one and has further settings: the best, otherwise a worse one,
/// otherwise the first.
fn changing<'a>(work: &Work<'a>) -> Option<&'a Policy> {
    let verdict = &work.table().verdict;
    let baseline = work.context.settings(work.baseline);
    let plan = &work.record().header.plan;
    let found = plan.policies.iter().filter(|policy| {
        let more = more_huge_bytes(work.context, &policy.name);
        !plan.is_overhead_control(&policy.name)
            && !policy.settings.changes_pages_alone(&baseline)
            && more.is_some_and(|more| is_telling(work.context, more))
    });
    found.min_by_key(|policy| {
        let is_best = verdict.best.as_ref() == Some(&policy.name);
        let is_worse = verdict.policies.get(&policy.name) == Some(&PolicyAnswer::Worse);
        (!is_best, !is_worse)
    })
}

/// No policy is about pages. The answer comes from the best one, a worse one, or one whose gain comes from failed
/// requests.
fn not_about_pages(work: &Work<'_>, claims: &[Claim]) -> Decision {
    let verdict = &work.table().verdict;
    let best = verdict
        .best
        .as_ref()
        .filter(|best| **best != verdict.baseline);
    let is_judged = |it: &&Policy| !work.record().header.plan.is_overhead_control(&it.name);
    let mut policies = work.policies().filter(is_judged);
    let first = |answer: PolicyAnswer| {
        let mut all = work.policies().filter(is_judged).map(|it| &it.name);
        all.find(|name| verdict.policies.get(*name) == Some(&answer))
    };
    let told = best
        .or_else(|| first(PolicyAnswer::Worse))
        .or_else(|| first(PolicyAnswer::Better));
    match told {
        Some(arm) => Decision::of(Word::NotAboutPages, arm.clone()),
        None => match policies.next() {
            Some(policy) => {
                let call = verdict_of(claims, &policy.name).map(|id| &claims[id.0].call);
                let word = match call {
                    Some(Call::Same) => Word::NoDifference,
                    Some(Call::SamePages(_)) => Word::SamePages,
                    _ => open(claims, &policy.name),
                };
                Decision::of(word, policy.name.clone())
            }
            None => Decision::without_arm(Word::CouldNotTry),
        },
    }
}

/// The claims that support the word.
fn headline(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Vec<ClaimId> {
    let all = || (0..claims.len()).map(ClaimId);
    let metric = &work.table().verdict.metric;
    if decision.word == Word::Compared {
        let is_it = |claim: &Claim| {
            claim.contrast.metric == *metric
                && matches!(claim.contrast.when, When::BackToBack | When::PerRecord(_))
                && claim.contrast.against != Against::Itself
                && !matches!(claim.contrast.against, Against::Rival(_))
        };
        let cells = differing_cells(work, claims);
        return match cells.is_empty() {
            true => all().filter(|id| is_it(&claims[id.0])).collect(),
            false => cells,
        };
    }
    let Some(arm) = &decision.arm else {
        return Vec::new();
    };
    let of_arm = |id: &ClaimId, fits: &dyn Fn(&Claim) -> bool| {
        let claim = &claims[id.0];
        claim.contrast.arm == *arm && fits(claim)
    };
    let is_alone =
        |claim: &Claim| matches!(claim.contrast.against, Against::SmallPagesSameMalloc(_));
    let alone = all().find(|id| of_arm(id, &is_alone));
    let verdict = verdict_of(claims, arm);
    let is_idle = |claim: &Claim| {
        matches!(claim.contrast.when, When::AfterIdle(_)) && claim.call == Call::Worse
    };
    let idle =
        all().find(|id| of_arm(id, &is_idle) && claims[id.0].effect != Some(Effect::Ratio(1.0)));
    let first = match (decision.pages_alone, decision.word) {
        (true, _) => [alone, verdict],
        (false, Word::NotAboutPages) => [verdict, alone],
        (false, _) => [verdict, None],
    };
    let shown = |claim: &Claim| is_row(claim) && is_shown_beside(work, claim);
    let is_open = matches!(
        decision.word,
        Word::Open | Word::Little | Word::TooFewRounds
    );
    let shown = all().filter(|id| is_open && of_arm(id, &shown));
    first
        .into_iter()
        .flatten()
        .chain(idle)
        .chain(shown)
        .collect()
}

/// The cells of a bench that differ from those of the baseline, the largest difference first.
fn differing_cells(work: &Work<'_>, claims: &[Claim]) -> Vec<ClaimId> {
    let bench = work.record().header.plan.bench.as_ref();
    let bench = bench.filter(|_| work.source.other.is_none());
    let Some((bench, suite)) = bench.and_then(|bench| Some((bench, bench.suite()?))) else {
        return Vec::new();
    };
    let primary = |cell: &BenchCell| cell.reading(suite.primary());
    let cells: BTreeSet<String> = bench.cells.iter().map(primary).collect();
    let distance = |claim: &Claim| match claim.effect {
        Some(Effect::Ratio(ratio)) => ratio.ln().abs(),
        _ => 0.0,
    };
    let is_it = |claim: &Claim| {
        is_row(claim)
            && claim.contrast.statistic == Statistic::Center
            && claim.call.is_shown()
            && cells.contains(&claim.contrast.metric)
    };
    let mut found: Vec<ClaimId> = (0..claims.len())
        .map(ClaimId)
        .filter(|id| is_it(&claims[id.0]))
        .collect();
    found.sort_by(|a, b| distance(&claims[b.0]).total_cmp(&distance(&claims[a.0])));
    found
}

/// Returns true for a plain comparison with the baseline.
fn is_row(claim: &Claim) -> bool {
    claim.contrast.against == Against::Baseline && claim.contrast.when == When::BackToBack
}

impl Arm<'_> {
    /// Returns true if both changed the time and the pages in the same direction.
    fn shows_the_same_as(&self, other: &Self) -> bool {
        self.answer.is_shown() && self.answer == other.answer && self.more * other.more > 0.0
    }
}

impl Decision {
    fn of(word: Word, arm: String) -> Self {
        Self {
            word,
            headline: Vec::new(),
            arm: Some(arm),
            pages_alone: false,
        }
    }

    fn without_arm(word: Word) -> Self {
        Self {
            word,
            headline: Vec::new(),
            arm: None,
            pages_alone: false,
        }
    }
}
