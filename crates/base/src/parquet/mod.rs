//! Tables as files of Apache Parquet (<https://parquet.apache.org/docs/file-format/>).
//!
//! The library takes half a minute of a processor to build, and `make run` lets somebody wait: without
//! the feature `parquet` the same functions say that they cannot.

use super::table::Kind;

#[cfg(feature = "parquet")]
mod broken;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod write;
#[cfg(feature = "parquet")]
pub use {
    broken::reads,
    parquet::file::reader::ChunkReader as Source,
    read::{Part, Reader},
    write::file,
};

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(not(feature = "parquet"))]
pub use disabled::{Part, Reader, Source, file, reads};

/// Why a file cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The library was left out.
    #[error(
        "this hugewise was built without Parquet; build it with the cargo feature parquet, which \
         is on by default"
    )]
    Without,
    /// What the library says.
    #[error("{0}")]
    Broken(String),
    /// A column of another kind.
    #[error("the column {name} is {found}, not {}", .wanted.in_words())]
    Column {
        /// Its name.
        name: &'static str,
        /// Its type in the words of the format.
        found: String,
        /// What it must be.
        wanted: Kind,
    },
    /// A row without a value that every row has.
    #[error("{0} has no value")]
    NoValue(&'static str),
    /// A value that it cannot have.
    #[error("{0} cannot be {1}")]
    WrongValue(&'static str, String),
}

/// Whether files can be written and read.
///
/// # Errors
/// The library was left out.
pub fn check() -> Result<(), Error> {
    match cfg!(feature = "parquet") {
        true => Ok(()),
        false => Err(Error::Without),
    }
}

impl Kind {
    /// In the words of the format.
    fn in_words(self) -> &'static str {
        match self {
            Self::Integer => "INT32 or INT64",
            Self::Number => "DOUBLE, FLOAT, INT32 or INT64",
            Self::Text => "text (BYTE_ARRAY)",
        }
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests;
