//! Helpers for all tests: records, their causes, and the figures of one cause.

use hugewise_experiment::run::cause::{self, Cause, CauseId};
use hugewise_experiment::run::compare::{PolicyAnswer, Table};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;

use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

/// Returns the figures of the first cause of a kind, after a check of its outcome.
macro_rules! figures {
    ($causes:expr, $kind:ident, $outcome:ident) => {{
        let causes = $causes;
        let id = hugewise_experiment::run::cause::CauseId::$kind;
        let cause = crate::causes::judged::of(&causes, id).unwrap_or_else(|| panic!("{causes:#?}"));
        let outcome = hugewise_experiment::run::cause::CauseOutcome::$outcome;
        assert_eq!(cause.outcome, outcome, "{cause:#?}");
        match cause.kind.clone() {
            hugewise_experiment::run::cause::Kind::$kind(figures) => figures,
            other => panic!("{other:#?}"),
        }
    }};
}

/// Returns the missing reading of the first cause of a kind.
macro_rules! unread {
    ($causes:expr, $kind:ident) => {{
        let causes = $causes;
        let id = hugewise_experiment::run::cause::CauseId::$kind;
        let cause = crate::causes::judged::of(&causes, id).unwrap_or_else(|| panic!("{causes:#?}"));
        let outcome = hugewise_experiment::run::cause::CauseOutcome::CannotTell;
        assert_eq!(cause.outcome, outcome, "{cause:#?}");
        match cause.kind.clone() {
            hugewise_experiment::run::cause::Kind::Unread { missing } => missing,
            other => panic!("{other:#?}"),
        }
    }};
}

pub(crate) use {figures, unread};

pub(super) fn always(figures: Figures) -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), figures),
    ];
    sample::record(&arms, 12)
}

pub(super) fn judge(record: &Record) -> Vec<Cause> {
    cause::causes(record, &table(record, 0.005))
}

pub(super) fn of(causes: &[Cause], id: CauseId) -> Option<&Cause> {
    causes.iter().find(|cause| cause.id == id)
}

pub(super) fn is_silent(record: &Record, id: CauseId) -> bool {
    of(&judge(record), id).is_none()
}

/// Returns the table of a record in which `thp=always` changed no page.
pub(super) fn no_effect(record: &Record, arm: &str) -> Table {
    let mut table = table(record, 0.005);
    table
        .verdict
        .policies
        .insert(arm.to_owned(), PolicyAnswer::NoEffect);
    table
}

/// Returns a record with small pages under one policy, huge ones under the other, and these additional readings.
pub(super) fn two_arms(baseline: &[(&'static str, f64)], policy: &[(&'static str, f64)]) -> Record {
    let arms = [
        (Policy::as_is(), with(&small_pages(), baseline)),
        (thp("thp=always", Thp::Always), with(&huge_pages(), policy)),
    ];
    sample::record(&arms, 12)
}

pub(super) fn near(figure: f64, expected: f64, within: f64) {
    assert!(
        (figure - expected).abs() <= within,
        "{figure}, not {expected}"
    );
}

pub(super) fn near_of(figure: Option<f64>, expected: f64, within: f64) {
    near(figure.expect("a figure"), expected, within);
}
