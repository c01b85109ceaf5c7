//! The alerts and dashboards of `contrib` refer only to existing metrics and commands.

use std::collections::BTreeSet;
use std::fs;

use hugewise_observe::inspect::reasons::Code;

fn read(file: &str) -> String {
    let path = format!("{}/../contrib/{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).expect(&path)
}

/// The text after a word, line by line.
fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let lines = text.lines();
    let rest = lines.filter_map(|line| line.split_once(word).map(|(_, rest)| rest.trim()));
    rest.collect()
}

#[test]
fn every_alert_and_every_recorded_series_has_its_test() {
    let (rules, tests) = (
        read("prometheus/hugewise.rules.yml"),
        read("prometheus/hugewise.rules.test.yml"),
    );
    let tested: BTreeSet<&str> = after(&tests, "alertname: ").into_iter().collect();
    let alerts = after(&rules, "- alert: ");
    assert!(alerts.len() >= 10, "{alerts:?}");
    for alert in alerts {
        assert!(tested.contains(alert), "{alert}");
    }
    for record in after(&rules, "- record: ") {
        assert!(
            rules.matches(record).count() > 1,
            "{record} is used by no alert"
        );
    }
}

/// The text of a runbook is the output of `hugewise inspect --explain`.
#[test]
fn every_runbook_is_a_command_of_hugewise() {
    for runbook in after(&read("prometheus/hugewise.rules.yml"), "runbook: ") {
        let reason = runbook.strip_prefix("hugewise inspect --explain ");
        let known = |name: &str| Code::all().any(|code| code.name() == name);
        assert!(
            reason.map_or(runbook.starts_with("hugewise "), known),
            "{runbook}"
        );
    }
}
