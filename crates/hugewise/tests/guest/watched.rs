//! Faults as `hugewise faults` sees them, one by one.

use serde_json::Value;

use super::ground::Ground;

/// The requested faults of the laboratory, and the kind in which each is reported.
const MIX: [(&str, u64); 8] = [
    ("--write", 211),
    ("--read", 223),
    ("--read-write", 227),
    ("--again", 229),
    ("--huge", 3),
    ("--read-huge", 5),
    ("--copy", 233),
    ("--shared", 239),
];
/// An upper limit for the faults of a program's start and of shared pages after a fork.
const BESIDES: u64 = 64;

/// Every kind is distinguished from the others: zero pages by their physical address, huge pages by their size, in
/// whichever way this kernel reports them.
pub fn each_kind(ground: &Ground) {
    let lab = ground.lab();
    let counts: Vec<String> = MIX.iter().map(|(_, count)| count.to_string()).collect();
    let mut words = vec!["faults", "--quiet", "--format", "json", "--"];
    words.extend([lab.to_str().unwrap(), "fault-mix"]);
    for ((option, _), count) in MIX.iter().zip(&counts) {
        words.extend([option, count.as_str()]);
    }
    let said = ground.hugewise_json(&words);
    assert_eq!(said["conditions"]["physical"], "yes", "{said}");
    assert_eq!(said["books"]["counted"], said["books"]["timed"], "{said}");
    assert_eq!(of_kind(&said, "huge"), 3, "{}", said["kinds"]);
    assert_eq!(of_kind(&said, "huge_zero"), 5, "{}", said["kinds"]);
    assert_eq!(of_kind(&said, "shared"), 239, "{}", said["kinds"]);
    for (kind, count) in [
        ("zero_page", 223 + 227),
        ("after_zero", 227),
        ("again", 229),
        ("copy", 233),
        ("page", 211 + 229 + 233),
    ] {
        let found = of_kind(&said, kind);
        let expected = count..count + BESIDES;
        assert!(expected.contains(&found), "{kind}: {found} of {count}");
    }
}

fn of_kind(said: &Value, kind: &str) -> u64 {
    let rows = said["kinds"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == kind);
    row.map_or(0, |row| row["faults"].as_u64().unwrap())
}
