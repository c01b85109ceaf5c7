//! Tables as files of Apache Parquet (<https://parquet.apache.org/docs/file-format/>).
//!
//! The library takes half a minute of CPU time to build, and users of `make run` wait for it. Without the feature
//! `parquet`, the same functions return an error.

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

/// The reasons why a file cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The library was left out.
    #[error(
        "this hugewise was built without Parquet; build it with the cargo feature parquet, which \
         is on by default"
    )]
    Without,
    /// A message from the library.
    #[error("{0}")]
    Broken(String),
    /// A column of another type.
    #[error("the column {name} is {found}, not {}", .wanted.in_words())]
    Column {
        /// Its name.
        name: &'static str,
        /// Its type, as the format names it.
        found: String,
        /// The required type.
        wanted: Kind,
    },
    /// A row lacks a required value.
    #[error("{0} has no value")]
    NoValue(&'static str),
    /// A value that its column cannot have.
    #[error("{0} cannot be {1}")]
    WrongValue(&'static str, String),
}

/// Checks that files can be written and read.
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
    /// Returns the type's name in the format.
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
