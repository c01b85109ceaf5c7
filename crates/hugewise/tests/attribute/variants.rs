//! Sites of programs built in several ways: each build names the same lines.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{MIB, can_choose};
use crate::harness::{Case, one_at_a_time, skip};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attribute/variants.c");

/// The place of each site, by the size class of its memory.
const LINES: [(&str, &str); 3] = [
    ("-64m", "map_large variants.c:20"),
    ("-32m", "allocate variants.c:32"),
    ("-16m", "map_small variants.c:26"),
];

#[test]
fn each_way_to_build_a_program_names_the_same_lines() {
    let name = "each_way_to_build_a_program_names_the_same_lines";
    if !can_choose(name) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    for (way, flags) in [
        ("dynamic", &["-fomit-frame-pointer"][..]),
        ("with frame pointers", &["-fno-omit-frame-pointer"]),
        ("static", &["-static", "-fomit-frame-pointer"]),
    ] {
        let program = case.path("variants");
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-O1", SOURCE, "-o"]).arg(&program);
        let made = compiler.args(flags).status();
        if !made.is_ok_and(|status| status.success()) {
            skip(name, &format!("cc does not build it ({way})"));
            continue;
        }
        let report = attributed(&case, &program);
        for (class, line) in LINES {
            let sites = report["sites"].as_array().expect("a list");
            let name = |site: &&Value| site["site"].as_str().unwrap_or_default().ends_with(class);
            let site = sites.iter().find(name).unwrap_or(&Value::Null);
            let place = site["place"].as_str().unwrap_or_default();
            assert!(place.starts_with(line), "{way}: {site:#}");
            let bytes = site["huge_bytes"].as_u64().unwrap_or(0);
            assert!(bytes >= 16 * MIB, "{way}: {site:#}");
        }
    }
}

fn attributed(case: &Case, program: &Path) -> Value {
    let mut command = case.hugewise();
    command
        .args(["attribute", "--by", "site", "--force", "--rounds", "2"])
        .args(["--max-rounds", "1", "--warmup", "0"])
        .args(["--host-memory", "as-is", "--format", "json", "--"])
        .arg(program);
    let output = command.assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("a document")
}
