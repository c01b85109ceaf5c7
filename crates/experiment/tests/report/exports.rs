//! Exports, against goldens.

use bytes::Bytes;
use expect_test::expect_file;
use hugewise_base::parquet::Reader;
use hugewise_base::table::{Kind, Table};
use hugewise_experiment::run::gate::Gate;
use hugewise_experiment::run::report::{Export, Report};
use hugewise_experiment::run::{compare, record};
use hugewise_text::csv;

use super::checked::golden;

const PROGRAMS: &[u8] = include_bytes!("../../../../fixtures/runs/programs.jsonl");
const TWO_POLICIES: &[u8] = include_bytes!("../../../../fixtures/runs/two-policies.jsonl");
/// A typical record, one with failures, and one with many missing readings.
const RECORDS: [(&str, &[u8]); 3] = [
    ("two-policies", TWO_POLICIES),
    (
        "failed-trials",
        include_bytes!("../../../../fixtures/runs/failed-trials.jsonl"),
    ),
    (
        "everything-missing",
        include_bytes!("../../../../fixtures/runs/everything-missing.jsonl"),
    ),
];

#[test]
fn each_format_is_as_its_readers_want_it() {
    for (name, bytes) in RECORDS {
        let record = record::parse(bytes).unwrap();
        let table = compare::table(&record, &compare::Options::default()).unwrap();
        let report = Report::new(&record, table, None);
        let gates: [Gate; 2] =
            ["wall_seconds > +2%", "peak_rss_bytes > +0.1%"].map(|gate| gate.parse().unwrap());
        for format in Export::names() {
            let bytes = format.parse::<Export>().unwrap().render(&report, &gates);
            let end = match format {
                "benchfmt" | "ktap" => "txt",
                "junit" => "xml",
                "csv-long" | "parquet" => continue,
                _ => "json",
            };
            let text = String::from_utf8(bytes.unwrap()).unwrap();
            if end == "json" {
                serde_json::from_str::<serde_json::Value>(&text).unwrap();
            }
            expect_file![golden(&format!("export/{name}.{format}.{end}"))].assert_eq(&text);
        }
    }
}

/// Parquet has the same content as CSV.
#[test]
fn parquet_has_the_rows_of_csv() {
    for (name, bytes) in RECORDS {
        let record = record::parse(bytes).unwrap();
        let table = compare::table(&record, &compare::Options::default()).unwrap();
        let report = Report::new(&record, table, None);
        let long = report.long_form();
        let bytes = Export::Parquet.render(&report, &[]).unwrap();
        let mut reader = Reader::open(Bytes::from(bytes), long.columns()).unwrap();
        let mut read = Table::new(long.columns());
        while let Some(part) = reader.next_part().unwrap() {
            for row in 0..part.rows() {
                let columns = long.columns().iter().enumerate();
                read.row(columns.map(|(at, (_, kind))| match kind {
                    Kind::Integer => part.integer(at, row).into(),
                    Kind::Number => part.number(at, row).into(),
                    Kind::Text => part.text(at, row).unwrap().into(),
                }));
            }
        }
        assert_eq!(csv::of_table(&read), report.csv(), "{name}");
    }
}

/// A gate with a true condition fails its test case, and an undecided one is skipped.
#[test]
fn junit_has_a_case_for_each_condition() {
    let junit = |gate: &str| exported(TWO_POLICIES, Export::Junit, &[gate]);
    assert!(junit("wall_seconds < -5%").contains("failures=\"1\" errors=\"0\" skipped=\"0\""));
    assert!(junit("wall_seconds < -90%").contains("failures=\"0\" errors=\"0\" skipped=\"0\""));
    assert!(junit("wall_seconds < -19.5%").contains("skipped=\"1\""));
}

/// The result lines are those of the grammar, numbered as planned; the report is diagnostic lines before them.
#[test]
fn ktap_has_a_result_line_for_each_condition() {
    let lines = |bytes: &[u8], gates: &[&str]| {
        let text = exported(bytes, Export::Ktap, gates);
        let (head, rest) = text.split_once('\n').unwrap();
        assert_eq!(head, "KTAP version 1");
        let results = rest.lines().filter(|line| !line.starts_with('#'));
        results.map(str::to_owned).collect::<Vec<String>>()
    };
    let closed = "wall_seconds < -5%";
    let open = "wall_seconds < -90%";
    let undecided = "wall_seconds < -19.5%";
    assert_eq!(
        lines(TWO_POLICIES, &[closed, open, undecided]),
        [
            "1..4",
            "ok 1 answer",
            "not ok 2 wall_seconds < -5% # holds for thp=always",
            "ok 3 wall_seconds < -90%",
            "ok 4 wall_seconds < -19.5% # SKIP not decided",
        ]
    );
    let (_, failed) = RECORDS[2];
    assert_eq!(
        lines(failed, &[]),
        ["1..1", "not ok 1 answer # nothing was measured"]
    );
    let untried = include_bytes!("../../../../fixtures/runs/all-failed.jsonl");
    assert_eq!(
        lines(untried, &[]),
        ["1..1", "ok 1 answer # SKIP could not be tried"]
    );
    let undecided = include_bytes!("../../../../fixtures/runs/carry-over.jsonl");
    assert_eq!(
        lines(undecided, &[]),
        ["1..1", "ok 1 answer # SKIP not decided"]
    );
}

/// Readers see which program each row belongs to, and its own command.
#[test]
fn each_program_has_its_own_rows() {
    let json = |format| -> serde_json::Value {
        serde_json::from_str(&exported(PROGRAMS, format, &[])).unwrap()
    };
    let hyperfine = json(Export::Hyperfine);
    let third = &hyperfine["results"][2];
    assert_eq!(third["command"], "new: as-is: ./new --size 3");
    assert_eq!(third["parameters"]["program"], "new");
    assert_eq!(third["parameters"]["policy"], "as-is");

    let pyperf = json(Export::Pyperf);
    let benchmarks = pyperf["benchmarks"].as_array().unwrap();
    let names = benchmarks
        .iter()
        .map(|it| it["metadata"]["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    let expected = [
        "old [as-is]",
        "old [thp=always]",
        "new [as-is]",
        "new [thp=always]",
    ];
    assert_eq!(names, expected);
    assert_eq!(benchmarks[2]["metadata"]["command"], "./new --size 3");
    assert_eq!(benchmarks[2]["runs"].as_array().unwrap().len(), 12);

    let bench = exported(PROGRAMS, Export::Benchfmt, &[]);
    let rows = |key: &str| bench.lines().filter(|line| line.starts_with(key)).count();
    assert_eq!(
        rows("BenchmarkPrograms/program=new/policy=thp=always 1 "),
        12
    );
    assert_eq!(rows("Benchmark"), 48);
}

fn exported(bytes: &[u8], format: Export, gates: &[&str]) -> String {
    let record = record::parse(bytes).unwrap();
    let table = compare::table(&record, &compare::Options::default()).unwrap();
    let report = Report::new(&record, table, None);
    let gates: Vec<Gate> = gates.iter().map(|gate| gate.parse().unwrap()).collect();
    String::from_utf8(format.render(&report, &gates).unwrap()).unwrap()
}
