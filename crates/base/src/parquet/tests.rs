use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

use super::*;
use crate::table::{Cell, Column, Table};

const COLUMNS: [Column; 3] = [
    ("count", Kind::Integer),
    ("value", Kind::Number),
    ("name", Kind::Text),
];

/// Reads the table of a file.
fn read(bytes: &[u8], columns: &[Column]) -> Result<Table, Error> {
    let mut reader = Reader::open(bytes::Bytes::copy_from_slice(bytes), columns)?;
    let mut table = Table::new(columns);
    while let Some(part) = reader.next_part()? {
        for row in 0..part.rows() {
            let cell = |(at, (_, kind)): (usize, &Column)| {
                Ok(match kind {
                    Kind::Integer => part.integer(at, row).into(),
                    Kind::Number => part.number(at, row).into(),
                    Kind::Text => part.text(at, row)?.into(),
                })
            };
            let cells: Result<Vec<Cell>, Error> = columns.iter().enumerate().map(cell).collect();
            table.row(cells?);
        }
    }
    Ok(table)
}

fn table(rows: Vec<(Option<i64>, Option<f64>, Option<String>)>) -> Table {
    let mut table = Table::new(&COLUMNS);
    for (count, value, name) in rows {
        table.row([count.into(), value.into(), name.into()]);
    }
    table
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        rows in prop::collection::vec(any::<(Option<i64>, Option<f64>, Option<String>)>(), 0..200)
    ) {
        let table = table(rows);
        let bytes = file(&table).unwrap();
        prop_assert_eq!(&read(&bytes, &COLUMNS).unwrap(), &table);
        prop_assert_eq!(file(&table).unwrap(), bytes);
    }

    #[test]
    fn a_broken_file_is_an_error_or_other_values(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()
    ) {
        let rows = (0..50).map(|n| (Some(n), Some(n as f64 / 7.0), Some(format!("host{}", n % 5))));
        let mut bytes = file(&table(rows.collect())).unwrap();
        let last = cut.index(bytes.len() * 8).min(bytes.len());
        bytes.truncate(last);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes, &COLUMNS);
    }
}

/// Many parts, and more than one row group.
#[test]
fn a_long_table_has_several_row_groups() {
    let rows = (0..140_000).map(|n| (Some(n), (n % 3 != 0).then_some(n as f64), None));
    let table = table(rows.collect());
    let bytes = file(&table).unwrap();
    let groups = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    assert_eq!(groups.num_row_groups(), 3);
    assert_eq!(read(&bytes, &COLUMNS).unwrap(), table);
}

#[test]
fn a_column_of_another_kind_is_named() {
    let name = Some("a".to_owned());
    let bytes = file(&table(vec![(None, Some(0.5), name)])).unwrap();
    let error = read(&bytes, &[("name", Kind::Number)]).unwrap_err();
    let text = "the column name is BYTE_ARRAY (String), not DOUBLE, FLOAT, INT32 or INT64";
    assert_eq!(error.to_string(), text);
    let absent: [Column; 2] = [("gone", Kind::Text), ("count", Kind::Text)];
    let read = read(&bytes, &absent).unwrap();
    assert_eq!(read.rows(), [[Cell::Missing, Cell::Missing]]);
}
