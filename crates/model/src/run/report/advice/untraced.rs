//! A policy that does without the tracer of the one that is recommended, and makes as many pages huge.

use super::super::pages::more_huge_bytes;
use super::Report;
use crate::run::compare::Answer;
use crate::run::findings::Context;
use crate::text::wrap::plain;

/// Fewer huge bytes are another effect.
const AS_MANY: f64 = 0.9;

/// That such a policy is open: who does not want a tracer asks for it.
pub(super) fn sentence(report: &Report<'_>, best: &str) -> Option<String> {
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
    let open = names
        .filter(|name| !header.plan.is_sham(name))
        .find(|name| is_open(name))?;
    Some(format!(
        "{} needs no tracer and makes as many pages huge: more rounds may show it to be as good.",
        plain(open)
    ))
}
