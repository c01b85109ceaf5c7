//! Adds earlier records of the same experiment to a report.

use std::path::{Path, PathBuf};

use hugewise_experiment::run::compare::fewest_rounds_of;
use hugewise_experiment::run::history::{self, is_again, next_session, on_other_memory, together};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::Report;

use super::recorder;
use super::records::{header, newest, word};

/// The report with the earlier records of the same experiment, if its record is in the user's folder.
pub fn beside_earlier<'a>(report: Report<'a>, path: &Path) -> Report<'a> {
    if word(path).is_none() || !is_enough(report.record) {
        return report;
    }
    let record = report.record;
    report.beside_earlier(|policy| {
        let earlier = earlier(path);
        let others = on_other_memory(record, policy, &earlier);
        let own = together(record, policy, &earlier);
        let next = next_session(record, policy, &earlier);
        own.into_iter().chain(next).chain(others).collect()
    })
}

/// Returns true if a record has the rounds that an answer needs. A record that was cut off cannot be compared with one
/// that was not.
fn is_enough(record: &Record) -> bool {
    let plan = &record.header.plan;
    record.compared_rounds() >= fewest_rounds_of(&plan.policies, &plan.baseline, plan.blocks)
}

/// The earlier records of the same experiment in the user's folder. Compares the headers, because reading a record
/// removes the policies that were dropped at once.
fn earlier(path: &Path) -> Vec<history::Entry> {
    let Some(own) = header(path) else {
        return Vec::new();
    };
    let is_earlier = |path: &PathBuf| {
        let header = header(path);
        header.is_some_and(|it| it.created_unix_ms < own.created_unix_ms && is_again(&it, &own))
    };
    let files = newest().unwrap_or_default().into_iter().filter(is_earlier);
    let entries = files.filter_map(|path| {
        let record = recorder::read_found(&path).ok().filter(is_enough)?;
        history::Entry::of(&record, path.display().to_string()).ok()
    });
    entries.collect()
}
