//! Loops over code: a chain of jumps, one in each page.

use std::ptr;

use super::{LINE, Loop, next};
use crate::Trouble;
use crate::memory_budget;
use crate::region::page_bytes;

/// Code with one stub for each access. A stub counts down, and jumps to the next one or returns at 0. It is never
/// unmapped.
#[derive(Debug)]
pub(super) struct Hops {
    start: *const u8,
    places: usize,
}

/// The instructions of one access.
const INSTRUCTIONS: usize = 3;

impl Hops {
    /// Stubs with a distance of `step` pages; with 0, in neighbouring lines.
    pub(super) fn new(places: usize, step: usize) -> Result<Self, Trouble> {
        let page = page_bytes();
        let spread = Spread { step };
        let bytes = (spread.offset(places) + page).next_multiple_of(page);
        if bytes > REACH {
            return Err(Trouble::NotHere(format!(
                "a loop over {places} pages of {} KiB of code: a jump reaches {} MiB",
                page >> 10,
                REACH >> 20
            )));
        }
        let present = places * if step == 0 { LINE } else { page };
        memory_budget::check(present as u64, "the code of this loop")
            .map_err(|_| Trouble::NotHere("memory for the code of this loop".to_owned()))?;
        let start = fresh(bytes)?;
        for place in 0..places {
            let from = spread.offset(place);
            let distance = spread.offset(next(place, places)) as isize - from as isize;
            let stub = stub(distance);
            // SAFETY: the stub is inside the mapping, which is writable.
            unsafe { ptr::copy_nonoverlapping(stub.as_ptr(), start.add(from), stub.len()) };
        }
        make_executable(start, bytes)?;
        for place in 0..places {
            // SAFETY: the stub is inside the mapping, which is readable.
            unsafe { make_visible(start.add(spread.offset(place))) };
        }
        Ok(Self { start, places })
    }
}

impl Loop for Hops {
    fn places(&self) -> usize {
        self.places
    }

    fn instructions(&self) -> usize {
        INSTRUCTIONS
    }

    /// Begins at place 0: a lap ends where it began.
    fn run(&mut self, accesses: usize) {
        // SAFETY: the code is executable, changes nothing except its counter and the flags, and returns.
        unsafe { call(self.start, accesses) };
    }
}

/// Where stubs are.
#[derive(Clone, Copy)]
struct Spread {
    step: usize,
}

impl Spread {
    /// Stubs of different pages use different lines of the first half of their page, so that fetching ahead of a jump
    /// stays in the page.
    fn offset(self, place: usize) -> usize {
        let page = page_bytes();
        match self.step {
            0 => place * LINE,
            step => place * step * page + place % (page / 2 / LINE) * LINE,
        }
    }
}

/// The distance that a jump reaches, in bytes.
#[cfg(target_arch = "x86_64")]
const REACH: usize = 1 << 31;
#[cfg(target_arch = "aarch64")]
const REACH: usize = 1 << 27;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REACH: usize = 0;

/// `dec rdi; jz 1f; jmp DISTANCE; 1: ret`.
#[cfg(target_arch = "x86_64")]
fn stub(distance: isize) -> [u8; 11] {
    /// The end of the jump, from which it counts.
    const AFTER_JUMP: isize = 10;
    let far = i32::try_from(distance - AFTER_JUMP).expect("the mapping is within reach");
    let [a, b, c, d] = far.to_le_bytes();
    [0x48, 0xff, 0xcf, 0x74, 0x05, 0xe9, a, b, c, d, 0xc3]
}

#[cfg(target_arch = "x86_64")]
unsafe fn call(code: *const u8, accesses: usize) {
    // SAFETY: the caller gives code that changes only its counter and the flags.
    unsafe {
        std::arch::asm!(
            "call {code}",
            code = in(reg) code,
            inout("rdi") accesses => _,
        );
    }
}

/// `subs x0, x0, #1; b.eq 1f; b DISTANCE; 1: ret`.
#[cfg(target_arch = "aarch64")]
fn stub(distance: isize) -> [u8; 16] {
    /// The place of the jump, from which it counts.
    const JUMP: isize = 8;
    let words = i32::try_from((distance - JUMP) / 4).expect("the mapping is within reach");
    let jump = 0x1400_0000 | (words as u32 & 0x03ff_ffff);
    let mut stub = [0; 16];
    for (at, word) in [0xf100_0400_u32, 0x5400_0040, jump, 0xd65f_03c0]
        .iter()
        .enumerate()
    {
        stub[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    }
    stub
}

#[cfg(target_arch = "aarch64")]
unsafe fn call(code: *const u8, accesses: usize) {
    // SAFETY: the caller gives code that changes only its counter and the flags; the call changes the link register.
    unsafe {
        std::arch::asm!(
            "blr {code}",
            code = in(reg) code,
            inout("x0") accesses => _,
            out("x30") _,
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn stub(_: isize) -> [u8; 0] {
    []
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn call(_: *const u8, _: usize) {}

/// Fresh writable memory in small pages.
fn fresh(bytes: usize) -> Result<*mut u8, Trouble> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(Trouble::last("mapping memory for code"));
    }
    // A kernel without huge pages refuses the advice, and uses small pages.
    // SAFETY: the advice leaves content and access as they are.
    unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(base.cast())
}

/// Makes the code executable, and no longer writable.
fn make_executable(start: *mut u8, bytes: usize) -> Result<(), Trouble> {
    let access = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: the range is our own mapping, and nobody writes to it any more.
    match unsafe { libc::mprotect(start.cast(), bytes, access) } {
        0 => Ok(()),
        _ => Err(Trouble::NotHere(format!(
            "a loop over new code (a security module can forbid it): {}",
            std::io::Error::last_os_error()
        ))),
    }
}

/// Does nothing: new code is visible at once.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn make_visible(_: *const u8) {}

/// Writes a stub back to the point of unification, and drops stale instructions. A stub is in one line of 64 bytes;
/// caches may have smaller lines, 16 bytes at least.
#[cfg(target_arch = "aarch64")]
unsafe fn make_visible(stub: *const u8) {
    const SMALLEST: usize = 16;
    for offset in (0..LINE).step_by(SMALLEST) {
        // SAFETY: the address is mapped and readable; Linux allows these instructions in user mode.
        unsafe {
            std::arch::asm!(
                "dc cvau, {at}",
                "dsb ish",
                "ic ivau, {at}",
                "dsb ish",
                "isb",
                at = in(reg) stub.add(offset),
                options(nostack)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_comes_back_from_every_number_of_jumps() {
        for step in [0, 3] {
            let mut hops = Hops::new(64, step).expect("code");
            for accesses in [1, 2, 63, 64, 65, 6400] {
                hops.run(accesses);
            }
        }
    }

    #[test]
    fn stubs_are_in_the_first_half_of_pages_of_their_own() {
        let spread = Spread { step: 3 };
        let page = page_bytes();
        for place in 0..1000 {
            let offset = spread.offset(place);
            assert_eq!(offset / page, place * 3);
            assert!(offset % page < page / 2);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_stub_jumps_by_its_distance() {
        let stub = stub(4096);
        assert_eq!(stub[6..10], 4086_i32.to_le_bytes());
    }
}
