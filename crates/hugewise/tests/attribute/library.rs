//! Sites by the file that asks for the memory: a library is a site, whether it maps memory or lets the C library
//! allocate it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{MIB, can_choose};
use crate::harness::{Case, one_at_a_time, skip};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attribute/library.c");

#[test]
fn a_library_is_one_site_and_the_program_another() {
    let name = "a_library_is_one_site_and_the_program_another";
    if !can_choose(name) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let (library, program) = (case.path("libstore.so"), case.path("shop"));
    let made = compiled(&library, &["-shared", "-fPIC", "-DLIBRARY"])
        && compiled(&program, &[&library.display().to_string()]);
    if !made {
        return skip(name, "cc does not build a library");
    }
    let mut command = case.hugewise();
    command
        .args(["attribute", "--by", "library", "--force", "--rounds", "2"])
        .args(["--max-rounds", "1", "--warmup", "0"])
        .args(["--host-memory", "as-is", "--format", "json", "--"])
        .arg(&program);
    let output = command.assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("a document");
    let sites = report["sites"].as_array().expect("a list");
    assert_eq!(sites.len(), 2, "{report:#}");
    // Memory that is not a multiple of a huge page can lose one at each end because of its position.
    for (file, mapped, huge) in [("libstore.so", 25, 20), ("shop", 33, 30)] {
        let site = sites.iter().find(|it| it["place"] == file);
        let site = site.unwrap_or_else(|| panic!("{file}: {report:#}"));
        let bytes = |key: &str| site[key].as_u64().unwrap_or(0) / MIB;
        assert!(
            (mapped..=mapped + 1).contains(&bytes("mapped_bytes")),
            "{site:#}"
        );
        assert!((huge..=mapped).contains(&bytes("huge_bytes")), "{site:#}");
        let treated = [&site["failed_treatments"], &site["unseen"]];
        assert_eq!(treated, [0, 0], "{site:#}");
    }
}

fn compiled(target: &Path, flags: &[&str]) -> bool {
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", SOURCE, "-o"]).arg(target);
    compiler.args(flags).status().is_ok_and(|it| it.success())
}
