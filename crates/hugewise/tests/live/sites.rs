//! `live --by mapping`: which memory of a running process earns the effect.

use std::process::Output;

use serde_json::Value;

use crate::harness::{Case, one_at_a_time, skip};
use crate::{Steady, assert_unchanged, obstacle};

fn live(case: &Case, steady: &Steady, flags: &[&str]) -> Output {
    let pid = steady.child.id().to_string();
    let mut command = case.hugewise();
    command
        .args(["live", &pid, "--work", &steady.work(), "--wait", "5m"])
        .args(["--by", "mapping", "--format", "json"])
        .args(flags);
    command.output().expect("hugewise")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn site<'a>(attribution: &'a Value, name: &str) -> &'a Value {
    let sites = attribution["sites"].as_array().expect("sites");
    let found = sites.iter().find(|it| it["site"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {attribution}"))
}

/// The effect of each mapping is its own: the program chases through one and streams through the other.
#[test]
fn the_mapping_whose_pages_matter_is_named() {
    const NAME: &str = "the_mapping_whose_pages_matter_is_named";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::of_size(&case, 256, "chase", &["--second", "stream"]);
    let out = case.path("record.jsonl");
    let out = out.to_str().expect("text");
    // With a period of ours no block is left out, however busy the machine is.
    let flags = ["--max-time", "5m", "--max-rounds", "6", "--period", "500ms"];
    let flags = [&flags[..], &["--out", out]].concat();
    let output = live(&case, &steady, &flags);
    assert!(output.status.success(), "{output:?}");
    let found = json(&output);
    assert_eq!(found["format"], "hugewise-attribution 1");
    assert_eq!(found["pids"][0].as_u64(), Some(steady.child.id().into()));
    assert!(found["rounds"].as_u64() >= Some(2), "{found}");
    let [chase, stream] = ["1-256m", "1-128m"].map(|name| site(&found, name));
    assert_eq!(chase["effect"], "helps", "{found}");
    let change = |site: &Value| site["change"].as_f64().expect("a change");
    assert!(change(chase) > 0.02, "{found}");
    assert!(change(stream).abs() < change(chase) / 2.0, "{found}");
    for (site, mib) in [(chase, 256), (stream, 128)] {
        assert_eq!(site["huge_bytes"].as_u64(), Some(mib << 20), "{found}");
        assert_eq!(site["failed_treatments"].as_u64(), Some(0), "{found}");
    }
    let again = case
        .hugewise()
        .args(["report", out, "--format", "json"])
        .output();
    assert_eq!(json(&again.expect("report")), found);
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

/// The lines of a record: the plan first, then the periods.
fn lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a record");
    let lines = text.lines();
    lines
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

/// The kernel may refuse single blocks, of which a site has 16 or more.
const REFUSED: u64 = 4 << 20;

/// Each period has the pages of its row. A record of a running process is not for `attribute --from`, whose sites a
/// new start would find.
#[test]
fn each_period_has_the_pages_of_its_row() {
    const NAME: &str = "each_period_has_the_pages_of_its_row";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--second", "idle"]);
    let out = case.path("record.jsonl");
    let out = out.to_str().expect("text");
    let flags = ["--period", "100ms", "--max-rounds", "2", "--max-time", "5m"];
    let flags = [&flags[..], &["--out", out]].concat();
    let output = live(&case, &steady, &flags);
    assert!(output.status.success(), "{output:?}");
    let lines = lines(out);
    let policies = lines[0]["plan"]["policies"].as_array().expect("policies");
    let row = |name: &Value| {
        let row = policies.iter().find(|it| it["name"] == *name);
        row.expect("a row")["settings"]["sites"]
            .as_str()
            .expect("sites")
    };
    let mut periods = 0;
    for line in lines.iter().filter(|it| !it["read_back"].is_null()) {
        periods += 1;
        let sites = line["read_back"]["switched"].as_array().expect("sites");
        assert_eq!(sites.len(), 2, "{line}");
        let row = row(&line["policy"]);
        for site in sites {
            let name = site["site"].as_str().expect("a site");
            let bytes = site["bytes"].as_u64().expect("bytes");
            let expected = if row.contains(name) { bytes } else { 0 };
            let huge = site["at_end"]["huge_bytes"].as_u64().expect("bytes");
            assert!(huge.abs_diff(expected) <= REFUSED, "{row}: {site}");
        }
    }
    // Eight rows and the second run of the first, twice.
    assert_eq!(periods, 18, "{lines:?}");
    let refused = case.hugewise().args(["attribute", "--from", out]).output();
    assert_eq!(refused.expect("attribute").status.code(), Some(2));
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

#[test]
fn a_preview_lists_the_sites() {
    const NAME: &str = "a_preview_lists_the_sites";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--second", "idle"]);
    let preview = json(&live(&case, &steady, &["--dry-run"]));
    let sites = preview["sites"].as_array().expect("sites");
    let read = |it: &Value| (it["site"].clone(), it["switched_bytes"].as_u64());
    let sites: Vec<(Value, Option<u64>)> = sites.iter().map(read).collect();
    let expected = [("1-64m", 64 << 20), ("1-32m", 32 << 20)];
    let expected = expected.map(|(name, bytes)| (Value::from(name), Some(bytes)));
    assert_eq!(sites, expected);
    assert_unchanged(steady);
}

#[test]
fn a_division_that_is_impossible_is_refused() {
    const NAME: &str = "a_division_that_is_impossible_is_refused";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let pid = steady.child.id().to_string();
    let mut refused = Vec::new();
    for flags in [
        &["--by", "mapping"][..],
        &["--by", "site"],
        &["--by", "mapping", "--threshold", "2%"],
    ] {
        let mut command = case.hugewise();
        command
            .args(["live", &pid, "--work", &steady.work(), "--wait", "5m"])
            .args(flags);
        let output = command.output().expect("hugewise");
        assert!(!output.stderr.is_empty());
        refused.push(output.status.code());
    }
    assert_eq!(refused, [Some(4), Some(2), Some(2)]);
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
    // Two mappings, and no time for the rows of two rounds.
    let steady = Steady::begin(&case, "stream", &["--second", "idle"]);
    let output = live(&case, &steady, &["--max-time", "5s", "--period", "2s"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}
