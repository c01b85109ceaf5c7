//! Doubt whether a process gets what is recommended, where its C library takes it by chance.

use serde_json::Value;

use super::Report;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::policy::advice_by_chance;
use crate::run::policy::realise::{BIND_NOW, Realisation};

/// That a program may start without what is recommended, how often it did here, and what it would
/// need.
pub(super) fn sentence(report: &Report<'_>, best: &str) -> Option<String> {
    let header = &report.record.header;
    let policy = header.plan.policies.iter().find(|it| it.name == best)?;
    let glibc = advice_by_chance(policy, &header.host)?;
    let realised = header.realisations.get(best);
    let is_bound = realised.is_some_and(Realisation::binds_at_start);
    Some(match (taken(report, best), is_bound) {
        (Some(Taken::InAll(_)) | None, true) => {
            format!("Keep {BIND_NOW}=1: without it, {glibc} misses the setting in some starts.")
        }
        (Some(Taken::InAll(trials)), false) => format!(
            "{glibc} took it in all {trials} trials, but some starts may miss it; none with 2.38."
        ),
        (Some(Taken::In(some)), true) => {
            format!("{glibc} took it in {some}, and some starts miss it; none with 2.38.")
        }
        (Some(Taken::In(some)), false) => {
            format!("{glibc} took it in {some}; with {BIND_NOW}=1 it is all or none.")
        }
        (None, false) => format!("Some starts may miss it with {glibc}; none with 2.38."),
    })
}

/// In how many trials the setting was taken.
enum Taken {
    InAll(u64),
    /// `36 of 50 trials (−9.1 % in these)`.
    In(String),
}

fn taken(report: &Report<'_>, policy: &str) -> Option<Taken> {
    let finding = report.findings.iter().find(|finding| {
        finding.id == "taken-by-chance" && finding.policy.as_deref() == Some(policy)
    })?;
    let figure = |name: &str| finding.evidence.get(name);
    let count = |name: &str| figure(name)?.as_u64();
    let (some, all) = (count("trials_with_more_huge_memory")?, count("trials")?);
    if some == all {
        return Some(Taken::InAll(all));
    }
    let ratio = figure("ratio_where_taken").and_then(Value::as_f64);
    let effect = ratio.map(effect_of_ratio);
    let effect = effect.map_or_else(String::new, |effect| format!(" ({effect} in these)"));
    Some(Taken::In(format!("{some} of {all} trials{effect}")))
}
