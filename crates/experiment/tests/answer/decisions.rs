//! The decision for every record of this repository, in one file: one line per record.
//!
//! `UPDATE_EXPECT=1 cargo test -p hugewise-experiment --test experiment answer` writes it; check the difference before
//! you commit it.

use expect_test::expect_file;
use hugewise_experiment::run::answer::{Answer, Claim, Effect};
use hugewise_experiment::run::cause::CauseOutcome;
use serde::Serialize;
use serde_json::{Value, json};

use super::records::{RECORDS, root};

#[test]
fn decisions_are_as_they_were() {
    let lines = RECORDS.iter().map(|kept| {
        let path = json!(kept.path);
        format!("{path}: {}", decision(&kept.answer))
    });
    let lines: Vec<String> = lines.collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    serde_json::from_str::<Value>(&text).expect("an object");
    expect_file![root().join("fixtures/golden/answers.json")].assert_eq(&text);
}

/// Returns the decision without its readings and words.
fn decision(answer: &Answer) -> Value {
    let headline = answer.headline.iter();
    let headline: Vec<Value> = headline.map(|id| claim(answer.claim(*id))).collect();
    let choice = answer.choice.as_ref().map(|choice| {
        let commands = choice.commands.iter().map(|it| it.line.as_str());
        json!({
            "arm": choice.arm,
            "scope": choice.scope,
            "commands": commands.collect::<Vec<_>>(),
        })
    });
    let next = answer.next.iter().map(|next| {
        let command = next.command.as_ref().map(|it| it.line.as_str());
        json!([kind(&next.step, "step"), command])
    });
    let doubts = answer.doubts.iter().map(|doubt| kind(doubt, "doubt"));
    let shown = |outcome| outcome == CauseOutcome::Shown;
    let causes = answer.causes.iter().filter(|it| shown(it.outcome));
    let causes = causes.map(|cause| json!([cause.id, cause.arm]));
    let programs = answer.programs.iter().map(decision);
    json!({
        "word": answer.word,
        "headline": headline,
        "choice": choice,
        "doubts": doubts.collect::<Vec<_>>(),
        "next": next.collect::<Vec<_>>(),
        "causes": causes.collect::<Vec<_>>(),
        "programs": programs.collect::<Vec<_>>(),
    })
}

/// Returns arm, against, when, metric, effect, both ends, rounds and call of a claim.
fn claim(claim: &Claim) -> Value {
    let contrast = &claim.contrast;
    let effect = claim.effect.map(|effect| match effect {
        Effect::Ratio(size) | Effect::Difference(size) | Effect::Points(size) => rounded(size),
    });
    let ends = claim.interval;
    json!([
        contrast.arm,
        contrast.against,
        contrast.when,
        contrast.metric,
        effect,
        ends.map(|it| rounded(it.low)),
        ends.map(|it| rounded(it.high)),
        claim.rounds,
        name(&claim.call),
    ])
}

/// Rounds a number so that another processor writes the same.
fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().expect("a number")
}

/// Returns the name of the kind that a tagged value has.
fn kind(value: &impl Serialize, tag: &str) -> Value {
    serde_json::to_value(value).expect("JSON")[tag].clone()
}

/// Returns the name of a variant: the text, or the one key of the object.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("JSON") {
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        Value::String(name) => name,
        other => other.to_string(),
    }
}
