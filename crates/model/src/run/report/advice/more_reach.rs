//! Policies that may reach a program's pages where none of those that ran did.

use super::super::pages::same_huge_bytes;
use super::{Advice, Report, given};
use crate::run::policy::realise::{Reach, realise};
use crate::run::policy::{collapsed_later, rerun};

/// What may reach the pages that nothing reached, where the record does not name it already, and what the
/// program can be told itself.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    if header.plan.not_tried.is_some() {
        return own_setting(report);
    }
    if same_huge_bytes(report).is_some() {
        let flag = "--policy=thp=never";
        return given(
            "Compare with small pages too:".to_owned(),
            rerun(&header.made_by, &[flag]),
            &format!("run again with {flag}"),
        );
    }
    let mut lines = other_policy(report);
    lines.extend(own_setting(report));
    lines
}

fn own_setting(report: &Report<'_>) -> Vec<Advice> {
    report
        .own_setting
        .clone()
        .map(Advice::Sentence)
        .into_iter()
        .collect()
}

fn other_policy(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let mut policies = header.plan.policies.iter();
    // It reaches all private memory: where it found nothing, no other setting does.
    if policies.clone().any(|it| it.settings.collapse.is_some()) {
        return Vec::new();
    }
    let later = collapsed_later();
    if realise(&later, &header.host, Reach::Process).is_ok() {
        let flag = format!("--policy={later}");
        return given(
            "Memory in use can be made huge while the program runs:".to_owned(),
            rerun(&header.made_by, &[&flag]),
            &format!("run again with {flag}"),
        );
    }
    let mut realisations = header.realisations.values();
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
