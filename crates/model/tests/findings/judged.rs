//! What every test needs: records, their findings, and what a rule says of them.

use expect_test::Expect;
use hugewise_model::run::findings;
use hugewise_model::run::findings::{Finding, Outcome};
use hugewise_model::run::policy::{Policy, Thp};
use hugewise_model::run::record::Record;

use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

pub(super) fn always(figures: Figures) -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), figures),
    ];
    sample::record(&arms, 12)
}

pub(super) fn judge(record: &Record) -> Vec<Finding> {
    findings::judge(record, &table(record, 0.005))
}

pub(super) fn of<'a>(findings: &'a [Finding], id: &str) -> Option<&'a Finding> {
    assert!(
        findings::RULES.iter().any(|rule| rule.id() == id),
        "{id} is not the name of a rule"
    );
    let mut found = findings.iter().filter(|finding| finding.id == id);
    found.next()
}

/// Checks the outcome and the words of the first finding of a rule.
pub(super) fn says(findings: &[Finding], id: &str, outcome: Outcome, expected: &Expect) {
    let finding = of(findings, id).unwrap_or_else(|| panic!("{id} says nothing: {findings:#?}"));
    assert_eq!(finding.outcome, outcome, "{}", finding.text);
    // With a newline, so that the expected text stays in a form that rustfmt leaves alone.
    expected.assert_eq(&format!("{}\n", finding.text));
    assert!(!finding.evidence.is_empty(), "{id} gives no evidence");
}

/// Small pages under one policy, huge ones under the other, with readings of both besides.
pub(super) fn two_arms(baseline: &[(&'static str, f64)], policy: &[(&'static str, f64)]) -> Record {
    let arms = [
        (Policy::as_is(), with(&small_pages(), baseline)),
        (thp("thp=always", Thp::Always), with(&huge_pages(), policy)),
    ];
    sample::record(&arms, 12)
}
