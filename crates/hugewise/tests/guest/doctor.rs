//! The diagnosis of this kernel equals the stored one.

use serde_json::{Value, json};

use super::ground::Ground;

/// Hazards that depend on the moment, not on the kernel.
const OF_THE_MOMENT: [&str; 3] = ["other-load", "fragmented", "steal"];

/// The live output of `doctor` equals that for the frozen machine of the same kernel. Without a frozen machine, it must
/// at least answer every question.
pub fn as_expected(ground: &Ground) {
    let live = ground.hugewise_json(&["doctor", "--format", "json"]);
    let rungs = live["rungs"].as_array().unwrap();
    assert!(rungs.len() >= 18, "{} rungs", rungs.len());
    for rung in rungs {
        assert!(rung["support"]["answer"].is_string(), "{rung}");
    }
    let Some(folder) = &ground.expectation.golden else {
        return;
    };
    let path = folder.join(format!("{}.json", ground.user()));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let golden: Value = serde_json::from_slice(&text).unwrap();
    for part in ["rungs", "settings", "hazards"] {
        assert_same(part, &lasting(&live[part]), &lasting(&golden[part]));
    }
}

fn assert_same(part: &str, live: &[Value], golden: &[Value]) {
    for (live, golden) in live.iter().zip(golden) {
        match was_asked(golden) {
            true => assert_eq!(live, golden, "{part}"),
            false => assert_eq!(live["rung"], golden["rung"], "{part}"),
        }
    }
    assert_eq!(live.len(), golden.len(), "{part}: {live:?}");
}

/// Returns false for a question that is newer than the frozen machine, which has no answer to it.
fn was_asked(golden: &Value) -> bool {
    golden["support"]["answer"] != "unknown"
}

/// Each entry without time-dependent numbers.
fn lasting(entries: &Value) -> Vec<Value> {
    let entries = entries.as_array().unwrap();
    entries
        .iter()
        .filter(|entry| !OF_THE_MOMENT.iter().any(|id| entry["id"] == *id))
        .map(|entry| match entry.get("id") {
            Some(id) => json!({ "id": id, "meaning": entry["meaning"] }),
            None => entry.clone(),
        })
        .collect()
}
