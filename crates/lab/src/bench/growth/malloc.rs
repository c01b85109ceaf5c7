//! A heap that glibc's `malloc` grows.

use std::time::Instant;

use super::{Grown, sbrk};
use crate::Trouble;
use crate::plant::span::Span;
use crate::region::page_bytes;

/// Allocates objects of so many bytes, and touches each at once, until they make up `bytes`.
///
/// # Errors
/// The objects do not lie below the program break: this is not glibc's main arena, or it has
/// given up on the break.
pub(super) fn grow(object: usize, bytes: usize) -> Result<Grown, Trouble> {
    let low = sbrk(0)?;
    let (mut first, mut last) = (usize::MAX, 0);
    let begun = Instant::now();
    for _ in 0..bytes.div_ceil(object) {
        // SAFETY: malloc has no preconditions.
        let start = unsafe { libc::malloc(object) };
        if start.is_null() {
            return Err(Trouble::last("allocating"));
        }
        for offset in (0..object).step_by(page_bytes()) {
            // SAFETY: the byte lies in the object, which is never freed.
            unsafe { start.cast::<u8>().add(offset).write_volatile(1) };
        }
        first = first.min(start as usize);
        last = last.max(start as usize + object);
    }
    let time = begun.elapsed();
    let high = sbrk(0)?;
    // What the runtime had allocated and freed before may be used first, hence some room below.
    if first + bytes < low || last > high {
        let other = "malloc of this process does not grow by the program break";
        return Err(Trouble::NotHere(other.to_owned()));
    }
    let page = page_bytes();
    Ok(Grown {
        span: Span {
            start: first.next_multiple_of(page),
            end: last / page * page,
        },
        time,
    })
}
