//! Writing.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::Error;
use crate::table::{Cell, Column, Kind, Table};

/// A sequential reader holds part of one row group in memory.
const ROWS_OF_A_GROUP: usize = 1 << 16;

/// Returns a table as a file. The same table gives the same bytes.
///
/// # Errors
/// The library failed, or was left out.
pub fn file(table: &Table) -> Result<Vec<u8>, Error> {
    let schema = schema(table.columns())?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties()))?;
    for rows in table.rows().chunks(ROWS_OF_A_GROUP) {
        let mut group = writer.next_row_group()?;
        for (at, (_, kind)) in table.columns().iter().enumerate() {
            let column = group.next_column()?;
            let mut column = column.ok_or_else(|| Error::Broken("no column".to_owned()))?;
            write(&mut column, *kind, rows.iter().map(|row| &row[at]))?;
            column.close()?;
        }
        group.close()?;
    }
    Ok(writer.into_inner()?)
}

/// Page statistics and page indexes would be half of a small file.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by("hugewise".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build()
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let field = |(name, kind): &Column| {
        let (physical, logical) = match kind {
            Kind::Integer => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new)
    };
    let fields: Vec<TypePtr> = columns.iter().map(field).collect::<Result<_, _>>()?;
    let root = Type::group_type_builder("rows").with_fields(fields);
    root.build().map(Arc::new)
}

fn write<'a>(
    column: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<(), ParquetError> {
    match kind {
        Kind::Integer => put::<Int64Type>(column, cells, |cell| match cell {
            Cell::Integer(value) => Some(*value),
            _ => None,
        }),
        Kind::Number => put::<DoubleType>(column, cells, |cell| match cell {
            Cell::Number(value) => Some(*value),
            _ => None,
        }),
        Kind::Text => put::<ByteArrayType>(column, cells, |cell| match cell {
            Cell::Text(value) => Some(value.as_str().into()),
            _ => None,
        }),
    }
}

/// Writes the present values, and for each row whether it has one.
fn put<'a, T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = &'a Cell>,
    value: impl Fn(&Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = cells.map(value).collect();
    let present: Vec<i16> = cells.iter().map(|cell| cell.is_some().into()).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let writer = column.typed::<T>();
    writer.write_batch(&values, Some(&present), None).map(drop)
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Broken(error.to_string())
    }
}
