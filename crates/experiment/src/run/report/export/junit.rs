//! `JUnit` XML, which every CI system shows.

use std::fmt::Write;

use super::{Report, command_line};
use crate::run::gate::{Gate, Judgement};
use crate::text::wrap::plain;
use crate::text::{Style, to_text, xml_escaped};

pub(super) fn render(report: &Report<'_>, gates: &[Gate]) -> String {
    let judged: Vec<(&Gate, Judgement)> = gates
        .iter()
        .map(|gate| (gate, gate.judge(report.answer())))
        .collect();
    let count = |wanted: fn(&Judgement) -> bool| {
        judged
            .iter()
            .filter(|(_, judgement)| wanted(judgement))
            .count()
    };
    let failures = count(|judgement| matches!(judgement, Judgement::Closed(_)));
    let skipped = count(|judgement| matches!(judgement, Judgement::CannotTell(_)));
    let suite = xml_escaped(&plain(&command_line(report.record)));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n\
         <testsuite name=\"hugewise: {suite}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" \
         skipped=\"{skipped}\">\n",
        judged.len() + 1
    );
    let style = Style::default();
    let answer = to_text(&report.document(style.width, style.verbose), &style);
    let _ = writeln!(
        text,
        "<testcase classname=\"hugewise\" name=\"answer\"><system-out>{}</system-out></testcase>",
        lines(&answer)
    );
    for (gate, judgement) in &judged {
        let name = xml_escaped(&gate.to_string());
        let inside = match judgement {
            Judgement::Open => String::new(),
            Judgement::Closed(policies) => format!(
                "<failure message=\"holds for {}\"/>",
                xml_escaped(&policies.join(", "))
            ),
            Judgement::CannotTell(_) => "<skipped message=\"not decided\"/>".to_owned(),
        };
        let _ = writeln!(
            text,
            "<testcase classname=\"hugewise.fail-if\" name=\"{name}\">{inside}</testcase>"
        );
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Lines stay lines.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(xml_escaped).collect();
    lines.join("\n")
}
