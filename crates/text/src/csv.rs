//! Rows for programs, as RFC 4180 wants them.

use std::borrow::Cow;
use std::fmt::Display;

use hugewise_base::plain::plain_cow;
use hugewise_base::table::{Cell, Table};

/// Rows under a heading, each field quoted if needed.
///
/// Writes to memory, so it cannot fail. Every row has as many fields as the heading.
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
        csv.write(heading);
        csv
    }

    /// Rows to append to others, with this number of columns.
    #[must_use]
    pub fn without_heading(columns: usize) -> Self {
        Self {
            writer: csv::Writer::from_writer(Vec::new()),
            columns,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        self.write(&fields.into_iter().collect::<Vec<_>>());
    }

    fn write(&mut self, fields: &[impl AsRef<str>]) {
        assert_eq!(fields.len(), self.columns, "a field for each column");
        let fields = fields.iter().map(|field| safe(field.as_ref()));
        self.writer
            .write_record(fields.map(Cow::into_owned))
            .expect("writing to memory cannot fail");
    }

    /// The whole.
    #[must_use]
    pub fn into_text(self) -> String {
        let bytes = self.writer.into_inner().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Returns the text of a cell, safe for terminals and spreadsheets. Control characters are escaped; text that begins
/// like a formula gets an apostrophe in front. Numbers stay numbers.
fn safe(text: &str) -> Cow<'_, str> {
    /// The last four are the East Asian full-width forms, which spreadsheets treat as equal.
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_formula = text.starts_with(FORMULA) && text.chars().count() > 1 && !is_number(text);
    let text = plain_cow(text);
    match is_formula {
        true => format!("'{text}").into(),
        false => text,
    }
}

/// Returns true if a text is a decimal number: `inf` and `nan` are words.
fn is_number(text: &str) -> bool {
    let has_digits_only = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.chars().all(has_digits_only) && text.parse::<f64>().is_ok()
}

/// Converts a table to CSV.
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

/// Returns the shortest decimal that reads back as the same number; empty if the value is not finite.
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
    use proptest::prelude::*;

    use super::*;
    use hugewise_base::plain::is_obeyed;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut csv = Csv::new(&["policy", "value"]);
        csv.row(["thp=always,defrag=\"x\"".to_owned(), number(0.1)]);
        csv.row(["as-is".to_owned(), number(f64::NAN)]);
        let expected = "policy,value\n\"thp=always,defrag=\"\"x\"\"\",0.1\nas-is,\n";
        assert_eq!(csv.into_text(), expected);
    }

    #[test]
    fn no_cell_is_a_formula_or_an_escape() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("-inf", "'-inf"),
            ("＝1+1", "'＝1+1"),
            ("=\u{1b}[2J", "'=\\u{1b}[2J"),
            ("\t=1", "\\t=1"),
            ("\r=1", "\\r=1"),
            ("a\u{7}\u{9b}\u{202e}\nb", "a\\u{7}\\u{9b}\\u{202e}\\nb"),
            ("-3.5", "-3.5"),
            ("+2", "+2"),
            ("-1e-9", "-1e-9"),
            ("-", "-"),
            ("--policy", "'--policy"),
            ("thp=always", "thp=always"),
        ] {
            assert_eq!(safe(text), cell);
        }
    }

    proptest! {
        #[test]
        fn whatever_a_field_holds_it_comes_back_as_one_cell(text: String) {
            let mut csv = Csv::new(&["a", "b"]);
            csv.row([text, "end".to_owned()]);
            let written = csv.into_text();
            prop_assert!(!written.contains(|c| c != '\n' && is_obeyed(c)), "{written:?}");
            prop_assert_eq!(written.lines().count(), 2);
            let mut reader = ::csv::Reader::from_reader(written.as_bytes());
            let row = reader.records().next().unwrap().unwrap();
            prop_assert_eq!(&row[1], "end");
            prop_assert!(row[0].starts_with('\'') || !row[0].starts_with('=') || row[0].len() == 1);
        }
    }
}
