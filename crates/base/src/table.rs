//! A flat table in memory, from which CSV and Parquet are written.

/// The type of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integers.
    Integer,
    /// Finite numbers.
    Number,
    /// Text.
    Text,
}

/// A column: its name, unique in its table, and the type of its cells.
pub type Column = (&'static str, Kind);

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// Text.
    Text(String),
    /// There is none.
    Missing,
}

/// Rows with column names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// No row yet.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If a cell has another type than its column, or there are more cells than columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        let pairs = self.columns.iter().zip(&row);
        for ((name, kind), cell) in pairs {
            assert!(cell.fits(*kind), "{name} is no column of {cell:?}");
        }
        self.rows.push(row);
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }
}

impl Cell {
    fn fits(&self, kind: Kind) -> bool {
        match self {
            Self::Integer(_) => kind == Kind::Integer,
            Self::Number(_) => kind == Kind::Number,
            Self::Text(_) => kind == Kind::Text,
            Self::Missing => true,
        }
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

/// NaN becomes a missing value.
impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        match value.is_finite() {
            true => Self::Number(value),
            false => Self::Missing,
        }
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}
