//! A policy that does without the tracer of the one that is recommended, and makes as many pages huge.

use super::super::answer::judged;
use super::super::pages::more_huge_bytes;
use super::more_time::more_rounds;
use super::{Advice, Report};
use crate::run::compare::Answer;
use crate::run::findings::Context;
use crate::text::wrap::plain;

/// Fewer huge bytes are another effect.
const AS_MANY: f64 = 0.9;

/// That such a policy is open, and the command that decides it: who does not want a tracer asks for it.
pub(super) fn advice(report: &Report<'_>, best: &str) -> Vec<Advice> {
    let Some(open) = open(report, best) else {
        return Vec::new();
    };
    let name = plain(open);
    let known = format!("{name} needs no tracer and makes as many pages huge, but is not decided.");
    let more = judged(report, open).map(|row| more_rounds(report, &row, &name));
    let known = [Advice::Sentence(known)];
    known
        .into_iter()
        .chain(more.into_iter().flatten())
        .collect()
}

fn open<'a>(report: &'a Report<'_>, best: &str) -> Option<&'a str> {
    let header = &report.record.header;
    let realisation = |policy: &str| header.realisations.get(policy);
    let context = Context::new(report.record, &report.table);
    let more = more_huge_bytes(&context, best).filter(|more| *more > 0.0)?;
    realisation(best).filter(|it| it.is_traced())?;
    let is_open = |policy: &str| {
        report.table.verdict.policies.get(policy) == Some(&Answer::NotDecided)
            && realisation(policy).is_some_and(|it| !it.is_traced() && it.files.is_empty())
            && more_huge_bytes(&context, policy).is_some_and(|it| it >= AS_MANY * more)
    };
    let names = header
        .plan
        .policies
        .iter()
        .map(|policy| policy.name.as_str());
    names
        .filter(|name| !header.plan.is_sham(name))
        .find(|name| is_open(name))
}
