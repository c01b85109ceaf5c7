//! What was measured.

use super::Source;
use crate::run::answer::{Subject, SubjectKind};
use crate::run::plan::service::CommandLine;
use crate::run::record::Record;
use crate::text::wrap::{plain, quoted_words};

/// Names the subject of an experiment.
pub(super) fn subject(source: &Source<'_>) -> Subject {
    let plan = &source.record.header.plan;
    let kind = if source.other.is_some() {
        SubjectKind::Records
    } else if !plan.programs.is_empty() {
        SubjectKind::Programs
    } else if plan.bench.is_some() {
        SubjectKind::Bench
    } else if plan.service.is_some() {
        SubjectKind::Service
    } else if plan
        .live
        .as_ref()
        .is_some_and(|it| !it.starts_the_program())
    {
        SubjectKind::Live
    } else {
        SubjectKind::Program
    };
    let name = match &plan.bench {
        Some(bench) => plain(&bench.suite),
        None => plain(program_name(source.record)),
    };
    let command = match plan.shell {
        true => plain(&plan.command.join(" ")),
        false => quoted_words(&plan.command),
    };
    Subject {
        kind,
        name,
        command,
    }
}

/// The name of a record's program: the last part of its path. A shell line that first prepares something names no
/// program.
#[must_use]
pub fn program_name(record: &Record) -> &str {
    let plan = &record.header.plan;
    let first = plan.command.first();
    let is_named =
        |line: &&String| !plan.shell || CommandLine::Line((*line).clone()).program().is_some();
    let first = first.filter(is_named).and_then(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "exec");
        words.next()
    });
    let name = first.and_then(|path| path.rsplit('/').next());
    name.filter(|name| !name.is_empty()).unwrap_or("command")
}
