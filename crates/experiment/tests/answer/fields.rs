//! Every field of an answer is printed in one place, listed in this table.

use std::collections::BTreeSet;

use serde_json::Value;

use super::everything::everything;
use super::numbers::numbers_in;
use super::samples;
use super::screens::{screen, verbose};

/// The place of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Its value appears there as a figure or a text.
    Value(&'static str),
    /// It selects a phrase, a row or a colour there.
    Phrase(&'static str),
    /// It refers to another field.
    Reference,
}

use Place::{Phrase, Reference, Value as Figure};

/// One line for each field. A field without a line fails the test below.
const PRINTED: &[(&str, Place)] = &[
    ("arms[].applied", Phrase("policies")),
    ("arms[].applied.not.detail", Figure("policies")),
    ("arms[].applied.not.of", Figure("policies")),
    ("arms[].applied.not.trials", Figure("policies")),
    ("arms[].applied.read_back", Figure("policies")),
    ("arms[].dropped[]", Phrase("policies")),
    ("arms[].dropped[].cannot_act", Figure("policies")),
    ("arms[].dropped[].fails", Figure("policies")),
    ("arms[].dropped[].our_means.clash", Phrase("policies")),
    ("arms[].dropped[].our_means.how", Figure("policies")),
    ("arms[].dropped[].tells_no_more", Figure("policies")),
    ("arms[].mechanism", Phrase("policies")),
    ("arms[].mode", Figure("policies")),
    ("arms[].name", Figure("policies")),
    ("arms[].pages.huge_bytes", Figure("policies")),
    ("arms[].pages.more_bytes", Phrase("policies")),
    ("arms[].pages_only", Phrase("policies")),
    ("arms[].role", Phrase("policies")),
    ("arms[].taken[]", Figure("policies")),
    ("arms[].trials[]", Figure("policies")),
    ("causes[].arm", Figure("why")),
    ("causes[].cause", Phrase("why")),
    ("causes[].outcome", Phrase("why")),
    ("choice", Phrase("do")),
    ("choice.arm", Figure("chosen")),
    ("choice.commands[].as_root", Phrase("do")),
    ("choice.commands[].line", Figure("do")),
    ("choice.commands[].machine_wide", Phrase("do")),
    ("choice.mechanism", Phrase("do")),
    ("choice.preference", Phrase("chosen")),
    ("choice.prices[]", Reference),
    ("choice.scope", Phrase("headline")),
    ("choice.scope.back_to_back", Figure("headline")),
    ("choice.steps[].arguments", Figure("do")),
    ("choice.steps[].call", Figure("do")),
    ("choice.steps[].cgroup_limits[]", Figure("do")),
    ("choice.steps[].mount", Figure("do")),
    ("choice.steps[].prefix", Figure("do")),
    ("choice.ties[].arm", Figure("chosen")),
    ("choice.ties[].claim", Reference),
    ("circumstances[].continued[][]", Figure("circumstances")),
    (
        "circumstances[].disturbance.kinds.*",
        Figure("circumstances"),
    ),
    (
        "circumstances[].disturbance.trials",
        Phrase("circumstances"),
    ),
    ("circumstances[].earlier[]", Figure("circumstances")),
    ("circumstances[].fragment", Figure("circumstances")),
    ("circumstances[].fragmented", Phrase("circumstances")),
    ("circumstances[].fragmented[]", Figure("circumstances")),
    ("circumstances[].host_memory", Phrase("circumstances")),
    ("circumstances[].machine.arch", Figure("circumstances")),
    ("circumstances[].machine.cpus", Figure("circumstances")),
    ("circumstances[].machine.defrag", Figure("circumstances")),
    (
        "circumstances[].machine.huge_page_bytes",
        Figure("circumstances"),
    ),
    (
        "circumstances[].machine.hypervisor",
        Figure("circumstances"),
    ),
    ("circumstances[].machine.kernel", Figure("circumstances")),
    (
        "circumstances[].machine.page_bytes",
        Figure("circumstances"),
    ),
    ("circumstances[].machine.thp", Figure("circumstances")),
    ("circumstances[].measured_by", Figure("circumstances")),
    ("circumstances[].ran", Figure("circumstances")),
    ("circumstances[].record", Figure("circumstances")),
    ("circumstances[].rounds", Figure("circumstances")),
    ("circumstances[].seconds", Figure("circumstances")),
    ("circumstances[].seed", Figure("circumstances")),
    ("circumstances[].settings_held_by", Figure("circumstances")),
    ("circumstances[].stopped", Phrase("circumstances")),
    ("circumstances[].trials", Figure("circumstances")),
    ("circumstances[].warmed_in_part", Phrase("circumstances")),
    ("claims[].agreeing", Figure("claims")),
    ("claims[].budget", Phrase("claims")),
    ("claims[].call", Phrase("claims")),
    ("claims[].call.depends_on_order.p", Figure("claims")),
    (
        "claims[].call.depends_on_order.strata[].from_seconds",
        Phrase("claims"),
    ),
    (
        "claims[].call.depends_on_order.strata[].high",
        Figure("claims"),
    ),
    (
        "claims[].call.depends_on_order.strata[].low",
        Figure("claims"),
    ),
    (
        "claims[].call.depends_on_order.strata[].ratio",
        Figure("claims"),
    ),
    (
        "claims[].call.depends_on_order.strata[].to_seconds",
        Figure("claims"),
    ),
    (
        "claims[].call.depends_on_order.strata[].trials",
        Figure("claims"),
    ),
    ("claims[].call.failed.first", Figure("claims")),
    ("claims[].call.failed.why", Phrase("claims")),
    ("claims[].call.mixed.better", Figure("claims")),
    ("claims[].call.mixed.better_ratio", Figure("claims")),
    ("claims[].call.mixed.mean", Figure("claims")),
    ("claims[].call.mixed.mean_high", Figure("claims")),
    ("claims[].call.mixed.mean_low", Figure("claims")),
    ("claims[].call.mixed.of", Figure("claims")),
    ("claims[].call.mixed.worse", Figure("claims")),
    ("claims[].call.mixed.worse_at_most", Figure("claims")),
    ("claims[].call.mixed.worse_ratio", Figure("claims")),
    ("claims[].call.not_applied.why", Phrase("claims")),
    ("claims[].call.not_run.act", Figure("claims")),
    ("claims[].call.not_run.control", Figure("claims")),
    ("claims[].call.not_run.detail", Figure("claims")),
    ("claims[].call.not_run.reason", Figure("claims")),
    ("claims[].call.not_run.why", Phrase("claims")),
    ("claims[].call.open.fewest_rounds", Figure("claims")),
    ("claims[].call.open.seconds", Figure("claims")),
    ("claims[].call.rare_slow.better", Figure("claims")),
    ("claims[].call.rare_slow.better_ratio", Figure("claims")),
    ("claims[].call.rare_slow.mean", Figure("claims")),
    ("claims[].call.rare_slow.mean_high", Figure("claims")),
    ("claims[].call.rare_slow.mean_low", Figure("claims")),
    ("claims[].call.rare_slow.of", Figure("claims")),
    ("claims[].call.rare_slow.worse", Figure("claims")),
    ("claims[].call.rare_slow.worse_at_most", Figure("claims")),
    ("claims[].call.rare_slow.worse_ratio", Figure("claims")),
    ("claims[].call.same_pages.bytes[]", Figure("claims")),
    ("claims[].call.same_pages.faults[]", Figure("claims")),
    ("claims[].call.same_pages.why", Phrase("claims")),
    ("claims[].contrast.against.arm", Phrase("claims")),
    ("claims[].contrast.against.kind", Phrase("claims")),
    ("claims[].contrast.arm", Phrase("claims")),
    ("claims[].contrast.metric", Reference),
    ("claims[].contrast.statistic", Phrase("claims")),
    ("claims[].contrast.when", Phrase("claims")),
    ("claims[].contrast.when.after_idle", Figure("headline")),
    ("claims[].contrast.when.per_start", Figure("claims")),
    ("claims[].effect", Phrase("claims")),
    ("claims[].effect.difference", Figure("claims")),
    ("claims[].effect.points", Figure("claims")),
    ("claims[].effect.ratio", Figure("claims")),
    ("claims[].from", Figure("claims")),
    ("claims[].interval", Phrase("claims")),
    ("claims[].interval.covers", Phrase("claims")),
    ("claims[].interval.high", Figure("claims")),
    ("claims[].interval.low", Figure("claims")),
    ("claims[].rounds", Phrase("claims")),
    ("claims[].to", Figure("claims")),
    ("doubts[].arm", Figure("doubts")),
    ("doubts[].arms[]", Figure("doubts")),
    ("doubts[].at_most", Figure("doubts")),
    ("doubts[].bound", Phrase("doubts")),
    ("doubts[].by_arm[][]", Figure("doubts")),
    ("doubts[].claim", Reference),
    ("doubts[].detail", Figure("doubts")),
    ("doubts[].command", Figure("doubts")),
    ("doubts[].differences[]", Figure("doubts")),
    ("doubts[].doubt", Phrase("doubts")),
    ("doubts[].first", Figure("doubts")),
    ("doubts[].glibc", Figure("doubts")),
    ("doubts[].kinds[][]", Figure("doubts")),
    ("doubts[].metrics[]", Figure("doubts")),
    ("doubts[].of", Figure("doubts")),
    ("doubts[].p", Figure("doubts")),
    ("doubts[].parted", Phrase("doubts")),
    ("doubts[].program", Figure("doubts")),
    ("doubts[].ratio", Figure("doubts")),
    ("doubts[].rounds", Figure("doubts")),
    ("doubts[].said", Figure("doubts")),
    ("doubts[].seconds", Figure("doubts")),
    ("doubts[].share", Figure("doubts")),
    ("doubts[].starts", Figure("doubts")),
    ("doubts[].strata[].from_seconds", Phrase("doubts")),
    ("doubts[].strata[].high", Figure("doubts")),
    ("doubts[].strata[].low", Figure("doubts")),
    ("doubts[].strata[].ratio", Figure("doubts")),
    ("doubts[].strata[].to_seconds", Figure("doubts")),
    ("doubts[].strata[].trials", Figure("doubts")),
    ("doubts[].taken[]", Figure("doubts")),
    ("doubts[].text", Figure("doubts")),
    ("doubts[].trials", Figure("doubts")),
    ("doubts[].wanted", Figure("doubts")),
    ("doubts[].who", Figure("doubts")),
    ("doubts[].why", Figure("doubts")),
    ("doubts[].worse", Figure("doubts")),
    ("doubts[].wrong[]", Figure("doubts")),
    ("headline[]", Reference),
    ("judged.baseline", Figure("judged")),
    ("judged.metric", Reference),
    ("judged.holds_for", Phrase("experiment")),
    ("judged.property", Phrase("experiment")),
    ("judged.threshold", Figure("experiment")),
    ("metrics.*.better", Phrase("metrics")),
    ("metrics.*.label", Figure("metrics")),
    ("metrics.*.scope", Phrase("claims")),
    ("metrics.*.unit", Phrase("claims")),
    ("metrics.*.unit.other", Figure("claims")),
    ("next[].command.as_root", Phrase("next")),
    ("next[].command.line", Figure("next")),
    // An experiment restores the machine, so no text mentions it.
    ("next[].command.machine_wide", Reference),
    ("next[].minutes", Figure("next")),
    ("next[].step.arm", Figure("next")),
    ("next[].step.because", Phrase("next")),
    ("next[].step.claim", Reference),
    ("next[].step.impossible", Phrase("next")),
    ("next[].step.policies[]", Figure("next")),
    ("next[].step.policy", Figure("next")),
    ("next[].step.starts", Figure("next")),
    ("next[].step.step", Phrase("next")),
    ("rows[].cells[].arm", Phrase("rows")),
    ("rows[].cells[].missing.grant", Figure("readings")),
    ("rows[].cells[].missing.why", Phrase("readings")),
    ("rows[].cells[].value", Figure("rows")),
    ("rows[].first_screen", Phrase("rows")),
    ("rows[].label", Figure("rows")),
    ("rows[].metric", Reference),
    ("rows[].statistic", Reference),
    ("subject.command", Figure("experiment")),
    ("subject.kind", Phrase("experiment")),
    ("subject.name", Figure("experiment")),
    ("arms[].made_huge.beyond[]", Figure("policies")),
    ("arms[].made_huge.bytes", Figure("policies")),
    ("arms[].made_huge.calls", Figure("policies")),
    ("arms[].made_huge.held_seconds", Figure("policies")),
    ("arms[].made_huge.longest_seconds", Figure("policies")),
    ("arms[].made_huge.refused.*", Figure("policies")),
    ("arms[].huge_code.beyond[]", Figure("policies")),
    ("arms[].huge_code.bytes", Figure("policies")),
    ("arms[].huge_code.calls", Figure("policies")),
    ("arms[].huge_code.held_seconds", Figure("policies")),
    ("arms[].huge_code.longest_seconds", Figure("policies")),
    ("arms[].huge_code.refused.*", Figure("policies")),
    ("arms[].huge_code.nothing", Phrase("policies")),
    ("arms[].made_huge.nothing.refused[]", Figure("policies")),
    ("arms[].pool.bytes", Figure("policies")),
    ("arms[].pool.used_bytes", Figure("policies")),
    ("choice.conditions[].line", Figure("experiment")),
    ("choice.conditions[].as_root", Reference),
    ("choice.conditions[].machine_wide", Reference),
    ("claims[].p", Figure("claims")),
    ("claims[].warnings[]", Figure("claims")),
    ("rows[].stays", Phrase("rows")),
    ("next[].step.idle_seconds", Phrase("next")),
    ("arms[].means.by", Phrase("policies")),
    ("arms[].means.cost", Phrase("policies")),
    ("arms[].means.beyond[]", Figure("policies")),
    ("arms[].means.instead_of_tracer", Phrase("policies")),
    ("arms[].means.cost.control", Figure("policies")),
    ("arms[].means.cost.interval[]", Figure("policies")),
    ("arms[].means.cost.ratio", Figure("policies")),
    ("arms[].means.ranges", Figure("policies")),
    ("arms[].means.stops", Figure("policies")),
    ("arms[].means.trials", Figure("policies")),
    ("switchback.cut", Figure("experiment")),
    ("switchback.found_huge_bytes", Figure("experiment")),
    ("switchback.lapses", Figure("experiment")),
    ("switchback.least_huge", Figure("experiment")),
    ("switchback.left_out_bytes", Figure("experiment")),
    ("switchback.longest_call_seconds", Figure("experiment")),
    ("switchback.most_huge", Figure("experiment")),
    ("switchback.period_seconds", Figure("experiment")),
    ("switchback.pids[]", Figure("experiment")),
    ("switchback.settle_seconds", Figure("experiment")),
    ("switchback.shams", Figure("experiment")),
    ("switchback.share", Figure("scope")),
    ("switchback.skipped[].blocks", Figure("experiment")),
    ("switchback.skipped[].why", Phrase("experiment")),
    ("switchback.source", Figure("experiment")),
    ("switchback.starts", Phrase("experiment")),
    ("switchback.switch_seconds[]", Figure("experiment")),
    ("switchback.switched_bytes", Figure("scope")),
    ("word", Phrase("headline")),
];

fn walk(value: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Array(values) => {
            for value in values {
                walk(value, &format!("{path}[]"), visit);
            }
        }
        Value::Object(fields) => {
            let by_name = [
                "metrics",
                "circumstances[].disturbance.kinds",
                "arms[].made_huge.refused",
                "arms[].huge_code.refused",
            ];
            for (key, value) in fields {
                let key = if by_name.contains(&own(path)) {
                    "*"
                } else {
                    key
                };
                let lead = if path.is_empty() { "" } else { "." };
                walk(value, &format!("{path}{lead}{key}"), visit);
            }
        }
        _ => visit(path, value),
    }
}

/// The path of a field in its own answer: the parts about programs, and about periods inside servers, are answers too.
fn own(path: &str) -> &str {
    let path = path.trim_start_matches("programs[].");
    path.trim_start_matches("inside.")
}

/// Every leaf of an answer with its path in its own answer.
fn leaves(json: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    walk(json, "", &mut |path, value| {
        let path = own(path);
        found.push((path.to_owned(), value.clone()));
    });
    found
}

/// Returns true if a text contains a figure or a text of the answer.
fn has(text: &str, value: &Value) -> bool {
    match value {
        Value::String(part) => {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            text.contains(&part)
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            let mut shown = numbers_in(text).into_iter();
            shown.any(|shown| shown.is_given_by(number))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// Returns the fields whose figures and texts are missing from a text, except for the keys that select its phrases.
pub fn unprinted(json: &Value, text: &str, phrases: &[&str]) -> Vec<String> {
    let phrase = |path: &str| {
        path.rsplit('.')
            .next()
            .is_some_and(|key| phrases.contains(&key))
    };
    let is_start = |path: &str, value: &Value| path.ends_with("from_seconds") && *value == 0.0;
    let leaves = leaves(json).into_iter();
    let missing =
        leaves.filter(|(path, value)| !phrase(path) && !is_start(path, value) && !has(text, value));
    missing.map(|(path, _)| path).collect()
}

/// Returns true for the figures of a cause, among which `words/cause.rs` selects: the tests of causes cover them.
fn is_of_a_cause(path: &str) -> bool {
    let own = ["causes[].arm", "causes[].cause", "causes[].outcome"];
    path.starts_with("causes[].") && !own.contains(&path)
}

fn answers() -> Vec<Value> {
    let answers = samples::all()
        .into_iter()
        .map(|it| it.1)
        .chain([everything()]);
    answers
        .map(|answer| serde_json::to_value(answer).unwrap())
        .collect()
}

#[test]
fn every_field_has_one_place() {
    let all = answers();
    let fields = all.iter().flat_map(leaves).map(|it| it.0);
    let fields: BTreeSet<String> = fields.filter(|path| !is_of_a_cause(path)).collect();
    let table: BTreeSet<String> = PRINTED.iter().map(|it| it.0.to_owned()).collect();
    assert_eq!(table.len(), PRINTED.len(), "a field stands twice");
    let unknown: Vec<_> = fields.difference(&table).collect();
    assert!(unknown.is_empty(), "fields without a place: {unknown:?}");
    let gone: Vec<_> = table.difference(&fields).collect();
    assert!(gone.is_empty(), "no answer has these fields: {gone:?}");
}

#[test]
fn every_figure_is_printed() {
    let all = samples::all()
        .into_iter()
        .map(|it| it.1)
        .chain([everything()]);
    for answer in all {
        let text = format!("{}\n{}", screen(&answer), verbose(&answer));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let json = serde_json::to_value(&answer).unwrap();
        for (path, value) in leaves(&json) {
            let place = PRINTED.iter().find(|it| it.0 == path).map(|it| it.1);
            if let Some(Figure(place)) = place {
                // The choice that changes nothing has no rival.
                let is_kept = path == "choice.arm" && answer.judged.baseline == value;
                assert!(
                    is_kept || has(&text, &value),
                    "{place}: {path} {value}\n{text}"
                );
            }
        }
    }
}
