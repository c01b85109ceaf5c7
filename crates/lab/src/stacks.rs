//! Threads whose stacks can hold a huge page.

use std::ffi::c_void;
use std::ptr;

use crate::Trouble;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

/// Starts threads that wait until the process ends, each on a huge-page-sized stack.
///
/// The stacks are mapped without `MAP_STACK`, as musl maps those of its threads: since Linux 6.7 memory with that flag
/// never becomes huge.
pub(crate) fn start(threads: usize) -> Result<(), Trouble> {
    let pages = huge_bytes() / page_bytes();
    for _ in 0..threads {
        let stack = Region::fresh(pages, Align::Huge, Advice::None)?;
        start_on(&stack).map_err(|error| Trouble::Kernel("starting a thread", error))?;
    }
    Ok(())
}

fn start_on(stack: &Region) -> std::io::Result<()> {
    let checked = |error: i32| match error {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error)),
    };
    // SAFETY: zeroes are a valid place for attributes that are initialised next; the stack is writable, nobody else's,
    // and never unmapped.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        checked(libc::pthread_attr_init(&raw mut attributes))?;
        checked(libc::pthread_attr_setstack(
            &raw mut attributes,
            stack.start().cast(),
            huge_bytes(),
        ))?;
        let mut thread: libc::pthread_t = 0;
        checked(libc::pthread_create(
            &raw mut thread,
            &raw const attributes,
            wait,
            ptr::null_mut(),
        ))
    }
}

extern "C" fn wait(_: *mut c_void) -> *mut c_void {
    loop {
        // SAFETY: pause has no preconditions.
        unsafe { libc::pause() };
    }
}
