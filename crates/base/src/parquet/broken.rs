//! The library trusts some lengths that a file gives, and panics where they are wrong.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Error;

thread_local! {
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in the library, so that a panic is the doing of a broken file.
#[must_use]
pub fn reads() -> bool {
    READS.get()
}

/// What `read` gives, or an error where it panics. What it was reading is to be used no more. Where
/// a panic ends the program (`panic = "abort"`), its hook has the last word.
pub(super) fn or_error<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    READS.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    READS.set(false);
    result.unwrap_or_else(|_| Err(Error::Broken("its lengths do not fit its bytes".to_owned())))
}
