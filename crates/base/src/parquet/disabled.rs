//! Replaces the library if it was left out.

use std::convert::Infallible;
use std::marker::PhantomData;

use super::Error;
use crate::table::{Column, Table};

/// The bytes of a file.
pub trait Source {}

impl<T> Source for T {}

/// Some rows; none exist without the library.
#[derive(Debug)]
pub struct Part(Infallible);

/// An open file; none exists without the library.
#[derive(Debug)]
pub struct Reader<S>(Infallible, PhantomData<S>);

/// Writes nothing.
///
/// # Errors
/// Always.
pub fn file(_: &Table) -> Result<Vec<u8>, Error> {
    Err(Error::Without)
}

impl<S: Source> Reader<S> {
    /// Opens nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: S, _: &[Column]) -> Result<Self, Error> {
        Err(Error::Without)
    }

    /// Nothing.
    ///
    /// # Errors
    /// Never: there is no reader.
    pub fn next_part(&mut self) -> Result<Option<Part>, Error> {
        match self.0 {}
    }
}

impl Part {
    /// Nothing.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self.0 {}
    }

    /// Nothing.
    ///
    /// # Errors
    /// Never: there is no part.
    pub fn text(&self, _: usize, _: usize) -> Result<Option<&str>, Error> {
        match self.0 {}
    }

    /// Nothing.
    #[must_use]
    pub fn integer(&self, _: usize, _: usize) -> Option<i64> {
        match self.0 {}
    }

    /// Nothing.
    #[must_use]
    pub fn number(&self, _: usize, _: usize) -> Option<f64> {
        match self.0 {}
    }
}

/// Returns false: without the library, no thread is in it.
#[must_use]
pub fn reads() -> bool {
    false
}
