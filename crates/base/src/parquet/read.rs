//! Reads a limited number of rows at a time, so that memory does not grow with the file.

use std::fmt;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use super::broken::or_error;
use super::{Error, Source};
use crate::table::{Column, Kind};

/// Rows per part. In addition to a part, one page of each column is in memory.
const ROWS_OF_A_PART: usize = 1 << 12;

/// A file, read part by part for some columns.
pub struct Reader<S: Source> {
    file: SerializedFileReader<S>,
    /// The positions of the requested columns; `None` if the file lacks one.
    columns: Vec<(Column, Option<usize>)>,
    next_group: usize,
    group: Group,
}

/// The unread rest of a row group.
#[derive(Default)]
struct Group {
    readers: Vec<Option<ColumnReader>>,
    rows: usize,
}

/// Some consecutive rows.
#[derive(Debug)]
pub struct Part {
    columns: Vec<(&'static str, Cells)>,
    rows: usize,
}

#[derive(Debug)]
enum Cells {
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<ByteArray>>),
    Absent,
}

impl<S: Source + 'static> Reader<S> {
    /// Opens a file for these columns. If the file lacks a column, its cells are missing. A column without any value
    /// counts as absent, because programs guess its type.
    ///
    /// # Errors
    /// The file is not Parquet, or a column has another type.
    pub fn open(source: S, columns: &[Column]) -> Result<Self, Error> {
        or_error(|| Self::open_sound(source, columns))
    }

    fn open_sound(source: S, columns: &[Column]) -> Result<Self, Error> {
        let file = SerializedFileReader::new(source)?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let place = |column: &Column| {
            let mut all = schema.columns().iter();
            let at = all.position(|it| it.path().parts() == [column.0]);
            let at = at.filter(|at| !is_empty(file.metadata(), *at));
            if let Some(found) = at.map(|at| schema.column(at)) {
                check(&found, *column)?;
            }
            Ok((*column, at))
        };
        let columns = columns.iter().map(place).collect::<Result<_, Error>>()?;
        Ok(Self {
            columns,
            file,
            next_group: 0,
            group: Group::default(),
        })
    }

    /// Reads the next rows; `None` at the end.
    ///
    /// # Errors
    /// The file is broken, truncated, or uses a compression that the library was built without.
    pub fn next_part(&mut self) -> Result<Option<Part>, Error> {
        or_error(|| self.next_sound_part())
    }

    fn next_sound_part(&mut self) -> Result<Option<Part>, Error> {
        while self.group.rows == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(None);
            }
            self.group = self.next_group()?;
        }
        let rows = self.group.rows.min(ROWS_OF_A_PART);
        let readers = self.columns.iter().zip(&mut self.group.readers);
        let read = |((column, _), reader): (&(Column, _), &mut Option<ColumnReader>)| {
            let cells = match reader {
                Some(reader) => read(reader, *column, rows)?,
                None => Cells::Absent,
            };
            Ok((column.0, cells))
        };
        let columns = readers.map(read).collect::<Result<_, Error>>()?;
        self.group.rows -= rows;
        Ok(Some(Part { columns, rows }))
    }

    fn next_group(&mut self) -> Result<Group, Error> {
        let group = self.file.get_row_group(self.next_group)?;
        self.next_group += 1;
        let rows = usize::try_from(group.metadata().num_rows());
        let rows =
            rows.map_err(|_| Error::Broken("a row group has less than no row".to_owned()))?;
        let reader = |(_, at): &(_, Option<usize>)| {
            let reader = at.map(|at| group.get_column_reader(at));
            Ok(reader.transpose()?)
        };
        let readers = self.columns.iter().map(reader);
        let readers = readers.collect::<Result<_, Error>>()?;
        Ok(Group { readers, rows })
    }
}

impl<S: Source> fmt::Debug for Reader<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Reader");
        shown.field("columns", &self.columns);
        shown.field("next_group", &self.next_group);
        shown.finish_non_exhaustive()
    }
}

/// Returns true if no row has a value, according to the file.
fn is_empty(file: &ParquetMetaData, column: usize) -> bool {
    file.row_groups().iter().all(|group| {
        let statistics = group.column(column).statistics();
        let missing = statistics.and_then(Statistics::null_count_opt);
        missing.is_some_and(|missing| i64::try_from(missing) == Ok(group.num_rows()))
    })
}

/// A number can also be a decimal or a timestamp, whose digits have another meaning.
fn check(found: &ColumnDescriptor, (name, wanted): Column) -> Result<(), Error> {
    use parquet::basic::Type as Physical;
    let is_plain = match found.logical_type_ref() {
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => wanted == Kind::Text,
        Some(LogicalType::Integer(_)) => wanted != Kind::Text,
        Some(_) => false,
        None => found.converted_type() != ConvertedType::DECIMAL,
    };
    let is_kind = match found.physical_type() {
        Physical::INT32 | Physical::INT64 => wanted != Kind::Text,
        Physical::FLOAT | Physical::DOUBLE => wanted == Kind::Number,
        Physical::BYTE_ARRAY => wanted == Kind::Text,
        _ => false,
    };
    if is_plain && is_kind && found.max_rep_level() == 0 {
        return Ok(());
    }
    let logical = found.logical_type_ref().map(|it| format!(" ({it:?})"));
    let logical = logical.unwrap_or_default();
    Err(Error::Column {
        name,
        found: format!("{}{logical}", found.physical_type()),
        wanted,
    })
}

fn read(reader: &mut ColumnReader, (name, kind): Column, rows: usize) -> Result<Cells, Error> {
    use ColumnReader as Of;
    Ok(match (reader, kind) {
        (Of::Int32ColumnReader(it), Kind::Integer) => Cells::Integers(cells(it, rows, i64::from)?),
        (Of::Int64ColumnReader(it), Kind::Integer) => Cells::Integers(cells(it, rows, |it| it)?),
        (Of::Int32ColumnReader(it), Kind::Number) => Cells::Numbers(cells(it, rows, f64::from)?),
        (Of::Int64ColumnReader(it), Kind::Number) => {
            Cells::Numbers(cells(it, rows, |it| it as f64)?)
        }
        (Of::FloatColumnReader(it), Kind::Number) => Cells::Numbers(cells(it, rows, f64::from)?),
        (Of::DoubleColumnReader(it), Kind::Number) => Cells::Numbers(cells(it, rows, |it| it)?),
        (Of::ByteArrayColumnReader(it), Kind::Text) => Cells::Texts(cells(it, rows, |it| it)?),
        _ => return Err(Error::Broken(format!("the column {name} changes its type"))),
    })
}

/// Reads the next cells of a column. If every row must have a value, the file does not store which rows have one.
fn cells<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    value: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, Error> {
    let (mut present, mut values) = (Vec::new(), Vec::new());
    let mut seen = 0;
    while seen < rows {
        let (more, ..) = reader.read_records(rows - seen, Some(&mut present), None, &mut values)?;
        if more == 0 {
            return Err(Error::Broken("a column ends before its rows".to_owned()));
        }
        seen += more;
    }
    let mut values = values.into_iter().map(value);
    if present.is_empty() {
        return Ok(values.map(Some).collect());
    }
    let cell = |is_present: i16| match is_present {
        0 => None,
        _ => values.next(),
    };
    Ok(present.into_iter().map(cell).collect())
}

impl Part {
    /// How many there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the text in a row of a text column.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub fn text(&self, column: usize, row: usize) -> Result<Option<&str>, Error> {
        let (name, cells) = &self.columns[column];
        let Cells::Texts(texts) = cells else {
            return Ok(None);
        };
        let wrong = |_| Error::WrongValue(name, "non-UTF-8 text".to_owned());
        let text = texts[row].as_ref().map(ByteArray::as_utf8);
        text.transpose().map_err(wrong)
    }

    /// Returns the integer in a row of an integer column.
    #[must_use]
    pub fn integer(&self, column: usize, row: usize) -> Option<i64> {
        match &self.columns[column].1 {
            Cells::Integers(integers) => integers[row],
            _ => None,
        }
    }

    /// Returns the number in a row of a number column.
    #[must_use]
    pub fn number(&self, column: usize, row: usize) -> Option<f64> {
        match &self.columns[column].1 {
            Cells::Numbers(numbers) => numbers[row],
            _ => None,
        }
    }
}
