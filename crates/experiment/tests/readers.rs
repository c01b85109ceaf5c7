//! The guide of load generators lists an output for each reader, and the reader accepts it.

use std::collections::BTreeSet;
use std::path::Path;

use hugewise_experiment::loadgen::read;
use hugewise_experiment::run::plan::LatencySource;
use hugewise_experiment::run::trial::Reading;

/// Reader and file of each row of the table with files.
fn rows() -> Vec<(LatencySource, String)> {
    let guide = include_str!("../../../docs/guide/load-generators.md");
    let rows = guide.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let reader = cells.next()?.trim_end_matches('`');
        let file = cells
            .next()?
            .strip_prefix("`fixtures/")?
            .strip_suffix('`')?;
        let source = reader.parse().unwrap_or_else(|why| panic!("{line}: {why}"));
        Some((source, file.to_owned()))
    });
    rows.collect()
}

fn word(source: &LatencySource) -> String {
    let word = source.reader.word();
    word.split(':').next().unwrap_or_default().to_owned()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the repository")]
fn each_reader_reads_the_output_that_the_guide_names() {
    let rows = rows();
    let named: BTreeSet<String> = rows.iter().map(|(source, _)| word(source)).collect();
    let known: BTreeSet<String> = LatencySource::of_each_reader()
        .map(|it| word(&it))
        .collect();
    assert_eq!(named, known);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for (source, file) in rows {
        let bytes = std::fs::read(fixtures.join(&file)).expect("a file of the guide");
        let reply = read(&source, Ok(vec![(file, bytes)]));
        let judged = source.verdict_metric().unwrap_or("latency_p50_seconds");
        let mut readings = reply
            .readings
            .iter()
            .filter(|(name, _)| name.ends_with(judged));
        let is_read = readings.any(|(_, reading)| !matches!(reading, Reading::Missing { .. }));
        assert!(is_read, "{source}: {:?}", reply.readings.keys());
    }
}
