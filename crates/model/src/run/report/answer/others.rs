//! The other policies: a clause each, those that did nothing last.

use super::super::Report;
use super::super::conclusion::Conclusion;
use super::super::interval::Sign;
use super::effect::Effect;
use super::more_than_pages::shown_with_more_than_pages;
use super::sentence::evidence;
use super::{judged, pair, property, shape, user_time};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Control, ControlOutcome};
use crate::run::policy::realise::Realisation;
use crate::text::wrap::plain;

/// What the policies show that the first sentence is not about: those whose runs go both ways in a
/// sentence each, all others in one.
pub(super) fn others(report: &Report<'_>, conclusion: &Conclusion) -> Vec<String> {
    let verdict = &report.table.verdict;
    let of_answer = shown_with_more_than_pages(report).or(conclusion.policy.as_deref());
    let is_told = |name: &str| of_answer == Some(name);
    let policies = report.record.header.plan.policies.iter();
    let judged_others = policies.filter_map(|policy| {
        let answer = *verdict.policies.get(&policy.name)?;
        // It is no question of the user's; the answer, the cause and the advice have what it costs.
        let is_sham = report.record.header.plan.is_sham(&policy.name);
        let is_wanted = !is_told(&policy.name) && !is_sham;
        is_wanted.then_some((policy.name.as_str(), answer))
    });
    let mut clauses = Clauses::default();
    let mut sentences = Vec::new();
    for (policy, answer) in judged_others {
        match answer {
            Answer::Mixed | Answer::DependsOnOrder => {
                let row = judged(report, policy);
                let text = row.map(|row| shape::either(report, &row, &pair(report, policy)));
                sentences.extend(text);
            }
            _ => clauses.add(report, policy, answer),
        }
    }
    if conclusion.policy.is_none() {
        clauses.unchanged.clear();
    }
    let left_out = report.record.removals.iter();
    let left_out = left_out.filter(|it| it.tells_no_more() && !it.is_of_a_sham());
    clauses.left_out = left_out.map(|it| plain(&it.policy)).collect();
    sentences.extend(clauses.sentence());
    sentences
}

/// `thp=never 12.5 % less (95 %: …)`, of a policy that changed no page: it is one more control of the
/// experiment. `None` where its interval leaves the threshold possible.
fn apart(report: &Report<'_>, policy: &str) -> Option<String> {
    let control = Control {
        comparison: judged(report, policy)?,
    };
    let outcome = control.outcome(report.table.verdict.threshold, None);
    let is_apart = outcome == ControlOutcome::Failed;
    is_apart.then(|| effect(report, policy)).flatten()
}

/// How the reason of a policy begins that was not in force.
const NOT_IN_FORCE: &str = "the policy was not in force: ";

/// Of more policies that are not decided only the names are given: the tables have their figures.
const MOST_OPEN: usize = 2;

/// What is said of policies, the most telling first.
#[derive(Default)]
struct Clauses {
    decided: Vec<String>,
    /// Policies without an answer, and why.
    unanswered: Vec<String>,
    /// Policies that are not decided, by name, with how far they are.
    open: Vec<(String, String)>,
    /// Policies that make no difference.
    same: Vec<String>,
    /// Policies that changed no page, and whose time was not shown to differ.
    unchanged: Vec<String>,
    /// How far the time of others that changed no page differs.
    apart: Vec<String>,
    /// Policies that did not run because another one tells as much.
    left_out: Vec<String>,
}

impl Clauses {
    fn add(&mut self, report: &Report<'_>, policy: &str, answer: Answer) {
        let name = plain(policy);
        let reason = report.table.verdict.reasons.get(policy);
        match (answer, reason) {
            (Answer::Better | Answer::Worse, _) => self.decided.extend(effect(report, policy)),
            (Answer::NoDifference, _) => self.same.push(name),
            _ if report.changed_no_page(policy) => match apart(report, policy) {
                Some(text) => self.apart.push(text),
                None => self.unchanged.push(name),
            },
            (_, Some(why)) => {
                let why = plain(&why.to_string());
                let why = why.trim_end_matches('.');
                let clause = why.strip_prefix(NOT_IN_FORCE);
                let clause = clause.map(|why| format!("{name} was not in force: {why}"));
                self.unanswered
                    .push(clause.unwrap_or_else(|| format!("{name}: {why}")));
            }
            (_, None) => self.open.push((name, not_decided(report, policy))),
        }
    }

    fn sentence(self) -> Option<String> {
        let mut clauses = self.decided;
        clauses.extend(self.unanswered);
        let (names, open): (Vec<_>, Vec<_>) = self.open.into_iter().unzip();
        if names.len() > MOST_OPEN {
            clauses.push(format!("not decided: {}", listed(&names)));
        } else {
            clauses.extend(open);
        }
        if !self.same.is_empty() {
            clauses.push(format!("no difference with {}", listed(&self.same)));
        }
        if !self.unchanged.is_empty() {
            clauses.push(format!(
                "{} made no difference to its pages",
                listed(&self.unchanged)
            ));
        }
        if !self.apart.is_empty() {
            clauses.push(format!(
                "{} without a changed page: so much is not due to huge pages",
                listed(&self.apart)
            ));
        }
        if !self.left_out.is_empty() {
            clauses.push(format!(
                "{} not run, another policy makes as many pages huge or more (-v)",
                listed(&self.left_out)
            ));
        }
        (!clauses.is_empty()).then(|| format!("Also: {}.", clauses.join("; ")))
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// `malloc=thp 16.7 % less (95 %: 16.0 to 17.4 %)`.
fn effect(report: &Report<'_>, policy: &str) -> Option<String> {
    let row = judged(report, policy)?;
    let metric = metric_of(report.record, &row.metric);
    let effect = Effect::of(&metric, &row)?;
    Some(format!(
        "{}{} {}{} {}",
        plain(policy),
        means(report, policy),
        effect.brief(&metric),
        property(report),
        evidence(&metric, &row, Sign::Left)
    ))
}

/// By what a policy was put in force, where that has a cost of its own.
pub(super) fn means(report: &Report<'_>, policy: &str) -> &'static str {
    let realisation = report.record.header.realisations.get(policy);
    match realisation.is_some_and(Realisation::is_traced) {
        true => " (by a tracer)",
        false => "",
    }
}

fn not_decided(report: &Report<'_>, policy: &str) -> String {
    let name = format!("{}{}", plain(policy), means(report, policy));
    let Some(row) = judged(report, policy) else {
        return format!("{name} not compared");
    };
    let metric = metric_of(report.record, &row.metric);
    let size = match Effect::of(&metric, &row) {
        Some(_) => format!(", {}", effect_of(report.record, &row)),
        None => String::new(),
    };
    let evidence = evidence(&metric, &row, Sign::Kept);
    let user = user_time::clause(report, policy);
    format!("{name} not decided{size} {evidence}{user}")
}
