//! The library trusts some lengths in a file, and panics if they are wrong.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Error;

thread_local! {
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread is in the library, so that a panic means a broken file.
#[must_use]
pub fn reads() -> bool {
    READS.get()
}

/// Returns the result of `read`, or an error if it panics. After an error, do not use the object that was being read.
/// If a panic ends the program (`panic = "abort"`), only its hook runs.
pub(super) fn or_error<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    READS.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    READS.set(false);
    result.unwrap_or_else(|_| Err(Error::Broken("its lengths do not fit its bytes".to_owned())))
}
