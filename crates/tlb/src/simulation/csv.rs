//! A simulation as rows for programs.

use super::document::{VALUES, streams};
use super::outcome::{Simulation, Streams};
use hugewise_text::csv::Csv;

const COLUMNS: [&str; 9] = [
    "page_bytes",
    "native",
    "stream",
    "accesses",
    "name",
    "least",
    "most",
    "missing",
    "mapping",
];

impl Simulation {
    /// Returns one row per page size, stream and value, and per mapping.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS);
        for column in &self.columns {
            let lead = [column.page_bytes.to_string(), column.native.to_string()];
            rows(&lead, &column.streams, &mut csv);
        }
        for mapping in &self.mappings {
            for (column, walks) in self.columns.iter().zip(&mapping.walks) {
                let (page, native) = (column.page_bytes.to_string(), column.native.to_string());
                let (total, walks) = (self.accesses.total().to_string(), walks.to_string());
                let (none, name) = (String::new, mapping.name.clone());
                let value = "walks".to_owned();
                csv.row([
                    page,
                    native,
                    none(),
                    total,
                    value,
                    walks.clone(),
                    walks,
                    none(),
                    name,
                ]);
            }
        }
        match &self.as_mapped {
            Ok(pages) => rows(
                &["as_mapped".to_owned(), String::new()],
                &pages.streams,
                &mut csv,
            ),
            Err(missing) => {
                let mut row: [String; 9] = std::array::from_fn(|_| String::new());
                row[0] = "as_mapped".to_owned();
                row[7] = missing.to_string();
                csv.row(row);
            }
        }
        csv.into_text()
    }
}

fn rows(lead: &[String; 2], both: &Streams, csv: &mut Csv) {
    for (stream, tally) in streams(both) {
        for value in &VALUES {
            let most = (value.most)(tally);
            let least = match value.name {
                "walk_references" => tally.walk_references.least,
                _ => most,
            };
            let [page, native] = lead.clone();
            csv.row([
                page,
                native,
                stream.to_owned(),
                tally.accesses.to_string(),
                value.name.to_owned(),
                least.to_string(),
                most.to_string(),
                String::new(),
                String::new(),
            ]);
        }
    }
}
