//! Earlier records of the same experiment, beside a report.

use std::path::{Path, PathBuf};

use hugewise_experiment::run::compare::fewest_rounds_of;
use hugewise_experiment::run::history::{self, is_again, next_session, on_other_memory, together};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::Report;

use super::recorder;
use super::records::{header, newest, word};

/// The report beside the earlier records of the same experiment, where the record is one of the user's
/// folder.
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

/// Whether a record has the rounds that an answer needs. One that was cut off says nothing beside one that
/// was not.
fn is_enough(record: &Record) -> bool {
    let plan = &record.header.plan;
    record.compared_rounds() >= fewest_rounds_of(&plan.policies, &plan.baseline, plan.blocks)
}

/// The records of the user's folder that were begun before this one and are of the same experiment. It
/// is the headers that say so: a record that was read has lost the policies that were dropped at once.
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
