//! The answer of a report, by its keys.

use serde_json::Value;

/// Returns the answer of a report.
pub fn answer(report: &Value) -> &Value {
    let answer = &report["answer"];
    assert!(answer.is_object(), "no answer: {report:#}");
    answer
}

/// Returns a list of the answer, such as its claims.
pub fn list<'a>(report: &'a Value, name: &str) -> &'a [Value] {
    let list = answer(report)[name].as_array();
    list.unwrap_or_else(|| panic!("no {name}: {:#}", answer(report)))
}

/// Returns the first claim that matches.
pub fn claim(report: &Value, fits: impl Fn(&Value) -> bool) -> &Value {
    let mut claims = list(report, "claims").iter();
    let found = claims.find(|claim| fits(claim));
    found.unwrap_or_else(|| panic!("no such claim: {:#}", answer(report)["claims"]))
}

/// Returns the name of the call that judged a policy, such as `better`.
pub fn call_of<'a>(report: &'a Value, arm: &str) -> &'a str {
    let is_judged = |claim: &Value| claim["budget"] == "verdict" && claim["contrast"]["arm"] == arm;
    call(claim(report, is_judged))
}

/// Returns the name of the call of a claim.
pub fn call(claim: &Value) -> &str {
    match &claim["call"] {
        Value::String(name) => name,
        Value::Object(call) => call.keys().next().expect("a call has a name"),
        other => panic!("no call: {other}"),
    }
}

/// Returns the policy to use; `None` while undecided.
pub fn choice(report: &Value) -> Option<&str> {
    answer(report)["choice"]["arm"].as_str()
}

/// Returns the facts of a policy.
pub fn arm<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut arms = list(report, "arms").iter();
    let found = arms.find(|arm| arm["name"] == name);
    found.unwrap_or_else(|| panic!("no policy {name}: {:#}", answer(report)["arms"]))
}

/// Returns the causes with this name, whatever their result.
pub fn causes<'a>(report: &'a Value, id: &str) -> Vec<&'a Value> {
    let all = list(report, "causes").iter();
    all.filter(|cause| cause["cause"] == id).collect()
}

/// Returns a cause of a policy.
pub fn cause<'a>(report: &'a Value, id: &str, arm: &str) -> &'a Value {
    let found = causes(report, id).into_iter().find(|it| it["arm"] == arm);
    found.unwrap_or_else(|| panic!("{id} of {arm}: {:#}", answer(report)["causes"]))
}

/// Returns a doubt of this kind.
pub fn doubt<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let mut doubts = list(report, "doubts").iter();
    let found = doubts.find(|doubt| doubt["doubt"] == kind);
    found.unwrap_or_else(|| panic!("no doubt {kind}: {:#}", answer(report)["doubts"]))
}
