//! The question of every experiment, answered in one place: do huge pages help this program?

use serde::Serialize;

use super::Report;
use super::advice::at_best::best_end;
use super::advice::best;
use super::answer::{judged, pages_alone};
use super::pages::{is_telling, more_huge_bytes};
use crate::run::compare::{Answer, Comparison};
use crate::run::findings::host_cold_memory::is_dear_after_rest;
use crate::run::findings::win_with_a_loss::prices;
use crate::run::findings::{Context, Finding};
use crate::run::metric::MetricId;
use crate::run::policy::Policy;

/// What huge pages do for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HugePages {
    /// They help.
    Help,
    /// They help, and something else is worse: a tail, memory, a run after a rest.
    HelpAtAPrice,
    /// They hurt.
    Hurt,
    /// They help some runs and hurt others.
    HelpSometimes,
    /// Shown to make no difference, or the program is smaller than one.
    DoNotMatter,
    /// Shown to change less than three thresholds, in a direction that the rounds do not tell.
    HardlyMatter,
    /// Nothing that was run changed the program's pages, or only what changes more than these.
    NotTried,
    /// The rounds do not tell.
    NotDecided,
}

/// How many thresholds an effect may lie on either side of none, as a whole interval, to be called small: what is
/// left to gain or to lose is worth no more rounds to most. The threshold is what the user calls nothing.
pub(super) const HARDLY: f64 = 3.0;

/// The share of the most huge pages that another policy has from which on it has as many.
const AS_MANY: f64 = 0.9;

impl HugePages {
    /// Whether more rounds may tell more.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::NotDecided | Self::HardlyMatter)
    }
}

/// The answer, and the policy that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    /// What huge pages do.
    pub huge_pages: HugePages,
    /// The policy whose comparison with the baseline shows it; `None` where no policy changed the
    /// pages.
    pub policy: Option<String>,
    /// Whether the baseline has more huge pages than that policy.
    pub baseline_has_more: bool,
    /// Whether it is no comparison with the baseline but one with malloc alone that shows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beside_malloc: bool,
}

/// A policy beside the baseline.
#[derive(Clone, Copy)]
struct Arm<'a> {
    policy: &'a str,
    answer: Answer,
    /// How many more bytes are huge than under the baseline.
    more: f64,
    /// How large its effect is, whichever way it goes.
    effect: f64,
}

/// The conclusion of a report; `None` where no policy is about huge pages, where nothing is
/// compared, for two records, for several programs, and for a bench, whose answer is about its cells.
pub(super) fn conclude(report: &Report<'_>) -> Option<Conclusion> {
    let conclusion = &report.known.conclusion;
    conclusion.get_or_init(|| work_out(report)).clone()
}

fn work_out(report: &Report<'_>) -> Option<Conclusion> {
    let is_bench = report.record.header.plan.bench.is_some();
    if report.other.is_some() || report.compares_programs() || is_bench {
        return None;
    }
    let context = Context::new(report.record, &report.table);
    let Siblings { mut arms, others } = siblings(report, &context);
    if arms.is_empty() && others.is_empty() {
        return None;
    }
    let (confirmed, unconfirmed): (Vec<_>, Vec<_>) = others.into_iter().partition(|other| {
        let beside_malloc = beside_malloc(report, other);
        let mut telling = arms.iter().chain(&beside_malloc);
        telling.any(|arm| arm.shows_the_same_as(other))
    });
    arms.extend(confirmed);
    if let Some(conclusion) = shown(report, &context, &arms) {
        return Some(conclusion);
    }
    let changing = unconfirmed
        .iter()
        .filter(|arm| is_telling(&context, arm.more));
    let beside_malloc: Vec<Arm<'_>> = changing
        .filter_map(|it| beside_malloc(report, it))
        .collect();
    if let Some(conclusion) = shown_beside_malloc(&beside_malloc) {
        return Some(conclusion);
    }
    // An estimate of what malloc and its pages do together tells more than why pages alone have none.
    let is_estimated = unconfirmed.iter().any(|arm| is_telling(&context, arm.more));
    let is_told = |arm: &Arm<'_>| !is_estimated || !has_reason(report, arm);
    let told: Vec<Arm<'_>> = arms.iter().copied().filter(is_told).collect();
    let answer = not_shown(report, &told);
    Some(answer.unwrap_or_else(|| without_pages(report, &context, &arms)))
}

/// The policies that differ from the baseline in what is there to decide about huge pages.
struct Siblings<'a> {
    /// Those that differ in pages alone.
    arms: Vec<Arm<'a>>,
    /// Those under which malloc works otherwise too. What they change may be due to that: it shows what huge pages do
    /// only where a policy of pages alone shows the same.
    others: Vec<Arm<'a>>,
}

fn siblings<'a>(report: &'a Report<'_>, context: &Context<'_>) -> Siblings<'a> {
    let baseline = context.settings(context.baseline());
    Siblings {
        arms: arms_where(report, context, |it| {
            it.settings.changes_pages_alone(&baseline)
        }),
        others: arms_where(report, context, |it| {
            it.settings.changes_malloc_too(&baseline)
        }),
    }
}

/// The same policy beside malloc alone, where that ran too.
fn beside_malloc<'a>(report: &Report<'_>, arm: &Arm<'a>) -> Option<Arm<'a>> {
    let known = pages_alone(report, arm.policy)?;
    Some(Arm {
        answer: known.answer,
        effect: known.comparison.distance()?,
        ..*arm
    })
}

/// The answer of a policy whose huge pages were shown to do something by themselves, or nothing.
fn shown_beside_malloc(arms: &[Arm<'_>]) -> Option<Conclusion> {
    let shown = arms.iter().filter_map(|arm| {
        let huge_pages = match arm.answer {
            Answer::Better => HugePages::Help,
            Answer::Worse => HugePages::Hurt,
            Answer::NoDifference => HugePages::DoNotMatter,
            _ => return None,
        };
        Some((huge_pages, arm))
    });
    let (huge_pages, arm) = shown.max_by(|(_, a), (_, b)| a.effect.total_cmp(&b.effect))?;
    Some(Conclusion {
        huge_pages,
        policy: Some(arm.policy.to_owned()),
        baseline_has_more: false,
        beside_malloc: true,
    })
}

/// Whether something else than its rounds keeps a policy from an answer.
fn has_reason(report: &Report<'_>, arm: &Arm<'_>) -> bool {
    report.table.verdict.reasons.contains_key(arm.policy)
}

fn arms_where<'a>(
    report: &'a Report<'_>,
    context: &Context<'_>,
    is_wanted: impl Fn(&Policy) -> bool,
) -> Vec<Arm<'a>> {
    let verdict = &report.table.verdict;
    let policies = report.record.header.plan.policies.iter();
    let arm = |policy: &'a str| {
        Some(Arm {
            policy,
            answer: *verdict.policies.get(policy)?,
            more: more_huge_bytes(context, policy)?,
            effect: judged(report, policy)
                .and_then(|row| row.distance())
                .unwrap_or(0.0),
        })
    };
    let wanted = policies.filter(|policy| is_wanted(policy));
    wanted.filter_map(|policy| arm(&policy.name)).collect()
}

/// The answer of a policy that was shown to change something, and whose pages differ.
fn shown(report: &Report<'_>, context: &Context<'_>, arms: &[Arm<'_>]) -> Option<Conclusion> {
    let best = best(report);
    let largest = |wanted: &[Answer], sign: f64| {
        let fitting = arms
            .iter()
            .filter(|arm| wanted.contains(&arm.answer) && arm.more * sign > 0.0);
        fitting.max_by(|a, b| {
            let rank = |arm: &Arm<'_>| (best == Some(arm.policy), arm.effect);
            let ((a_best, a), (b_best, b)) = (rank(a), rank(b));
            a_best.cmp(&b_best).then(a.total_cmp(&b))
        })
    };
    let both = [Answer::Mixed, Answer::DependsOnOrder];
    let found = |huge_pages, arm: &Arm<'_>| Conclusion::of(huge_pages, arm);
    if let Some(arm) = largest(&[Answer::Better], 1.0) {
        let is_free = prices(context, arm.policy).is_empty()
            && !is_dear_after_rest(&report.findings, arm.policy);
        let help = match is_free {
            true => HugePages::Help,
            false => HugePages::HelpAtAPrice,
        };
        return Some(found(help, arm));
    }
    largest(&[Answer::Worse], -1.0)
        .map(|arm| found(HugePages::Help, arm))
        .or_else(|| largest(&[Answer::Better], -1.0).map(|arm| found(HugePages::Hurt, arm)))
        .or_else(|| largest(&[Answer::Worse], 1.0).map(|arm| found(HugePages::Hurt, arm)))
        .or_else(|| largest(&both, 1.0).map(|arm| found(HugePages::HelpSometimes, arm)))
        .or_else(|| largest(&both, -1.0).map(|arm| found(HugePages::HelpSometimes, arm)))
}

/// Where nothing was shown to change: of the policies whose pages differ, one that took effect in all trials tells before one
/// that did in some. Of those in which pages differ most, or nearly, it is the one with the most to gain, because that is
/// worth more rounds. `None` where the pages of all were alike.
fn not_shown(report: &Report<'_>, arms: &[Arm<'_>]) -> Option<Conclusion> {
    let differing = arms.iter().filter(|arm| arm.more != 0.0);
    let most = differing.clone().map(|arm| arm.more.abs());
    let most = most.fold(0.0, f64::max);
    let in_all =
        |arm: &Arm<'_>| Finding::shown(&report.findings, "taken-by-chance", arm.policy).is_none();
    let rank = |arm: &Arm<'_>| {
        let size = arm.more.abs();
        let row = judged(report, arm.policy);
        let gain = row.and_then(|row| best_end(report, &row));
        (
            in_all(arm),
            size >= AS_MANY * most,
            gain.map_or(0.0, |end| end.ln().abs()),
            size,
        )
    };
    let farthest = differing.max_by(|a, b| {
        let ((a_all, a_many, a_gain, a_size), (b_all, b_many, b_gain, b_size)) = (rank(a), rank(b));
        let by_pages = (a_all, a_many).cmp(&(b_all, b_many));
        by_pages
            .then(a_gain.total_cmp(&b_gain))
            .then(a_size.total_cmp(&b_size))
    })?;
    let huge_pages = match farthest.answer {
        Answer::NoDifference => HugePages::DoNotMatter,
        Answer::NotDecided if hardly_matters(report, farthest) => HugePages::HardlyMatter,
        _ => HugePages::NotDecided,
    };
    Some(Conclusion::of(huge_pages, farthest))
}

/// Whether the interval of a policy leaves only a small effect possible. What malloc does besides may hide what huge pages
/// do, so that these have to be small by themselves too.
fn hardly_matters(report: &Report<'_>, arm: &Arm<'_>) -> bool {
    let context = Context::new(report.record, &report.table);
    let baseline = context.settings(context.baseline());
    let is_of_pages = context.settings(arm.policy).changes_pages_alone(&baseline);
    let alone = pages_alone(report, arm.policy).map(|it| &it.comparison);
    let is_small_alone = is_of_pages || alone.is_some_and(|row| can_only_be_small(report, row));
    !has_reason(report, arm)
        && is_small_alone
        && judged(report, arm.policy).is_some_and(|row| can_only_be_small(report, &row))
}

/// Whether the whole interval of a comparison lies within [`HARDLY`] thresholds.
pub(super) fn can_only_be_small(report: &Report<'_>, row: &Comparison) -> bool {
    let most = HARDLY * report.table.verdict.threshold;
    let ends = row.low.zip(row.high).filter(|_| row.ratio.is_some());
    ends.is_some_and(|(low, high)| 1.0 - most <= low && high <= 1.0 + most)
}

/// The conclusion where no setting of pages alone changed a page. A policy that sets something
/// else too may have: where it changed the time, the pages need not be the reason.
fn without_pages(report: &Report<'_>, context: &Context<'_>, arms: &[Arm<'_>]) -> Conclusion {
    let without_answer = |huge_pages| Conclusion {
        huge_pages,
        policy: None,
        baseline_has_more: false,
        beside_malloc: false,
    };
    let others = arms_where(report, context, |policy| {
        arms.iter().all(|arm| arm.policy != policy.name)
    });
    let others: Vec<Arm<'_>> = others
        .into_iter()
        .filter(|arm| is_telling(context, arm.more))
        .collect();
    let open = [Answer::NotDecided, Answer::NoDifference];
    if others.iter().any(|arm| !open.contains(&arm.answer)) {
        return without_answer(HugePages::NotTried);
    }
    if let Some(conclusion) = not_shown(report, &others) {
        return conclusion;
    }
    without_answer(match smallness(context).is_some() {
        true => HugePages::DoNotMatter,
        false => HugePages::NotTried,
    })
}

/// The memory of the program's largest process, and of a huge page, where the first is less; bytes.
pub(super) fn smallness(context: &Context<'_>) -> Option<(f64, f64)> {
    let peak = context
        .medians
        .get(context.baseline(), MetricId::PeakRssBytes)
        .ok()?;
    let huge_page = context.host().pmd_bytes()? as f64;
    (peak < huge_page).then_some((peak, huge_page))
}

impl Arm<'_> {
    /// Whether both changed the time and the pages the same way.
    fn shows_the_same_as(&self, other: &Self) -> bool {
        self.answer.is_shown() && self.answer == other.answer && self.more * other.more > 0.0
    }
}

impl Conclusion {
    fn of(huge_pages: HugePages, arm: &Arm<'_>) -> Self {
        Self {
            huge_pages,
            policy: Some(arm.policy.to_owned()),
            baseline_has_more: arm.more < 0.0,
            beside_malloc: false,
        }
    }
}
