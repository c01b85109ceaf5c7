//! The first screens of the records that are kept.

use std::path::Path;

use hugewise_model::bench;
use hugewise_model::run::compare::{Options, table};
use hugewise_model::run::record::parse;
use hugewise_model::text::Style;

use super::checked::draw;
use super::documented::{json_files, text_of};

/// Lines of a terminal, and of a report with more policies than it can tell there.
const LINES: [usize; 2] = [24, 30];

#[test]
fn a_first_screen_fits_the_terminal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["docs/records", "examples", "fixtures/runs"];
    let files = places
        .iter()
        .flat_map(|place| json_files(&root.join(place)));
    let mut tall = Vec::new();
    let mut seen = 0;
    for file in files {
        let Ok(record) = parse(text_of(&file).as_bytes()) else {
            continue;
        };
        let compared = table(&record, &Options::default()).unwrap();
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let text = draw(
            &bench::report(&record, compared, Some(name.clone())),
            &Style::default(),
        );
        seen += 1;
        let lines = text.lines().count();
        let has_few = record.header.plan.policies.len() <= 3;
        let most = LINES[usize::from(!has_few)];
        if lines > most {
            tall.push(format!("{name}: {lines} lines\n{text}"));
        }
    }
    assert!(seen > 50, "{seen} records");
    assert!(tall.is_empty(), "{}", tall.join("\n"));
}
