//! Rows for programs, as RFC 4180 wants them.

use std::fmt::Display;

use crate::base::table::{Cell, Table};

/// Rows under a heading, each field quoted where it must be.
///
/// Writing goes to memory, so that it cannot fail; every row has as many fields as the heading.
#[derive(Debug)]
pub struct Csv {
    writer: csv::Writer<Vec<u8>>,
    columns: usize,
}

impl Csv {
    /// Begins with the heading.
    #[must_use]
    pub fn new(heading: &[&str]) -> Self {
        let mut csv = Self {
            writer: csv::Writer::from_writer(Vec::new()),
            columns: heading.len(),
        };
        csv.write(heading.iter().map(|name| (*name).to_owned()).collect());
        csv
    }

    /// Rows that follow others, of so many columns.
    #[must_use]
    pub fn without_heading(columns: usize) -> Self {
        Self {
            writer: csv::Writer::from_writer(Vec::new()),
            columns,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        self.write(fields.into_iter().collect());
    }

    fn write(&mut self, fields: Vec<String>) {
        assert_eq!(fields.len(), self.columns, "a field for each column");
        self.writer
            .write_record(fields)
            .expect("writing to memory cannot fail");
    }

    /// The whole.
    #[must_use]
    pub fn into_text(self) -> String {
        let bytes = self.writer.into_inner().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A table as such text.
#[must_use]
pub fn of_table(table: &Table) -> String {
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
    let mut csv = Csv::new(&names);
    for row in table.rows() {
        csv.row(row.iter().map(field));
    }
    csv.into_text()
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Integer(value) => value.to_string(),
        Cell::Number(value) => number(*value),
        Cell::Text(text) => text.clone(),
        Cell::Missing => String::new(),
    }
}

/// The shortest decimal that reads back as the same number; nothing for what is no number.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

/// A value, or nothing.
#[must_use]
pub fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut csv = Csv::new(&["policy", "value"]);
        csv.row(["thp=always,defrag=\"x\"".to_owned(), number(0.1)]);
        csv.row(["as-is".to_owned(), number(f64::NAN)]);
        let expected = "policy,value\n\"thp=always,defrag=\"\"x\"\"\",0.1\nas-is,\n";
        assert_eq!(csv.into_text(), expected);
    }
}
