//! How sure the answer is: how many rounds agree, how often such an answer is false, and how far the
//! baseline lies from itself.

use std::collections::BTreeMap;

use super::super::Report;
use super::super::conclusion::{Conclusion, HARDLY, HugePages};
use super::super::{control, starts};
use super::more_than_pages::shown_with_more_than_pages;
use super::sentence::may_be_small;
use super::{headline, judged, pages_alone};
use crate::run::compare::{Answer, Change, Comparison};
use crate::run::plan::JudgeBy;
use crate::run::record::Record;
use crate::run::trial::Role;
use crate::text::number::{chosen_percent, counted};
use crate::text::wrap::plain;

/// One line; `None` where no policy had an effect that could be judged.
pub(in super::super) fn certainty(report: &Report<'_>) -> Option<String> {
    let is_program = report.other.is_none() && report.record.header.plan.bench.is_none();
    if !is_program {
        return None;
    }
    if !is_decided(report) {
        return undecided(report);
    }
    let conclusion = super::conclude(report);
    let is_warm = |it: &Conclusion| headline::is_of_warm_memory(report, it);
    let is_beside_malloc = conclusion.as_ref().is_some_and(|it| it.beside_malloc);
    let scope = match conclusion.as_ref().is_some_and(is_warm) {
        _ if is_beside_malloc => " for the huge pages alone".to_owned(),
        true => " for back-to-back runs".to_owned(),
        false => starts::scope(report),
    };
    let size = size(report, conclusion.as_ref());
    let mut parts = vec![format!("How sure: {}{scope}{size}", level(report))];
    parts.extend(agreement(report));
    let of_pages = conclusion.filter(|it| !it.beside_malloc);
    parts.extend(of_pages.and_then(|it| pages_alone::proof(report, &it.policy?)));
    parts.extend(control::brief(report));
    Some(format!("{}.", parts.join("; ")))
}

/// How often such an answer is right.
fn level(report: &Report<'_>) -> &'static str {
    match report.table.verdict.judge_by {
        JudgeBy::Mean | JudgeBy::P95 => "about 95 %",
        JudgeBy::Shape | JudgeBy::Typical => "at least 95 %",
    }
}

/// ` that they help, though perhaps by less than 1 %`, where the interval of the answer reaches below the smallest effect
/// of interest: the direction is known, the worth is not.
fn size(report: &Report<'_>, conclusion: Option<&Conclusion>) -> String {
    let with_more = shown_with_more_than_pages(report);
    let what = match (with_more, conclusion.map(|it| it.huge_pages)) {
        (Some(_), _) => "",
        (_, Some(HugePages::Help | HugePages::HelpAtAPrice)) => " that they help",
        (_, Some(HugePages::Hurt)) => " that they hurt",
        _ => return String::new(),
    };
    let of_pages = || pages_alone::comparison(report, conclusion?);
    let row = with_more.map_or_else(of_pages, |policy| judged(report, policy));
    match row.filter(|row| may_be_small(report, row)) {
        Some(_) => format!(
            "{what}, though perhaps by less than {} %",
            chosen_percent(report.table.verdict.threshold)
        ),
        None => String::new(),
    }
}

/// Whether a policy has an answer that could be judged.
fn is_decided(report: &Report<'_>) -> bool {
    let is_answer = |answer: &Answer| {
        !matches!(
            answer,
            Answer::NoEffect | Answer::NotDecided | Answer::DependsOnOrder
        )
    };
    let answers = &report.table.verdict.policies;
    let conclusion = super::conclude(report);
    let is_of_pages = conclusion.as_ref().is_some_and(|it| it.beside_malloc);
    // Another policy may have an answer that the first sentence is not about.
    let is_open = conclusion.is_some_and(|it| it.huge_pages.is_open());
    if is_open && shown_with_more_than_pages(report).is_none() {
        return false;
    }
    let plan = &report.record.header.plan;
    let mut judged = answers.iter().filter(|(name, _)| !plan.is_sham(name));
    is_of_pages || judged.any(|(_, answer)| is_answer(answer))
}

/// The rounds of the policy of which the line speaks.
struct Rounds {
    policy: String,
    /// Those that lie on the side of its effect.
    agreeing: usize,
    of: usize,
}

/// `How sure: not decided after 32 rounds; control passed (−0.4 to +0.6 %).` Where the policy was dropped
/// before the end: `after 10 rounds with thp=always, 32 in all`. Where no policy has an interval, for want of rounds or
/// because all its trials failed, the answer says so.
fn undecided(report: &Report<'_>) -> Option<String> {
    let own = open(report)?;
    let rounds = counted(own.of as u64, "round");
    let whose = own.of_whom(report.record);
    let all = match whose.is_empty() {
        true => String::new(),
        false => format!(", {} in all", report.record.compared_rounds()),
    };
    let is_small = |it: &Conclusion| it.huge_pages == HugePages::HardlyMatter;
    let known = match super::conclude(report).as_ref().is_some_and(is_small) {
        true => format!(
            "{} that it changes by less than {} %; better or worse is ",
            level(report),
            chosen_percent(HARDLY * report.table.verdict.threshold)
        ),
        false => String::new(),
    };
    let mut parts = vec![format!(
        "How sure: {known}not decided after {rounds}{whose}{all}"
    )];
    parts.extend(control::brief(report));
    Some(format!("{}.", parts.join("; ")))
}

/// The rounds of the policy that is not decided.
fn open(report: &Report<'_>) -> Option<Rounds> {
    let answers = &report.table.verdict.policies;
    let is_open = |policy: &&String| answers.get(*policy) == Some(&Answer::NotDecided);
    let policy = match super::conclude(report) {
        Some(conclusion) => conclusion.policy.filter(|policy| is_open(&policy)),
        None => answers.keys().find(is_open).cloned(),
    }?;
    let row = judged(report, &policy).filter(|row| row.low.is_some())?;
    Some(Rounds::of(report.record, policy, &row))
}

/// `12 of 12 rounds agree`, for the policy of the answer where that is better or worse.
fn agreement(report: &Report<'_>) -> Option<String> {
    let rounds = directed(report)?;
    let (Rounds { agreeing, of, .. }, whose) = (&rounds, rounds.of_whom(report.record));
    Some(format!("{agreeing} of {of} rounds{whose} agree"))
}

/// The rounds of the policy of the answer, where that is better or worse.
fn directed(report: &Report<'_>) -> Option<Rounds> {
    let with_more = shown_with_more_than_pages(report);
    let with_more = || judged(report, with_more?);
    let of_answer = || pages_alone::comparison(report, &super::conclude(report)?);
    let best = || judged(report, super::super::advice::best(report)?);
    let row = with_more().or_else(of_answer).or_else(best)?;
    let is_directed = matches!(row.change, Change::Higher | Change::Lower);
    let rounds = is_directed.then(|| Rounds::of(report.record, row.policy.clone(), &row))?;
    (rounds.of > 0).then_some(rounds)
}

impl Rounds {
    fn of(record: &Record, policy: String, row: &Comparison) -> Self {
        let (agreeing, of) = rounds(record, row);
        Self {
            policy,
            agreeing,
            of,
        }
    }

    /// ` with thp=always`, where the experiment has another number of rounds: the policy was dropped
    /// before the end, or trials of it failed.
    fn of_whom(&self, record: &Record) -> String {
        match self.of == record.compared_rounds() as usize {
            true => String::new(),
            false => format!(" with {}", plain(&self.policy)),
        }
    }
}

/// In how many rounds a policy lies on the side of its effect, and how many there are.
fn rounds(record: &Record, row: &Comparison) -> (usize, usize) {
    let mut rounds: BTreeMap<u32, (Vec<f64>, Option<f64>)> = BTreeMap::new();
    let whole = record.whole_rounds();
    let trials = record.trials.iter();
    for trial in trials.filter(|it| it.succeeded() && whole.contains(&it.round)) {
        let Some(value) = trial.value(&row.metric) else {
            continue;
        };
        let (baseline, policy) = rounds.entry(trial.round).or_default();
        if trial.policy == row.baseline {
            baseline.push(value);
        } else if trial.policy == row.policy && trial.role == Role::Arm {
            *policy = Some(value);
        }
    }
    let known = rounds.values().filter_map(|(baseline, policy)| {
        let count = baseline.len() as f64;
        (count > 0.0).then_some(())?;
        Some((*policy)? - baseline.iter().sum::<f64>() / count)
    });
    let known: Vec<f64> = known.collect();
    let agrees = |change: &&f64| match row.change {
        Change::Higher => **change > 0.0,
        _ => **change < 0.0,
    };
    (known.iter().filter(agrees).count(), known.len())
}
