//! The summary as rows for programs.

use super::{Absence, MissShare, Summary};
use hugewise_experiment::run::stats::Share;
use hugewise_text::csv::{Csv, number, optional};

const COLUMNS: [&str; 10] = [
    "table",
    "name",
    "misses",
    "share",
    "share_low",
    "share_high",
    "huge",
    "could",
    "conclusion",
    "missing",
];

impl Summary {
    /// Returns one row for the conclusion, and one per row of each table.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS);
        let [share, low, high] = numbers(self.could);
        let (misses, none) = (self.misses.to_string(), String::new);
        let conclusion: &'static str = self.conclusion.into();
        let table = "misses".to_owned();
        csv.row([
            table,
            none(),
            misses,
            share,
            low,
            high,
            none(),
            none(),
            conclusion.to_owned(),
            none(),
        ]);
        for (table, rows) in [
            ("standing", &self.standings),
            ("mapping", &self.mappings),
            ("page_bytes", &self.pages),
            ("function", &self.functions),
        ] {
            rows.iter().for_each(|row| csv.row(fields(table, row)));
        }
        csv.into_text()
    }
}

impl Absence {
    /// Returns one row with the reason.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS);
        let mut row: [String; 10] = std::array::from_fn(|_| String::new());
        row[0] = "misses".to_owned();
        row[9] = self.missing.to_string();
        csv.row(row);
        csv.into_text()
    }
}

fn fields(table: &str, row: &MissShare) -> [String; 10] {
    let [share, low, high] = numbers(row.share);
    [
        table.to_owned(),
        row.name.clone(),
        row.misses.to_string(),
        share,
        low,
        high,
        optional(row.huge),
        optional(row.could),
        String::new(),
        String::new(),
    ]
}

fn numbers(share: Share) -> [String; 3] {
    [share.share, share.low, share.high].map(number)
}
