use std::collections::BTreeMap;

use anyhow::Result;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::cells::Bench;
use hugewise_experiment::run::compare::Table;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::{CellView, Report};
use hugewise_experiment::run::trial::Reading;

use crate::exit;

/// Returns a missing reading for each cell.
pub fn read(bench: &Bench, _output: &[u8]) -> BTreeMap<String, Reading> {
    let why = || Reading::missing(Missing::not_supported("reading benches in this build"));
    let cells = bench.cells.iter();
    cells
        .map(|cell| (cell.reading("time_seconds"), why()))
        .collect()
}

/// Makes the report of a record, without its cells.
pub fn report<'a>(record: &'a Record, table: Table, path: Option<String>) -> Report<'a> {
    Report::new(record, table, path)
}

/// Returns no view.
pub fn view(_record: &Record) -> Option<Box<dyn CellView>> {
    None
}

/// Always fails.
///
/// # Errors
/// Always.
pub fn curves(_report: &Report<'_>) -> Result<String> {
    Err(exit::usage(
        "--svg: this hugewise was built without benches",
    ))
}
