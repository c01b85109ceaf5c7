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
                "benchfmt" => "txt",
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
    let record = record::parse(TWO_POLICIES).unwrap();
    let table = compare::table(&record, &compare::Options::default()).unwrap();
    let report = Report::new(&record, table, None);
    let junit = |gate: &str| {
        let bytes = Export::Junit.render(&report, &[gate.parse().unwrap()]);
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    assert!(junit("wall_seconds < -5%").contains("failures=\"1\" errors=\"0\" skipped=\"0\""));
    assert!(junit("wall_seconds < -90%").contains("failures=\"0\" errors=\"0\" skipped=\"0\""));
    assert!(junit("wall_seconds < -19.5%").contains("skipped=\"1\""));
}
