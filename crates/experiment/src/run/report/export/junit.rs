//! `JUnit` XML, which every CI system shows.

use std::fmt::Write;

use super::cases::{Case, CaseResult, cases, report_text};
use super::{Report, command_line};
use crate::run::gate::Gate;
use crate::text::wrap::plain;
use crate::text::xml_escaped;

pub(super) fn render(report: &Report<'_>, gates: &[Gate]) -> String {
    let cases = cases(report, gates);
    let count =
        |wanted: fn(&CaseResult) -> bool| cases.iter().filter(|case| wanted(&case.result)).count();
    let failures = count(|result| matches!(result, CaseResult::Failed(_)));
    let skipped = count(|result| matches!(result, CaseResult::Skipped(_)));
    let suite = xml_escaped(&plain(&command_line(report.record)));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n\
         <testsuite name=\"hugewise: {suite}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" \
         skipped=\"{skipped}\">\n",
        cases.len()
    );
    let answer = format!("<system-out>{}</system-out>", lines(&report_text(report)));
    let outputs = std::iter::once(answer.as_str()).chain(std::iter::repeat(""));
    let classes = std::iter::once("hugewise").chain(std::iter::repeat("hugewise.fail-if"));
    for ((case, class), output) in cases.iter().zip(classes).zip(outputs) {
        let _ = writeln!(text, "{}", element(case, class, output));
    }
    text + "</testsuite>\n</testsuites>\n"
}

fn element(case: &Case, class: &str, output: &str) -> String {
    let result = match &case.result {
        CaseResult::Passed => String::new(),
        CaseResult::Failed(why) => format!("<failure message=\"{}\"/>", xml_escaped(why)),
        CaseResult::Skipped(why) => format!("<skipped message=\"{}\"/>", xml_escaped(why)),
    };
    let name = xml_escaped(&case.name);
    format!("<testcase classname=\"{class}\" name=\"{name}\">{result}{output}</testcase>")
}

/// Lines stay lines.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(xml_escaped).collect();
    lines.join("\n")
}
