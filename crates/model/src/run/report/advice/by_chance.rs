//! Doubt whether a process gets what is recommended, where its C library takes it by chance.

use serde_json::Value;

use super::Report;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::policy::advice_by_chance;

/// That a program may start without what is recommended, how often it did here, and what it would
/// need.
pub(super) fn sentence(report: &Report<'_>, best: &str) -> Option<String> {
    let header = &report.record.header;
    let policy = header.plan.policies.iter().find(|it| it.name == best)?;
    let glibc = advice_by_chance(policy, &header.host)?;
    let taken = taken(report, best).unwrap_or_default();
    Some(format!(
        "{glibc} takes it by chance{taken}; 2.37 always does."
    ))
}

/// `, here in 36 of 50 trials (−9.1 % in these)`.
fn taken(report: &Report<'_>, policy: &str) -> Option<String> {
    let finding = report.findings.iter().find(|finding| {
        finding.id == "taken-by-chance" && finding.policy.as_deref() == Some(policy)
    })?;
    let figure = |name: &str| finding.evidence.get(name);
    let count = |name: &str| figure(name)?.as_u64();
    let ratio = figure("ratio_where_taken").and_then(Value::as_f64);
    let effect = ratio.map(effect_of_ratio);
    let effect = effect.map_or_else(String::new, |effect| format!(" ({effect} in these)"));
    Some(format!(
        ", here in {} of {} trials{effect}",
        count("trials_with_more_huge_memory")?,
        count("trials")?
    ))
}
