//! Every field of a document appears on a page on formats.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hugewise_base::gzip::unpacked;
use hugewise_base::host::Balloon;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::compare::{self, Options};
use hugewise_experiment::run::metric::Better;
use hugewise_experiment::run::plan::{HostMemory, PrintedMetric};
use hugewise_experiment::run::record;
use hugewise_experiment::run::record::Line;
use hugewise_experiment::run::trial::{FirstTouch, Mark, Reading};
use serde_json::Value;
use strum::IntoEnumIterator;

use crate::documented::undocumented;
use crate::sample;

#[test]
fn no_field_of_a_record_is_undocumented() {
    let mut record = sample::clear_win();
    record.header.plan.printed.push(PrintedMetric {
        name: "rate".to_owned(),
        pattern: "([0-9]+)".to_owned(),
        unit: "1/s".to_owned(),
        better: Better::Higher,
    });
    record.trials[0].stderr_tail = Some("x".to_owned());
    record.header.plan.host_memory = HostMemory::Warm;
    record.header.host.balloon = Some(Balloon {
        driver: "virtio_balloon".to_owned(),
        reported_block_bytes: Some(2 << 20),
    });
    record.trials[0].first_touch = Some(FirstTouch {
        wanted_bytes: Some(4 << 20),
        ..FirstTouch::of(2 << 20, 2 << 20, &[0.005], &[0.0002])
    });
    record.trials[0].read_back.allocator = Some(String::new());
    record
        .end
        .as_mut()
        .unwrap()
        .left_behind
        .push("x".to_owned());
    for mark in marks() {
        record.trials[0].marks.push(mark);
    }
    record.trials[0].readings = missing()
        .into_iter()
        .enumerate()
        .map(|(index, missing)| (format!("wall_seconds_{index}"), Reading::missing(missing)))
        .collect();
    let lines = [
        record::to_line(&Line::Header(record.header.clone())),
        record::to_line(&Line::Trial(record.trials[0].clone())),
        record::to_line(&Line::Trial(record.trials[1].clone())),
        record::to_line(&Line::End(record.end.clone().unwrap())),
    ];
    let lines: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(undocumented(RECORD, &[], &lines.into()), BTreeSet::new());
}

/// Stored files: their place, the pages that describe them, and their fields with names as keys.
const KEPT: &[(&str, &[&str], &[&str])] = &[
    ("docs/records", RECORD, &[]),
    ("examples", RECORD, &["runtimes"]),
    ("evidence", RECORD, &["runtimes"]),
    ("fixtures/benches", RECORD, &[]),
    ("fixtures/runs", RECORD, &[]),
    ("fixtures/golden/where-server.json", &["format-misses"], &[]),
    ("fixtures/recordings/faults.jsonl", &["format-faults"], &[]),
    (
        "fixtures/recordings/stat.jsonl",
        &["format-stat"],
        &["readings", "derived", "scopes"],
    ),
    ("fixtures/recordings/trace.json", &["format-trace"], &[]),
    (
        "fixtures/recordings/watch.jsonl",
        &["format-watch"],
        &["sizes", "events", "memory", "pools"],
    ),
    ("fixtures/spaces", &["format-inspect"], &[]),
];

const RECORD: &[&str] = &["format-record"];

#[test]
fn no_field_of_a_kept_document_is_undocumented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unknown = KEPT.iter().map(|(place, pages, data)| {
        let files = json_files(&root.join(place));
        assert!(!files.is_empty(), "{place} has no JSON");
        let of_file = |file: &PathBuf| undocumented(pages, data, &read(file));
        (*place, files.iter().flat_map(of_file).collect())
    });
    let mut unknown: BTreeMap<&str, BTreeSet<String>> = unknown.collect();
    unknown.retain(|_, names| !names.is_empty());
    assert_eq!(unknown, BTreeMap::new());
}

/// Every key of a JSON report occurs on the page generated from the types, or in the record.
#[test]
fn no_field_of_a_report_is_undocumented() {
    let records = ["fixtures/runs", "fixtures/benches"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = records.iter().flat_map(|it| json_files(&root.join(it)));
    let mut unknown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let record = record::parse(text_of(&file).as_bytes()).unwrap();
        let table = compare::table(&record, &Options::default()).unwrap();
        let json = hugewise_bench::report(&record, table, None).json();
        let json: Value = serde_json::from_str(&json).unwrap();
        let pages = ["format-report", "format-record"];
        let names = undocumented(&pages, &["metrics", "by_cause", "kinds"], &json);
        unknown.insert(file.display().to_string(), names);
    }
    assert!(unknown.len() > 18, "{}", unknown.len());
    unknown.retain(|_, names| !names.is_empty());
    assert_eq!(unknown, BTreeMap::new());
}

/// A file, or all JSON files below a folder.
pub(super) fn json_files(place: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(place) else {
        let ends = place.extension().and_then(|it| it.to_str());
        let is_json = matches!(ends, Some("json" | "jsonl" | "gz"));
        return is_json.then(|| place.to_owned()).into_iter().collect();
    };
    folder
        .flat_map(|entry| json_files(&entry.unwrap().path()))
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a test reads what is kept")]
pub(super) fn text_of(file: &Path) -> String {
    let bytes = fs::read(file).unwrap();
    String::from_utf8(unpacked(&bytes).unwrap().into_owned()).unwrap()
}

/// The values of a file: one, or one per line. A torn last line is left out.
fn read(file: &Path) -> Value {
    let text = text_of(file);
    let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    values.map_while(Result::ok).collect()
}

#[test]
fn no_field_of_the_knowledge_is_undocumented() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../advise/knowledge");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let files = files.filter(|it| it.extension().is_some_and(|end| end == "toml"));
    let subjects: Value = files
        .map(|file| toml::from_str::<Value>(&text_of(&file)).unwrap())
        .collect();
    assert_eq!(
        undocumented(
            &["format-advise"],
            &["defaults", "env", "facts", "sysctl", "thp"],
            &subjects
        ),
        BTreeSet::new()
    );
}

pub(super) fn marks() -> Vec<Mark> {
    Mark::iter().collect()
}

pub(super) fn missing() -> Vec<Missing> {
    Missing::iter().collect()
}
