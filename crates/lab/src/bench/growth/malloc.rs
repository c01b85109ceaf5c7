//! A heap grown by glibc's `malloc`.

use std::time::Instant;

use super::{Grown, sbrk};
use crate::Trouble;
use crate::plant::look::mappings;
use crate::plant::span::Span;
use crate::region::page_bytes;

/// Allocates objects of this size, and touches each at once, until they add up to `bytes`.
///
/// # Errors
/// The objects are not below the program break: this is not glibc's main arena, or it no longer uses the break.
pub(super) fn grow(object: usize, bytes: usize) -> Result<Grown, Trouble> {
    let (mut first, mut last) = (usize::MAX, 0);
    let begun = Instant::now();
    for _ in 0..bytes.div_ceil(object) {
        // SAFETY: malloc has no preconditions.
        let start = unsafe { libc::malloc(object) };
        if start.is_null() {
            return Err(Trouble::last("allocating"));
        }
        for offset in (0..object).step_by(page_bytes()) {
            // SAFETY: the byte is in the object, which is never freed.
            unsafe { start.cast::<u8>().add(offset).write_volatile(1) };
        }
        first = first.min(start as usize);
        last = last.max(start as usize + object);
    }
    let time = begun.elapsed();
    let high = sbrk(0)?;
    if last > high || !is_mapped(first, high)? {
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

/// Returns true if there is no gap between two addresses. Between an object from the break and the program break there
/// is none, however far `top_pad` had moved the break before.
fn is_mapped(start: usize, end: usize) -> Result<bool, Trouble> {
    let mapped = mappings(Span { start, end })?;
    let bounds = mapped.iter().map(|each| (each.start, each.end));
    Ok(covered(bounds, start, end) == end - start)
}

/// The bytes of `start` to `end` within these ranges, which do not overlap.
fn covered(ranges: impl Iterator<Item = (usize, usize)>, start: usize, end: usize) -> usize {
    let parts = ranges.map(|(low, high)| high.min(end).saturating_sub(low.max(start)));
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_not_covered() {
        let covered = |ranges: &[(usize, usize)]| covered(ranges.iter().copied(), 15, 40);
        assert_eq!(covered(&[(10, 20), (20, 50)]), 25);
        assert_eq!(covered(&[(10, 20), (30, 50)]), 15);
        assert_eq!(covered(&[(50, 60)]), 0);
    }

    #[test]
    fn memory_that_is_there_has_no_gap() {
        let span = Span::fresh(1).expect("memory");
        assert!(is_mapped(span.start + 16, span.end - 16).expect("a look"));
    }
}
