//! Doubt whether a process gets what is recommended, where its C library takes it by chance.

use super::Report;
use crate::run::policy::advice_by_chance;

/// That a program may start without what is recommended, how often it did here, and what it would
/// need.
pub(super) fn sentence(report: &Report<'_>, best: &str) -> Option<String> {
    let header = &report.record.header;
    let policy = header.plan.policies.iter().find(|it| it.name == best)?;
    let glibc = advice_by_chance(policy, &header.host)?;
    Some(match taken(report, best) {
        Some((taken, all)) => {
            format!(
                "{glibc} takes it by chance, here in {taken} of {all} trials; 2.37 always does."
            )
        }
        None => format!("{glibc} takes it by chance; 2.37 always does."),
    })
}

/// In how many trials the setting was taken, and how many there were.
fn taken(report: &Report<'_>, policy: &str) -> Option<(u64, u64)> {
    let finding = report.findings.iter().find(|finding| {
        finding.id == "taken-by-chance" && finding.policy.as_deref() == Some(policy)
    })?;
    let count = |name: &str| finding.evidence.get(name)?.as_u64();
    Some((count("trials_with_more_huge_memory")?, count("trials")?))
}
