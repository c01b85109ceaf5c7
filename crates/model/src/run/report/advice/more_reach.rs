//! Policies that may reach a program's pages where none of those that ran did.

use super::super::pages::same_huge_bytes;
use super::{Advice, Report, given};
use crate::run::policy::rerun;

/// What may reach the pages that nothing reached, where the record does not name it already.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    if header.plan.not_tried.is_some() {
        return Vec::new();
    }
    if same_huge_bytes(report).is_some() {
        let flag = "--policy=thp=never";
        return given(
            "Compare with small pages too:".to_owned(),
            rerun(&header.made_by, &[flag]),
            &format!("run again with {flag}"),
        );
    }
    let mut realisations = header.realisations.values();
    let mut policies = header.plan.policies.iter();
    let (lead, flag) = if realisations.any(|realisation| !realisation.tracer.is_none()) {
        let lead = "Tracing reaches large mappings only. The machine's setting reaches all (root):";
        (lead, "--system")
    } else if policies.all(|policy| policy.settings.malloc.is_none()) {
        (
            "The allocator can ask for huge pages:",
            "--policy=malloc=thp",
        )
    } else {
        return Vec::new();
    };
    given(
        lead.to_owned(),
        rerun(&header.made_by, &[flag]),
        &format!("run again with {flag}"),
    )
}
