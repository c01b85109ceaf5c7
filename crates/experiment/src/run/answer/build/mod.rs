//! Builds the answer from the record and its comparisons. This module creates no text.
//!
//! To add an effect, add a function to `claims.rs`; to add a doubt, a variant of [`Doubt`](super::Doubt)
//! and a function to `doubts.rs`.

use std::collections::BTreeMap;

use super::{
    Answer, Budget, CellView, Claim, ClaimId, Covers, HoldsFor, Judged, MetricFacts, Subject,
    SubjectKind, When,
};
use crate::run::cause::{Cause, CauseId, Context, causes};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Comparison, Options, Statistic, Table, table};
use crate::run::plan::JudgeBy;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::stats::Quantile;

mod arms;
mod choice;
mod circumstances;
mod claims;
mod commands;
mod doubts;
mod idle;
mod inside;
mod next;
pub(crate) mod pages;
mod plain;
mod rows;
mod starts;
mod subject;
mod switchback;
mod word;

pub use commands::describe;
pub use subject::program_name;

/// The inputs of an answer.
#[derive(Debug)]
pub struct Source<'a> {
    /// The record; of two, the earlier.
    pub record: &'a Record,
    /// Its comparisons; of two, those of the later with the earlier.
    pub table: &'a Table,
    /// The later of two records.
    pub other: Option<&'a Record>,
    /// The cells of a bench.
    pub cells: Option<&'a (dyn CellView + 'a)>,
    /// Facts from outside the record.
    pub beside: &'a Beside,
}

/// Facts from outside the record: its place, and knowledge about the program.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The files of the records, as shown to users.
    pub paths: Vec<String>,
    /// All records of each side, if records are compared.
    pub sides: [Vec<String>; 2],
    /// The word that names the record in a command, such as `last`.
    pub word: Option<String>,
    /// The results of earlier records of the same experiment.
    pub earlier: Vec<String>,
    /// The program's setting that may affect pages beyond the reach of every policy.
    pub own_setting: Option<Policy>,
    /// The vendor of the program, if it advises against huge pages.
    pub objection: Option<String>,
}

/// Builds the answer.
#[must_use]
pub fn answer(source: &Source<'_>) -> Answer {
    let context = Context::new(source.record, source.table);
    let work = Work {
        source,
        context: &context,
        baseline: &source.table.verdict.baseline,
    };
    let claims = claims::claims(&work);
    let decision = word::decide(&work, &claims);
    let choice = choice::choice(&work, &claims, &decision);
    let causes = ranked(causes(source.record, source.table), decision.arm.as_deref());
    let doubts = doubts::doubts(&work, &claims, &decision, choice.as_ref());
    let next = next::next(&work, &claims, &decision, choice.as_ref());
    let rows = rows::rows(&work);
    let metrics = facts(source.record, &claims, &rows);
    Answer {
        subject: subject::subject(source),
        word: decision.word,
        headline: decision.headline,
        judged: judged(source.record, source.table, &claims),
        arms: arms::arms(&work),
        metrics,
        rows,
        choice,
        switchback: switchback::switchback(source.record),
        causes,
        doubts,
        next,
        circumstances: circumstances::circumstances(source),
        inside: inside::inside(source),
        programs: programs(source),
        claims,
    }
}

/// The inputs of every part of the builder.
pub(super) struct Work<'a> {
    source: &'a Source<'a>,
    context: &'a Context<'a>,
    baseline: &'a str,
}

impl<'a> Work<'a> {
    fn record(&self) -> &'a Record {
        self.source.record
    }

    fn table(&self) -> &'a Table {
        self.source.table
    }

    /// Number of records on each side, if several are compared with several.
    fn records_a_side(&self) -> Option<[u32; 2]> {
        let counts = self
            .source
            .beside
            .sides
            .each_ref()
            .map(|it| it.len() as u32);
        (counts.iter().max() > Some(&1)).then_some(counts)
    }

    /// Returns true if policies of one program are compared, so that huge pages are the question.
    fn asks_about_pages(&self) -> bool {
        let plan = &self.record().header.plan;
        self.source.other.is_none() && plan.programs.is_empty() && plan.bench.is_none()
    }

    /// The comparison by which a policy was judged: of the typical run, the mean or the tail.
    fn judged(&self, policy: &str) -> Option<Comparison> {
        judged_row(self.table(), policy)
    }

    /// Returns the policies of the plan to compare with the baseline.
    fn policies(&self) -> impl Iterator<Item = &'a Policy> + use<'a> {
        let baseline = self.baseline;
        let policies = self.record().header.plan.policies.iter();
        policies.filter(move |policy| policy.name != baseline)
    }

    /// The name of the record in a command: its word, otherwise its path.
    fn word(&self) -> Option<&'a str> {
        let beside = self.source.beside;
        beside
            .word
            .as_deref()
            .or(beside.paths.first().map(String::as_str))
    }
}

/// The comparison by which a policy was judged.
fn judged_row(table: &Table, policy: &str) -> Option<Comparison> {
    let verdict = &table.verdict;
    let found = |statistic| {
        table.comparisons.iter().find(|row| {
            row.metric == verdict.metric && row.statistic == statistic && row.policy == policy
        })
    };
    let usual = found(Statistic::Center)?;
    match (verdict.judge_by, verdict.runs.get(policy)) {
        (JudgeBy::P95, _) => Some(
            found(Statistic::Quantile(Quantile::P95))
                .cloned()
                .unwrap_or(Comparison {
                    ratio: None,
                    difference: None,
                    low: None,
                    high: None,
                    ..usual.clone()
                }),
        ),
        (JudgeBy::Mean, Some(runs)) if usual.ratio.is_some() => Some(Comparison {
            ratio: runs.mean,
            low: runs.mean_low,
            high: runs.mean_high,
            ..usual.clone()
        }),
        _ => Some(usual.clone()),
    }
}

/// Causes of the same outcome: those about the policy of the answer first, and among these the time first.
fn ranked(mut causes: Vec<Cause>, arm: Option<&str>) -> Vec<Cause> {
    causes.sort_by_key(|cause| {
        let is_about = arm.is_some() && cause.arm.as_deref() == arm;
        (cause.outcome, !is_about, cause.id != CauseId::Breakdown)
    });
    causes
}

/// Returns the scope of the intervals of the judged metric. Rounds within one start of servers compare the same
/// processes, and so do the periods of a running one.
fn holds_for(record: &Record, claims: &[Claim]) -> Option<HoldsFor> {
    let covers = claims.iter().filter_map(|claim| match claim.budget {
        Budget::Verdict => Some(claim.interval?.covers),
        Budget::Own | Budget::Uncorrected => None,
    });
    let covers: Vec<Covers> = covers.collect();
    let lived = claims
        .iter()
        .any(|claim| matches!(claim.contrast.when, When::PerStart(_)));
    let lived = lived || record.header.plan.live.is_some();
    match (
        covers.contains(&Covers::Sessions),
        covers.contains(&Covers::Verdict),
    ) {
        (true, _) => Some(HoldsFor::Sessions),
        (_, true) if lived => Some(HoldsFor::Processes),
        (_, true) => Some(HoldsFor::Session),
        (false, false) => None,
    }
}

fn judged(record: &Record, table: &Table, claims: &[Claim]) -> Judged {
    let verdict = &table.verdict;
    Judged {
        metric: verdict.metric.clone(),
        property: verdict.judge_by,
        threshold: verdict.threshold,
        baseline: verdict.baseline.clone(),
        holds_for: holds_for(record, claims),
    }
}

/// Facts about the metrics of claims and rows.
fn facts(record: &Record, claims: &[Claim], rows: &[super::Row]) -> BTreeMap<String, MetricFacts> {
    let claimed = claims.iter().map(|claim| &claim.contrast.metric);
    let names = claimed.chain(rows.iter().map(|row| &row.metric));
    let fact = |name: &String| {
        let metric = metric_of(record, name);
        let facts = MetricFacts {
            label: metric.label.into_owned(),
            unit: metric.unit,
            better: metric.better,
            scope: metric.scope,
        };
        (name.clone(), facts)
    };
    names.map(fact).collect()
}

/// The individual answer for each program.
fn programs(source: &Source<'_>) -> Vec<Answer> {
    let plan = &source.record.header.plan;
    if source.other.is_some() {
        return Vec::new();
    }
    let verdict = &source.table.verdict;
    let options = Options {
        baseline: Some(plan.policy_of(&verdict.baseline).to_owned()),
        verdict_metric: Some(verdict.metric.clone()),
        threshold: Some(verdict.threshold),
        judge_by: Some(verdict.judge_by),
    };
    let answers = plan.programs.iter().filter_map(|program| {
        let record = source.record.of_program(program);
        let table = table(&record, &options).ok()?;
        let own = Source {
            record: &record,
            table: &table,
            other: None,
            cells: None,
            beside: &Beside::default(),
        };
        let answer = answer(&own);
        Some(Answer {
            subject: Subject {
                kind: SubjectKind::Program,
                name: program.name.clone(),
                ..answer.subject
            },
            ..answer
        })
    });
    answers.collect()
}

/// Returns the identifier of the claim that judged an arm against the baseline.
fn verdict_of(claims: &[Claim], arm: &str) -> Option<ClaimId> {
    let is_it = |claim: &Claim| claim.budget == Budget::Verdict && claim.contrast.arm == arm;
    claims.iter().position(is_it).map(ClaimId)
}
