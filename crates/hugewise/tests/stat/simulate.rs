//! `hugewise simulate`: a model of the TLB, fed by valgrind.

use std::process::Command;

use predicates::str::contains;
use serde_json::Value;

use super::harness::{Case, lab, skip};

/// Returns true if commands can be traced here; otherwise prints a skip.
fn tracer(name: &str) -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        skip(name, "there is no valgrind");
    }
    found
}

/// The simulated run of a command on a Skylake.
fn simulated(words: &[&str]) -> Value {
    let case = Case::new();
    let lead = ["simulate", "--cpu", "skylake", "--format", "json"];
    let output = case.hugewise().args(lead).args(words).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("a document")
}

/// Data misses of the first level and walks, by page size, that rounds of `stride` add.
fn added(pages: u64, step: u64, rounds: u64) -> Vec<(u64, u64, u64)> {
    let lab = lab();
    let of = |rounds: u64| {
        let [pages, step, rounds] = [pages, step, rounds].map(|number| number.to_string());
        let program = lab.to_str().expect("a path");
        let options = ["--pages", &pages, "--step", &step, "--rounds", &rounds];
        let words = [&["--", program, "stride"], &options[..]].concat();
        let columns = simulated(&words)["columns"].clone();
        columns.as_array().expect("columns").clone()
    };
    let number = |column: &Value, name: &str| column["data"][name].as_u64().expect("a number");
    let (few, many) = (of(1), of(1 + rounds));
    few.iter()
        .zip(&many)
        .map(|(few, many)| {
            let more = |name| number(many, name) - number(few, name);
            let size = many["page_bytes"].as_u64().expect("a size");
            (size, more("first_level_misses"), more("walks"))
        })
        .collect()
}

/// The effect of Skylake's 64 entries (4 ways) and 1536 (12 ways) on rounds over N pages. In addition, each round can
/// touch at most four pages of the stack and the program.
#[test]
fn simulated_rounds_over_pages_miss_as_the_geometry_says() {
    if !tracer("simulated_rounds_over_pages_miss_as_the_geometry_says") {
        return;
    }
    let rounds = 4;
    let about = |seen: u64, pages: u64, what: &str| {
        let least = rounds * pages;
        assert!(
            (least..=least + 4 * rounds).contains(&seen),
            "{what}: {seen} against {least}"
        );
    };
    // Found in the second level.
    let within = added(512, 1, rounds);
    assert_eq!(within[0].0, 4096);
    about(within[0].1, 512, "first level, 512 pages");
    about(within[0].2, 0, "walks, 512 pages");
    // Found in neither: each set of 12 gets 16 pages.
    let beyond = added(2048, 1, rounds);
    about(beyond[0].1, 2048, "first level, 2048 pages");
    about(beyond[0].2, 2048, "walks, 2048 pages");
    let (size, _, walks) = beyond[beyond.len() - 1];
    assert_eq!(size, 2 << 20);
    about(walks, 0, "walks of four huge pages");
    // A stride of the 128 sets: 13 pages are one too many for 12 ways, 12 are not.
    about(
        added(13, 128, rounds)[0].2,
        13,
        "walks of one set, overfull",
    );
    about(added(12, 128, rounds)[0].2, 0, "walks of one set, full");
}

/// A cyclic pass over four times the capacity of the second level walks at every page, and all those walks are in the
/// mapping of the pass.
#[test]
fn a_simulation_says_whose_walks_they_are() {
    const NAME: &str = "a_simulation_says_whose_walks_they_are";
    if !tracer(NAME) {
        return;
    }
    let lab = lab();
    let lab = lab.to_str().expect("a path");
    let words = ["--", lab, "stride", "--pages", "8192", "--rounds", "3"];
    let seen = simulated(&words);
    let rows = seen["mappings"].as_array().expect("mappings");
    let walks = |row: &Value| row["walks"][0].as_u64().expect("walks");
    let most = &rows[0];
    assert_eq!(walks(most) / 8192, 3, "{most}");
    assert!(walks(most) % 8192 < 100, "{most}");
    let name = most["name"].as_str().expect("a name");
    assert!(name.starts_with("anonymous 32 MiB"), "{name}");
    let total: u64 = rows.iter().map(walks).sum();
    let column = &seen["columns"][0];
    let counted = |stream: &str| column[stream]["walks"].as_u64().expect("walks");
    assert_eq!(total, counted("data") + counted("code"));
    let unknown = rows
        .iter()
        .find(|row| row["name"] == "not known")
        .map_or(0, walks);
    assert!(unknown * 100 < total, "{unknown} of {total}");
}

/// Sixteen huge pages with one byte written to each: they are huge under the tracer too.
#[test]
fn a_simulation_sees_the_pages_that_the_kernel_gave() {
    const NAME: &str = "a_simulation_sees_the_pages_that_the_kernel_gave";
    let enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
    let modes = std::fs::read_to_string(enabled).unwrap_or_default();
    if modes.is_empty() || modes.contains("[never]") {
        return skip(NAME, "huge pages are not given here");
    }
    if !tracer(NAME) {
        return;
    }
    let lab = lab();
    let lab = lab.to_str().expect("a path");
    let seen = simulated(&["--", lab, "sparse", "--huge-pages", "16"]);
    let pages = &seen["as_mapped"];
    if !pages["missing"].is_null() {
        return skip(NAME, &pages["missing"].to_string());
    }
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(number(&pages["huge_ranges"]), 16, "{pages}");
    assert!(number(&pages["ranges"]) > 16, "{pages}");
    let accesses = |stream: &str| number(&pages["streams"][stream]["accesses"]);
    assert_eq!(accesses("code"), number(&seen["accesses"]["fetches"]));
    let data = &seen["accesses"];
    let both = number(&data["loads"]) + number(&data["stores"]);
    assert_eq!(accesses("data"), both);
}

#[test]
fn a_simulation_is_cut_where_it_was_told_and_says_so() {
    if !tracer("a_simulation_is_cut_where_it_was_told_and_says_so") {
        return;
    }
    let case = Case::new();
    let scratch = tempfile::tempdir().expect("a folder");
    let words = [
        "simulate",
        "--cpu",
        "skylake",
        "--format",
        "json",
        "--max-accesses",
        "10000",
        "--",
        "sleep",
        "60",
    ];
    let mut command = case.hugewise();
    let output = command
        .args(words)
        .env("TMPDIR", scratch.path())
        .assert()
        .success();
    let seen: Value = serde_json::from_slice(&output.get_output().stdout).expect("a document");
    let left = std::fs::read_dir(scratch.path()).expect("the folder");
    assert_eq!(left.count(), 0, "valgrind left files");
    let accesses = |name: &str| seen["accesses"][name].as_u64().expect("a number");
    assert_eq!(
        accesses("fetches") + accesses("loads") + accesses("stores"),
        10_000
    );
    assert_eq!(seen["format"], "hugewise-simulation 1");
    assert_eq!(seen["cut"], "at_most");
    assert!(seen["outcome"].is_null());
}

#[test]
fn simulations_that_cannot_be_are_refused_with_the_way_out() {
    let case = Case::new();
    let refused = |words: &[&str], code: i32, said: &str| {
        let result = case.hugewise().args(words).assert();
        result.code(code).stderr(contains(said));
    };
    refused(&["simulate"], 2, "hugewise simulate -- COMMAND");
    let unknown = ["simulate", "--cpu", "z80", "--", "true"];
    refused(&unknown, 2, "skylake");
    let moved = ["stat", "--simulate", "--cpu", "skylake", "--", "true"];
    let new = "write: hugewise simulate --cpu skylake -- true";
    refused(&moved, 2, new);
    refused(&["stat", "--cpu", "skylake", "--", "true"], 2, new);
    let mut bare = case.hugewise();
    bare.env("PATH", "/nowhere");
    // Some hypervisors hide this processor's TLB geometry, which is checked first.
    bare.args(["simulate", "--cpu", "skylake", "--", "/bin/true"]);
    bare.assert()
        .code(4)
        .stderr(contains("apt install valgrind"));
}
