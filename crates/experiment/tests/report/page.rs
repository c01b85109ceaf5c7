//! Pages for the handmade records.

use hugewise_base::gzip::unpacked;
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::{compare, record};
use hugewise_text::Verbosity;
use hugewise_text::page;

const RECORDS: [&[u8]; 4] = [
    include_bytes!("../../../../fixtures/runs/clear-win.jsonl"),
    include_bytes!("../../../../fixtures/runs/five-policies.jsonl"),
    include_bytes!("../../../../fixtures/runs/long-names.jsonl"),
    include_bytes!("../../../../fixtures/runs/failed-trials.jsonl"),
];
/// Servers of three and four policies, with counted requests in every trial.
const LARGE: [&[u8]; 2] = [
    include_bytes!("../../../../evidence/go.jsonl.gz"),
    include_bytes!("../../../../evidence/memcached.jsonl.gz"),
];
/// Size in bytes of the largest page for a few policies.
const MOST_BYTES: usize = 300_000;

fn report<'a>(record: &'a record::Record, path: &str) -> Report<'a> {
    let table = compare::table(record, &compare::Options::default()).unwrap();
    Report::new(record, table, Some(path.to_owned()))
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn a_page_gives_back_the_record_and_the_same_page() {
    for bytes in RECORDS {
        let parsed = record::parse(bytes).unwrap();
        let html = report(&parsed, "one.jsonl").page(bytes);
        let inside = page::source(html.clone().into()).unwrap();
        assert_eq!(inside, bytes);
        let again = record::parse(&inside).unwrap();
        assert_eq!(report(&again, "page.html").page(&inside), html);
        assert!(html.len() < MOST_BYTES, "{}", html.len());
    }
}

#[test]
fn a_page_of_a_server_is_small() {
    for packed in LARGE {
        let bytes = unpacked(packed).unwrap();
        let html = report(&record::parse(&bytes).unwrap(), "one.jsonl").page(&bytes);
        assert_eq!(page::source(html.clone().into()).unwrap(), *bytes);
        assert!(html.len() < MOST_BYTES, "{}", html.len());
    }
}

#[test]
fn a_page_says_what_the_report_says() {
    for bytes in RECORDS {
        let parsed = record::parse(bytes).unwrap();
        let html = report(&parsed, "one.jsonl").page(bytes);
        let report = report(&parsed, "one.jsonl");
        for command in report.answer().choice.iter().flat_map(|it| &it.commands) {
            assert!(html.contains(&escaped(&command.line)), "{command:?}");
        }
        for section in report.document(usize::MAX, Verbosity::Verbose).sections {
            for (_, block) in section.blocks {
                let hugewise_text::document::Block::Table(grid) = block else {
                    continue;
                };
                for cell in grid.rows.iter().flatten() {
                    let cell = format!(">{}</t", escaped(cell.text.trim()));
                    assert!(html.contains(&cell), "{cell}");
                }
            }
        }
    }
}
