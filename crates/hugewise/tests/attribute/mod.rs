//! `attribute`, and policies that choose sites: the program itself reports which mappings are huge, from its smaps.

use predicates::str::contains;
use serde_json::{Value, json};

use crate::harness::{Case, lab, one_at_a_time, skip};

mod library;
mod variants;

const MIB: u64 = 1 << 20;
/// The sites of `hugewise-lab sites`, with their sizes and the huge part if they may be huge.
const SITES: [(&str, u64, u64); 5] = [
    ("helps", 256, 256),
    ("inert", 32, 2),
    ("hurts", 512, 512),
    ("left", 64, 64),
    ("right", 64, 64),
];

/// Returns true if sites can be chosen here; otherwise prints why not.
fn can_choose(test: &str) -> bool {
    let path = "/sys/kernel/mm/transparent_hugepage";
    let read = |file: &str| std::fs::read_to_string(format!("{path}/{file}")).unwrap_or_default();
    let why = match (hugewise_linux::spawn::try_tracing(), read("enabled")) {
        (Err(error), _) => format!("tracing is refused: {error}"),
        (_, enabled) if !(enabled.contains("[madvise]") || enabled.contains("[always]")) => {
            "huge pages are off".to_owned()
        }
        _ if read("hpage_pmd_size").trim() != "2097152" => "needs huge pages of 2 MiB".to_owned(),
        _ => return true,
    };
    skip(test, &why);
    false
}

/// Compares the laboratory's output with the sites that should be huge. Half of such a site is enough, because on
/// fragmented memory not every fault finds a huge page.
fn check(said: &[u8], huge: &[&str]) {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), SITES.len(), "{said}");
    for (line, (name, whole, most)) in lines.into_iter().zip(SITES) {
        let rest = line.strip_prefix(&format!("{name} huge "));
        let bytes = rest.and_then(|it| it.strip_suffix(&format!(" of {}", whole * MIB)));
        let bytes: Option<u64> = bytes.and_then(|it| it.parse().ok());
        let right = match huge.contains(&name) {
            true => most * MIB / 2..=most * MIB,
            false => 0..=0,
        };
        assert!(
            bytes.is_some_and(|it| right.contains(&it)),
            "{name}: {said}"
        );
    }
}

#[test]
fn each_site_is_huge_or_small_as_it_was_chosen() {
    if !can_choose("each_site_is_huge_or_small_as_it_was_chosen") {
        return;
    }
    // Other tests fragment memory, and then not every fault finds a huge page.
    let _turn = one_at_a_time();
    let all = SITES.map(|(name, ..)| name);
    for (sites, huge) in [
        ("mapping:none", &[][..]),
        ("mapping:all", &all[..]),
        ("mapping:1-256m+2-64m", &["helps", "right"]),
        ("mapping:1-512m+1-32m", &["hurts", "inert"]),
    ] {
        let ran = Case::new()
            .hugewise()
            .args(["exec", "--policy", &format!("sites={sites}"), "--"])
            .arg(lab())
            .args(["sites", "--reads", "0"])
            .assert()
            .success();
        check(&ran.get_output().stdout, huge);
    }
}

/// The design runs, every row is applied, and a file of sites identified by their calls applies.
#[test]
fn a_design_treats_each_site_and_its_file_can_be_applied() {
    if !can_choose("a_design_treats_each_site_and_its_file_can_be_applied") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("design.jsonl");
    let output = case
        .hugewise()
        .args(["attribute", "--by", "site", "--force", "--rounds", "2"])
        .args([
            "--max-rounds",
            "1",
            "--warmup",
            "0",
            "--host-memory",
            "as-is",
        ])
        .args(["--format", "json", "--out"])
        .arg(&record)
        .arg("--")
        .arg(lab())
        .args(["sites", "--reads", "0"])
        .assert()
        .success();
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("a document");
    assert_eq!(found["format"], "hugewise-attribution 1");
    assert_eq!((&found["rows"], &found["rounds"]), (&json!(16), &json!(2)));
    let sites = found["sites"].as_array().expect("a list");
    assert_eq!(sites.len(), 5, "{found:#}");
    for site in sites {
        let treated = [&site["failed_treatments"], &site["unseen"]];
        assert_eq!(treated, [&json!(0), &json!(0)], "{site:#}");
        assert_eq!(site["recurrence"], 1.0, "{site:#}");
    }
    let huge = |site: &Value| site["huge_bytes"].as_u64().unwrap_or(0) / MIB;
    let of = |mib: u64| {
        let mut found = sites
            .iter()
            .filter(|it| (mib / 2 + 1..=mib).contains(&huge(it)));
        found.next().expect("a site of that size")
    };
    let added = of(512)["added_bytes"].as_u64().expect("bytes");
    assert!((256..512).contains(&(added / MIB)), "{added}");
    let helping = &of(256)["site"];
    let place = of(256)["place"].as_str().unwrap_or_default();
    assert!(place.starts_with("map_helping sites.rs:"), "{place}");

    let file = case.path("best.sites");
    let choice = format!("site:{}", helping.as_str().expect("a name"));
    let text = json!({"format": "hugewise-sites 1", "sites": choice, "command": ["lab"]});
    std::fs::write(&file, text.to_string()).expect("a file");
    let mut applied = case.hugewise();
    applied
        .args(["exec", "--sites"])
        .arg(&file)
        .arg("--")
        .arg(lab());
    let applied = applied.args(["sites", "--reads", "0"]).assert().success();
    check(&applied.get_output().stdout, &["helps"]);
    let again = case
        .hugewise()
        .args(["attribute", "--from"])
        .arg(&record)
        .assert();
    again.success().stdout(contains("\nmap_helping sites.rs:"));
}

#[test]
fn what_the_design_decides_cannot_be_given() {
    for (flag, value) in [("--policy", "thp=never"), ("--matrix", "thp=never,always")] {
        Case::new()
            .hugewise()
            .args(["attribute", flag, value, "--", "true"])
            .assert()
            .code(2)
            .stderr(contains("`attribute` itself says what is tried"));
    }
    let case = Case::new();
    let file = case.path("x.sites");
    std::fs::write(
        &file,
        r#"{"format":"hugewise-sites 9","sites":"mapping:none","command":[]}"#,
    )
    .expect("a file");
    let exec = case
        .hugewise()
        .args(["exec", "--sites"])
        .arg(&file)
        .args(["--", "true"])
        .assert();
    exec.code(2).stderr(contains("expected hugewise-sites 1"));
}

/// Each part of a mapping is huge or small independently.
#[test]
fn parts_of_a_mapping_are_huge_as_they_were_chosen() {
    let _turn = one_at_a_time();
    if !can_choose("parts_of_a_mapping_are_huge_as_they_were_chosen") {
        return;
    }
    let output = Case::new()
        .hugewise()
        .args([
            "exec",
            "--policy",
            "sites=chunk-64m:1-256m.1+1-256m.4+1-512m.2",
            "--",
        ])
        .arg(lab())
        .args(["sites", "--reads", "0"])
        .assert()
        .success();
    let said = String::from_utf8_lossy(&output.get_output().stdout);
    let huge = |name: &str| -> u64 {
        let line = said.lines().find(|line| line.starts_with(name));
        let bytes = line.and_then(|line| line.split(' ').nth(2));
        bytes.expect("a line").parse().expect("a number")
    };
    // A mapping that does not begin on a block boundary has its last part in the next block.
    let about = |name: &str, mib: u64| (mib - 2..=mib).contains(&(huge(name) / MIB));
    assert!(about("helps", 128) && about("hurts", 64), "{said}");
    assert_eq!(
        (huge("inert"), huge("left"), huge("right")),
        (0, 0, 0),
        "{said}"
    );
}

#[test]
fn servers_of_their_own_for_each_trial_are_required() {
    Case::new()
        .hugewise()
        .args(["attribute", "--service", "true", "--ready", "tcp:{port}"])
        .args(["--load", "true", "--interleave", "yes"])
        .assert()
        .code(2)
        .stderr(contains("starts a server for each trial"));
}

/// Memory of a server's tree is observed, also in a process below its shell.
#[test]
fn the_memory_of_a_server_is_split() {
    if !can_choose("the_memory_of_a_server_is_split") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let lab = lab();
    let lab = lab.display();
    let server = format!(
        "{lab} sites --reads 0 --divide 8 >&2; exec {lab} serve --port {{port}} --folder {{dir}} \
         --pages 1"
    );
    let load = format!("{lab} ask --port {{port}} --requests 20");
    let output = case
        .hugewise()
        .args(["attribute", "--force", "--rounds", "2", "--max-rounds", "1"])
        .args(["--warmup", "0", "--host-memory", "as-is"])
        .args(["--format", "json", "--ready", "tcp:{port}"])
        .args(["--service", &server, "--load", &load])
        .assert()
        .success();
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let sites = found["sites"].as_array().expect("a list");
    let site = sites.iter().find(|it| it["huge_bytes"] == 32 * MIB);
    let site = site.unwrap_or_else(|| panic!("{found:#}"));
    let treated = [&site["failed_treatments"], &site["unseen"]];
    assert_eq!(treated, [&json!(0), &json!(0)], "{site:#}");
}
