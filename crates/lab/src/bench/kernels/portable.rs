//! The functions of the C library, which most programs use.

use super::{Arrays, FILL, Kernel, Operation, nothing};

pub(super) static KERNELS: &[Kernel] = &[
    Kernel {
        operation: Operation::Copy,
        name: "libc",
        lacks: nothing,
        pass: copy,
    },
    Kernel {
        operation: Operation::Fill,
        name: "libc",
        lacks: nothing,
        pass: fill,
    },
];

unsafe fn copy(arrays: Arrays) {
    // SAFETY: the caller's arrays are good for their length and do not overlap.
    unsafe {
        libc::memcpy(
            arrays.destination.cast(),
            arrays.source.cast(),
            arrays.bytes,
        );
    }
}

unsafe fn fill(arrays: Arrays) {
    // SAFETY: the caller's array is good for its length.
    unsafe { libc::memset(arrays.destination.cast(), FILL.into(), arrays.bytes) };
}
