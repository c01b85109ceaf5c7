//! KTAP, which the test systems of the Linux kernel read.

use std::fmt::Write;

use super::cases::{CaseResult, cases, report_text};
use super::{Report, command_line};
use crate::run::gate::Gate;
use crate::text::wrap::plain;

pub(super) fn render(report: &Report<'_>, gates: &[Gate]) -> String {
    let cases = cases(report, gates);
    let mut text = format!("KTAP version 1\n1..{}\n", cases.len());
    let command = plain(&command_line(report.record));
    let _ = writeln!(text, "# hugewise: {command}");
    for line in report_text(report).lines() {
        let _ = writeln!(text, "{}", format!("# {line}").trim_end());
    }
    for (index, case) in cases.iter().enumerate() {
        let (word, data) = match &case.result {
            CaseResult::Passed => ("ok", String::new()),
            CaseResult::Failed(why) => ("not ok", format!(" # {}", plain(why))),
            CaseResult::Skipped(why) => ("ok", format!(" # SKIP {why}")),
        };
        let name = description(&case.name);
        let _ = writeln!(text, "{word} {} {name}{data}", index + 1);
    }
    text
}

/// A description is one line without `#`, which begins the diagnostic data.
fn description(name: &str) -> String {
    plain(name).replace('#', "_")
}
