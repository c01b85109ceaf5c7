//! The answer about the periods inside servers, next to that of their whole starts.

use super::{Beside, Source, answer, subject};
use crate::run::answer::Answer;
use crate::run::compare::{Options, table};

/// Returns the answer of the experiment inside the servers; `None` without a period. It says nothing about what to set:
/// whole starts compare the settings.
pub(super) fn inside(source: &Source<'_>) -> Option<Box<Answer>> {
    let record = source.record.inside.as_deref();
    let record = record.filter(|it| source.other.is_none() && !it.trials.is_empty())?;
    let options = Options {
        threshold: Some(source.table.verdict.threshold),
        ..Options::default()
    };
    let table = table(record, &options).ok()?;
    let own = Source {
        record,
        table: &table,
        other: None,
        cells: None,
        beside: &Beside::default(),
    };
    Some(Box::new(Answer {
        subject: subject::subject(source),
        choice: None,
        next: Vec::new(),
        ..answer(&own)
    }))
}
