//! The screens of real records.

use std::path::Path;

use hugewise_model::run::answer::{Answer, Beside, Source, answer};
use hugewise_model::run::compare::{Options, table};
use hugewise_model::run::record::parse;

use crate::screens::{screen, verbose};

fn of_record(path: &str) -> Answer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bytes = std::fs::read(root.join(path)).unwrap();
    let record = parse(&bytes).unwrap();
    let table = table(&record, &Options::default()).unwrap();
    let beside = Beside {
        paths: vec![path.to_owned()],
        ..Beside::default()
    };
    answer(&Source {
        record: &record,
        table: &table,
        other: None,
        cells: None,
        beside: &beside,
    })
}

#[test]
fn print() {
    for path in std::fs::read_to_string("/tmp/records").unwrap().lines() {
        let answer = of_record(path);
        println!("=== {path}\n{}", screen(&answer));
    }
    let answer = of_record("examples/redis/record.jsonl");
    println!("=== verbose\n{}", verbose(&answer));
}
