//! Policies that may reach a program's pages where none of those that ran did.

use super::super::pages::same_huge_bytes;
use super::super::program_name;
use super::workload::places;
use super::{Advice, Report, given};
use crate::run::plan::arguments::holds;
use crate::run::policy::realise::{Reach, realise};
use crate::run::policy::{Policy, collapsed_later, rerun};
use crate::run::record::Record;
use crate::text::wrap::{plain, quoted, quoted_words};

/// What may reach the pages that nothing reached, where the record does not name it already, and what the
/// program can be told itself.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    if header.plan.not_tried.is_some() {
        return told_itself(report);
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
    lines.extend(told_itself(report));
    lines
}

/// What a program of this name can be told itself, where the experiment tried no arguments and not that, and
/// its command does not have it.
pub(in crate::run::report) fn own_setting(
    record: &Record,
    find: impl Fn(&str) -> Option<Policy>,
) -> Option<Policy> {
    let header = &record.header;
    let policy = find(program_name(record))?;
    let is_there = holds(&header.plan.command, &policy.settings.args);
    let is_told = header.fills_arguments() && !policy.settings.args.is_empty();
    let is_tried = header.realisations.contains_key(&policy.name);
    (!is_there && !is_told && !is_tried).then_some(policy)
}

/// The command that tries the program's own setting.
fn told_itself(report: &Report<'_>) -> Vec<Advice> {
    let Some(policy) = &report.own_setting else {
        return Vec::new();
    };
    let header = &report.record.header;
    let arguments = &policy.settings.args;
    let setting = match arguments.is_empty() {
        true => policy.to_string(),
        false => quoted_words(arguments),
    };
    let program = plain(program_name(report.record));
    let lead = format!("{program} has a setting of its own, {setting}:");
    let flag = format!("--policy={policy}");
    let shown = quoted(&flag);
    if !places(header, arguments) {
        let how = format!("{lead} write {{args}} where it belongs and run again with {shown}.");
        return vec![Advice::Sentence(how)];
    }
    given(
        lead,
        rerun(&header.made_by, &[&flag]),
        &format!("run again with {shown}"),
    )
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
