//! Rows as a Parquet file: a column for each field, with a histogram as JSON text.

use std::str::FromStr;

use super::{Ending, Phase, Proof, Row, Sums};
use hugewise_base::parquet::{self, Error, Part, Reader, Source};
use hugewise_base::table::{Cell, Column, Kind, Table};

/// The columns, in the order in which [`cells`] and [`Cells::fill`] visit them.
const COLUMNS: [Column; 19] = [
    ("experiment", Kind::Text),
    ("plan", Kind::Text),
    ("unit", Kind::Text),
    ("cluster", Kind::Text),
    ("stratum", Kind::Text),
    ("arm", Kind::Text),
    ("stage", Kind::Integer),
    ("saturation", Kind::Number),
    ("start", Kind::Integer),
    ("seconds", Kind::Number),
    ("phase", Kind::Text),
    ("exposure", Kind::Number),
    ("proof", Kind::Text),
    ("ending", Kind::Text),
    ("metric", Kind::Text),
    ("n", Kind::Integer),
    ("mean", Kind::Number),
    ("m2", Kind::Number),
    ("histogram", Kind::Text),
];

/// Writes rows to a file.
///
/// # Errors
/// Fails if the program was built without Parquet, or if the library fails.
pub fn file(rows: &[Row]) -> Result<Vec<u8>, Error> {
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        table.row(cells(row));
    }
    parquet::file(&table)
}

fn cells(row: &Row) -> [Cell; 19] {
    let histogram = row.histogram.as_ref().map(serde_json::to_string);
    [
        row.experiment.as_str().into(),
        row.plan.as_str().into(),
        row.unit.as_str().into(),
        row.cluster.as_str().into(),
        row.stratum.as_str().into(),
        row.arm.as_str().into(),
        row.stage.into(),
        row.saturation.into(),
        row.start.into(),
        row.seconds.into(),
        <&str>::from(row.phase).into(),
        row.exposure.into(),
        <&str>::from(row.proof).into(),
        <&str>::from(row.ending).into(),
        row.metric.as_str().into(),
        i64::try_from(row.sums.n).unwrap_or(i64::MAX).into(),
        row.sums.mean.into(),
        row.sums.m2.into(),
        histogram.and_then(Result::ok).into(),
    ]
}

/// Reads the rows of a file one after the other; memory does not grow with the file.
#[derive(Debug)]
pub struct Rows<S: Source> {
    reader: Reader<S>,
    part: Option<Part>,
    next: usize,
    experiment: String,
    row: Row,
}

impl<S: Source + 'static> Rows<S> {
    /// Opens a file. `experiment` is used if the file does not have that column: programs that write to directories
    /// `experiment=NAME` omit it.
    ///
    /// # Errors
    /// Fails if it is not a Parquet file, or if a column has another type.
    pub fn open(source: S, experiment: &str) -> Result<Self, Error> {
        Ok(Self {
            reader: Reader::open(source, &COLUMNS)?,
            part: None,
            next: 0,
            experiment: experiment.to_owned(),
            row: Row::nothing(),
        })
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// Fails if the file is corrupt, or if the row lacks a value or has an invalid one.
    #[expect(
        clippy::should_implement_trait,
        reason = "each row takes the place of the one before"
    )]
    pub fn next(&mut self) -> Result<Option<&Row>, Error> {
        while self
            .part
            .as_ref()
            .is_none_or(|part| self.next == part.rows())
        {
            self.part = self.reader.next_part()?;
            self.next = 0;
            if self.part.is_none() {
                return Ok(None);
            }
        }
        if let Some(part) = &self.part {
            let mut cells = Cells {
                part,
                row: self.next,
                column: 0,
            };
            cells.fill(&mut self.row, &self.experiment)?;
            self.next += 1;
        }
        Ok(Some(&self.row))
    }
}

impl Row {
    /// An empty row to read into.
    fn nothing() -> Self {
        let text = String::new;
        Self {
            experiment: text(),
            plan: text(),
            unit: text(),
            cluster: text(),
            stratum: text(),
            arm: text(),
            stage: 0,
            saturation: None,
            start: 0,
            seconds: 0.0,
            phase: Phase::Before,
            exposure: None,
            proof: Proof::Unknown,
            ending: Ending::Whole,
            metric: text(),
            sums: Sums::default(),
            histogram: None,
        }
    }
}

/// The cells of one row from left to right.
struct Cells<'a> {
    part: &'a Part,
    row: usize,
    column: usize,
}

impl<'a> Cells<'a> {
    fn fill(&mut self, row: &mut Row, experiment: &str) -> Result<(), Error> {
        let usual = Some(experiment).filter(|name| !name.is_empty());
        let named = self.optional_text()?.or(usual);
        self.present(named)?.clone_into(&mut row.experiment);
        for text in [
            &mut row.plan,
            &mut row.unit,
            &mut row.cluster,
            &mut row.stratum,
            &mut row.arm,
        ] {
            self.text()?.clone_into(text);
        }
        row.stage = self.count()?;
        row.saturation = self.optional_number();
        row.start = self.integer()?;
        row.seconds = self.number()?;
        row.phase = self.word()?;
        row.exposure = self.optional_number();
        row.proof = self.word()?;
        row.ending = self.word()?;
        self.text()?.clone_into(&mut row.metric);
        row.sums.n = self.count()?;
        row.sums.mean = self.number()?;
        row.sums.m2 = self.number()?;
        row.histogram = match self.optional_text()? {
            Some(text) => Some(serde_json::from_str(text).map_err(|error| self.wrong(&error))?),
            None => None,
        };
        Ok(())
    }

    /// Moves to the next column.
    fn step(&mut self) -> usize {
        self.column += 1;
        self.column - 1
    }

    fn name(&self) -> &'static str {
        COLUMNS[self.column - 1].0
    }

    fn wrong(&self, value: &impl ToString) -> Error {
        Error::WrongValue(self.name(), value.to_string())
    }

    fn present<T>(&self, value: Option<T>) -> Result<T, Error> {
        value.ok_or(Error::NoValue(self.name()))
    }

    fn optional_text(&mut self) -> Result<Option<&'a str>, Error> {
        let column = self.step();
        self.part.text(column, self.row)
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        let text = self.optional_text()?;
        self.present(text)
    }

    fn word<T: FromStr>(&mut self) -> Result<T, Error> {
        let text = self.text()?;
        text.parse().map_err(|_| self.wrong(&text))
    }

    fn optional_number(&mut self) -> Option<f64> {
        let column = self.step();
        self.part.number(column, self.row)
    }

    fn number(&mut self) -> Result<f64, Error> {
        let number = self.optional_number();
        self.present(number)
    }

    fn integer(&mut self) -> Result<i64, Error> {
        let column = self.step();
        self.present(self.part.integer(column, self.row))
    }

    fn count<T: TryFrom<i64>>(&mut self) -> Result<T, Error> {
        let integer = self.integer()?;
        T::try_from(integer).map_err(|_| self.wrong(&integer))
    }
}

#[cfg(test)]
#[cfg(feature = "parquet")]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::simulate::Fleet;
    use hugewise_base::histogram::distribution::{Distribution, Grain};

    fn read(bytes: Vec<u8>, experiment: &str) -> Result<Vec<Row>, Error> {
        let mut rows = Rows::open(Bytes::from(bytes), experiment)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(row.clone());
        }
        Ok(all)
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let mut rows = Fleet::quiet().rows(1);
        let mut latency = Distribution::new(Grain::Listed, 1000);
        latency.add(12_345, 7);
        rows[1].histogram = Some(latency);
        rows[2].exposure = None;
        rows[2].saturation = Some(0.5);
        rows[3].ending = Ending::OutOfMemory;
        rows[3].proof = Proof::Missed;
        assert_eq!(read(file(&rows).unwrap(), "").unwrap(), rows);
    }

    /// Other programs write such files to directories `experiment=NAME`.
    #[test]
    fn a_file_may_leave_the_experiment_to_its_folder() {
        let rows = Fleet::quiet().rows(1);
        let mut table = Table::new(&COLUMNS[1..]);
        table.row(cells(&rows[0]).into_iter().skip(1));
        let found = read(parquet::file(&table).unwrap(), "of the folder").unwrap();
        assert_eq!(found[0].experiment, "of the folder");
        assert_eq!(found[0].unit, rows[0].unit);
    }

    #[test]
    fn a_value_that_no_row_has_is_named() {
        let row = &Fleet::quiet().rows(1)[0];
        for (column, cell, text) in [
            (2, Cell::Missing, "unit has no value"),
            (6, Cell::Integer(-1), "stage cannot be -1"),
            (10, Cell::from("later"), "phase cannot be later"),
        ] {
            let mut table = Table::new(&COLUMNS);
            let mut cells = cells(row);
            cells[column] = cell;
            table.row(cells);
            let error = read(parquet::file(&table).unwrap(), "").unwrap_err();
            assert_eq!(error.to_string(), text);
        }
    }
}
