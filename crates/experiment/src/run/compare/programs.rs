//! Comparison of programs: the others with the first under each policy, and whether they gain equally from the
//! policies.
//!
//! The two are separate claims, each with an error of 5 % over all its pairs. A third one is the effect of the policies
//! on each program, computed from that program's part of the record.

use super::interaction::{Interaction, Judge, Pair};
use super::stopping::{FORETELLING, Progress, reason_to_drop, stop_reason};
use super::table::{AS_PLANNED, Judged};
use super::{CompareError, Comparison, Options, Table, Verdict};
use crate::run::plan::Plan;
use crate::run::policy::Policy;
use crate::run::record::{Record, Removal, RemovalReason, StopReason};

/// Compares every program with the first, under each policy and in every metric.
pub(super) fn table(record: &Record, options: &Options) -> Result<Table, CompareError> {
    let contests = contests(record, options)?;
    let mut tables = contests.iter().map(|contest| {
        let rows = contest.judged.all_rows();
        contest.judged.conclude(rows)
    });
    let mut table = tables.next().ok_or(CompareError::NoPrograms)?;
    for more in tables {
        table.comparisons.extend(more.comparisons);
        merge(&mut table.verdict, more.verdict);
    }
    // The best program to run is not a question about policies.
    table.verdict.best = None;
    table.verdict.equals.clear();
    table.verdict.preference = None;
    table.interactions = interactions(record, options, &contests);
    Ok(table)
}

/// Adds the answers of another policy.
fn merge(verdict: &mut Verdict, more: Verdict) {
    verdict.policies.extend(more.policies);
    verdict.reasons.extend(more.reasons);
    verdict.runs.extend(more.runs);
    verdict.user_time.extend(more.user_time);
    verdict.provisional.extend(more.provisional);
}

/// The programs under one policy.
struct Contest<'a> {
    policy: &'a str,
    judged: Judged<'a>,
}

/// One contest for each policy under which both the first program and another one ran; that of the baseline comes
/// first.
fn contests<'a>(
    record: &'a Record,
    options: &'a Options,
) -> Result<Vec<Contest<'a>>, CompareError> {
    let plan = &record.header.plan;
    let baseline = baseline(plan, options);
    let mut policies = plan.own_policies();
    if !policies.contains(&baseline) {
        return Err(CompareError::UnknownPolicy {
            name: baseline.to_owned(),
            known: policies.join(", "),
        });
    }
    policies.sort_by_key(|policy| *policy != baseline);
    let mut contests = Vec::new();
    for policy in policies {
        let Some((first, others)) = under(plan, policy) else {
            continue;
        };
        let judged = Judged::against(record, options, first, others)?;
        contests.push(Contest { policy, judged });
    }
    let claims: usize = contests.iter().map(|it| it.judged.policies().count()).sum();
    for contest in &mut contests {
        contest.judged.claims = claims.max(1) as u32;
    }
    Ok(contests)
}

/// The policy that the others are compared with.
fn baseline<'a>(plan: &'a Plan, options: &'a Options) -> &'a str {
    let planned = plan.policy_of(&plan.baseline);
    options.baseline.as_deref().unwrap_or(planned)
}

/// The arms of one policy: that of the first program, and the others; `None` if either is missing.
fn under<'a>(plan: &'a Plan, policy: &str) -> Option<(&'a Policy, Vec<&'a Policy>)> {
    let arms = plan.programs.iter().map(|program| {
        let arm = program.under(policy);
        plan.policies.iter().find(|it| it.name == arm)
    });
    let arms: Vec<Option<&Policy>> = arms.collect();
    let (first, others) = arms.split_first()?;
    let others: Vec<&Policy> = others.iter().flatten().copied().collect();
    Some(((*first)?, others)).filter(|(_, others)| !others.is_empty())
}

fn interactions(record: &Record, options: &Options, contests: &[Contest<'_>]) -> Vec<Interaction> {
    let pairs = Pair::all(&record.header.plan, baseline(&record.header.plan, options));
    let judge = contests.first().map(|it| judge(&it.judged, &pairs));
    let judged = judge.map(|judge| pairs.iter().map(|pair| judge.judge(pair)).collect());
    judged.unwrap_or_default()
}

fn judge<'a>(judged: &'a Judged<'_>, pairs: &[Pair<'_>]) -> Judge<'a> {
    Judge {
        rounds: &judged.rounds,
        metric: judged.metric,
        better: judged.better,
        threshold: judged.threshold,
        claims: pairs.len().max(1) as u32,
    }
}

/// The running estimates of the verdict metric.
pub(super) fn running(record: &Record) -> Result<Vec<Comparison>, CompareError> {
    let contests = contests(record, &AS_PLANNED)?;
    let rows = contests.iter().flat_map(|it| it.judged.deciding_rows());
    Ok(rows.collect())
}

/// Returns the policies with an answer after the rounds of a record, and whether the experiment may stop. A policy is
/// dropped for all programs at once: compared arms run in the same rounds.
pub(super) fn progress(record: &Record, rounds_left: u32) -> Result<Progress, CompareError> {
    let inquiry = Inquiry {
        record,
        contests: contests(record, &AS_PLANNED)?,
        parts: parts(record),
        rounds_left,
    };
    let Some(first) = inquiry.contests.first() else {
        return Err(CompareError::NoPrograms);
    };
    let rounds = first.judged.rounds.whole;
    let plan = &record.header.plan;
    let mut fates = Vec::new();
    let mut drops = Vec::new();
    for policy in plan.own_policies() {
        let fate = match inquiry.running(policy).is_empty() {
            true => Some(RemovalReason::Decided),
            false if rounds >= plan.bounds.min_rounds => inquiry.fate(policy)?,
            false => None,
        };
        let dropped = fate.iter().filter(|_| !plan.is_baseline(policy));
        drops.extend(dropped.flat_map(|why| inquiry.drops(policy, why)));
        fates.push(fate);
    }
    let mut stop = inquiry.stop(rounds, &fates);
    // As for one program: if nothing is within reach and nothing was shown, the time is not needed elsewhere.
    let is_hopeless = |why: &RemovalReason| *why == RemovalReason::OutOfReach;
    let is_shown = inquiry.shows_something()?;
    if stop == Some(StopReason::OutOfReach) && !is_shown {
        drops.retain(|drop| !is_hopeless(&drop.why));
        let open = fates
            .into_iter()
            .map(|fate| fate.filter(|why| !is_hopeless(why)));
        stop = inquiry.stop(rounds, &open.collect::<Vec<_>>());
    }
    Ok(Progress {
        rounds,
        stop,
        drops,
        is_shown,
    })
}

/// The part of the record for each program.
fn parts(record: &Record) -> Vec<Record> {
    let programs = record.header.plan.programs.iter();
    programs.map(|it| record.of_program(it)).collect()
}

/// All questions of a running experiment with programs.
struct Inquiry<'a> {
    record: &'a Record,
    contests: Vec<Contest<'a>>,
    parts: Vec<Record>,
    rounds_left: u32,
}

impl Inquiry<'_> {
    /// The arms of a policy that still run.
    fn running(&self, policy: &str) -> Vec<&str> {
        let next = self.record.next_round();
        let plan = &self.record.header.plan;
        let arms = plan.policies.iter().map(|arm| arm.name.as_str());
        arms.filter(|arm| plan.policy_of(arm) == policy && self.record.is_run(arm, next))
            .collect()
    }

    /// The removals of all arms of a policy.
    fn drops(&self, policy: &str, why: &RemovalReason) -> Vec<Removal> {
        let running = self.running(policy).into_iter();
        let removal = |arm: &str| Removal {
            round: self.record.next_round(),
            policy: arm.to_owned(),
            why: why.clone(),
        };
        running.map(removal).collect()
    }

    /// Returns why a policy need not run any more; `None` while any of its questions is open.
    fn fate(&self, policy: &str) -> Result<Option<RemovalReason>, CompareError> {
        let mut reasons = self.of_contests(policy);
        reasons.extend(self.of_interactions(policy));
        for part in &self.parts {
            reasons.extend(self.of_part(part, policy)?);
        }
        Ok(together(reasons))
    }

    fn of_contests(&self, policy: &str) -> Vec<Option<RemovalReason>> {
        let contests = self.contests.iter().filter(|it| it.policy == policy);
        contests
            .flat_map(|contest| {
                let arms = contest.judged.policies();
                arms.map(|arm| self.reason(&contest.judged, &arm.name))
            })
            .collect()
    }

    /// The fate of the policy for one program.
    fn of_part(
        &self,
        part: &Record,
        policy: &str,
    ) -> Result<Option<Option<RemovalReason>>, CompareError> {
        let judged = Judged::as_planned(part)?;
        let is_asked = judged.policies().any(|it| it.name == policy);
        Ok(is_asked.then(|| self.reason(&judged, policy)))
    }

    fn reason(&self, judged: &Judged<'_>, policy: &str) -> Option<RemovalReason> {
        let judgement = judged.evidence().judge(policy);
        let policy = judged.policies().find(|it| it.name == policy)?;
        reason_to_drop(judged, policy, &judgement, self.rounds_left)
    }

    fn of_interactions(&self, policy: &str) -> Vec<Option<RemovalReason>> {
        let plan = &self.record.header.plan;
        let pairs = Pair::all(plan, plan.policy_of(&plan.baseline));
        let Some(contest) = self.contests.first() else {
            return Vec::new();
        };
        let judge = judge(&contest.judged, &pairs);
        let foretells = contest.judged.rounds.whole >= FORETELLING && self.rounds_left > 0;
        let left = foretells.then_some(self.rounds_left);
        let asked = pairs.iter().filter(|pair| pair.policy == policy);
        asked.map(|pair| judge.settled(pair, left)).collect()
    }

    /// Returns true if a difference between programs, or an effect of a policy on one, was shown.
    fn shows_something(&self) -> Result<bool, CompareError> {
        let shows = |judged: &Judged<'_>| {
            let evidence = judged.evidence();
            judged
                .policies()
                .any(|it| evidence.judge(&it.name).answer.is_shown())
        };
        let of_parts = self.parts.iter().map(Judged::as_planned);
        let of_parts = of_parts.collect::<Result<Vec<_>, _>>()?;
        let mut all = self.contests.iter().map(|it| &it.judged).chain(&of_parts);
        Ok(all.any(shows))
    }

    fn stop(&self, rounds: u32, fates: &[Option<RemovalReason>]) -> Option<StopReason> {
        let record = self.record;
        let bounds = &record.header.plan.bounds;
        let left = record.removals_at(record.next_round());
        let earlier = left.map(|removal| Some(removal.why.clone()));
        match together(fates.iter().cloned().chain(earlier).collect()) {
            Some(RemovalReason::OutOfReach) => return Some(StopReason::OutOfReach),
            Some(_) => return Some(StopReason::Decided),
            None => {}
        }
        let precise = |share| self.contests.iter().all(|it| it.judged.is_precise(share));
        stop_reason(bounds, rounds, precise)
    }
}

/// One reason for several questions; `None` while one is open.
fn together(reasons: Vec<Option<RemovalReason>>) -> Option<RemovalReason> {
    let reasons: Vec<RemovalReason> = reasons.into_iter().collect::<Option<_>>()?;
    Some(match reasons.contains(&RemovalReason::OutOfReach) {
        true => RemovalReason::OutOfReach,
        false => RemovalReason::Decided,
    })
}
