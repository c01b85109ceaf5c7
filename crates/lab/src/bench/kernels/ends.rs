//! The ends of arrays that do not fill a whole step of a loop. Blocks of a bench have no such ends, but the loops are
//! correct for any length.

use super::{Arrays, FILL};

impl Arrays {
    /// The arrays without their first `bytes`.
    pub(super) fn behind(self, bytes: usize) -> Self {
        Self {
            destination: self.destination.wrapping_add(bytes),
            source: self.source.wrapping_add(bytes),
            third: self.third.wrapping_add(bytes),
            bytes: self.bytes - bytes,
        }
    }

    /// The first `bytes` of the arrays.
    pub(super) fn first(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The number of bytes before the first boundary of `boundary` bytes in the destination.
    pub(super) fn before_boundary(self, boundary: usize) -> usize {
        let address = self.destination.addr();
        (address.next_multiple_of(boundary) - address).min(self.bytes)
    }
}

pub(super) unsafe fn copy(arrays: Arrays) {
    // SAFETY: the caller's arrays are good for their length and do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(arrays.source, arrays.destination, arrays.bytes);
    }
}

pub(super) unsafe fn fill(arrays: Arrays) {
    // SAFETY: the caller's array is good for its length.
    unsafe { arrays.destination.write_bytes(FILL, arrays.bytes) };
}

/// A fill by instructions that can only write 0.
pub(super) unsafe fn clear(arrays: Arrays) {
    // SAFETY: the caller's array is good for its length.
    unsafe { arrays.destination.write_bytes(0, arrays.bytes) };
}

pub(super) unsafe fn write(arrays: Arrays) {
    // SAFETY: the caller's array is good for its length.
    unsafe { arrays.destination.write_bytes(0xff, arrays.bytes) };
}

pub(super) unsafe fn read(arrays: Arrays) {
    for at in 0..arrays.bytes {
        // SAFETY: the caller's array is good for its length.
        unsafe { arrays.source.add(at).read_volatile() };
    }
}

pub(super) unsafe fn read_modify_write(arrays: Arrays) {
    for at in (0..arrays.bytes).step_by(8) {
        // SAFETY: the caller's array is good for its length, a multiple of 8.
        unsafe {
            let word = arrays.destination.add(at).cast::<u64>();
            word.write_unaligned(word.read_unaligned().wrapping_add(1));
        }
    }
}

pub(super) unsafe fn triad(arrays: Arrays) {
    for at in (0..arrays.bytes).step_by(8) {
        // SAFETY: the caller's arrays are good for their length, a multiple of 8.
        unsafe {
            let source = arrays.source.add(at).cast::<f64>().read_unaligned();
            let third = arrays.third.add(at).cast::<f64>().read_unaligned();
            let destination = arrays.destination.add(at).cast::<f64>();
            destination.write_unaligned(source + 3.0 * third);
        }
    }
}
