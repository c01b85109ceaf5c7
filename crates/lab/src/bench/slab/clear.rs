//! The cost of only clearing the added memory.

use std::time::Instant;

use super::super::words::median;
use crate::Trouble;
use crate::plant::span::Span;
use crate::region::{huge_bytes, page_bytes};

/// Larger than the caches near a processor, because the memory that the kernel clears is rarely cached.
const BYTES: usize = 64 << 20;

const REPEATS: usize = 3;

/// Bytes per second at which this process clears mapped memory, page by page as the kernel does, in the largest
/// available pages and without faults.
pub(super) fn clearing_rate() -> Result<f64, Trouble> {
    let span = Span::fresh(BYTES.div_ceil(huge_bytes()))?;
    // A kernel that refuses the advice has no pages of two sizes.
    let _ = span.try_advise(libc::MADV_HUGEPAGE);
    span.write();
    let seconds = median((0..REPEATS).map(|_| clear(span)));
    span.unmap()?;
    Ok(span.bytes() as f64 / seconds)
}

#[inline(never)]
fn clear(span: Span) -> f64 {
    let begun = Instant::now();
    for page in span.pieces(page_bytes()) {
        let start = page.pointer().cast::<u8>();
        // SAFETY: the page is in the span, which is writable and this thread's own.
        unsafe { start.write_bytes(0, page_bytes()) };
    }
    begun.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_cleared_at_a_speed_of_memory() {
        let rate = clearing_rate().unwrap();
        assert!((1e7..1e13).contains(&rate), "{rate}");
    }
}
