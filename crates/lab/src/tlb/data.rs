//! Loops over data: one load or one store for each access.

use super::backing::Backing;
use super::{FACTOR, Loop, STEP};
use crate::Trouble;

/// One pass: the start, the distance of two places, the mask of their numbers, the place before the first, and the
/// number of accesses; returns the last place.
type Pass = unsafe fn(*mut u8, usize, usize, usize, usize) -> usize;

/// A loop over data.
#[derive(Debug)]
pub(super) struct Accesses {
    backing: Backing,
    pass: Pass,
    at: usize,
}

impl Accesses {
    /// Loads. Each address depends on the value before, so no two page walks overlap.
    pub(super) fn reads(backing: Backing) -> Result<Self, Trouble> {
        Self::of(backing, read_pages)
    }

    /// Stores.
    pub(super) fn writes(backing: Backing) -> Result<Self, Trouble> {
        Self::of(backing, write_pages)
    }

    fn of(backing: Backing, pass: Pass) -> Result<Self, Trouble> {
        if INSTRUCTIONS == 0 {
            let arch = std::env::consts::ARCH;
            return Err(Trouble::NotHere(format!(
                "a loop of known misses for {arch}"
            )));
        }
        Ok(Self {
            backing,
            pass,
            at: 0,
        })
    }
}

impl Loop for Accesses {
    fn places(&self) -> usize {
        self.backing.places
    }

    fn instructions(&self) -> usize {
        INSTRUCTIONS
    }

    fn run(&mut self, accesses: usize) {
        let Backing {
            start,
            stride,
            places,
        } = self.backing;
        // SAFETY: every place is inside the backing, aligned, writable, zero, and this thread's alone.
        self.at = unsafe { (self.pass)(start, stride, places - 1, self.at, accesses) };
    }
}

/// The instructions of one access.
#[cfg(target_arch = "x86_64")]
const INSTRUCTIONS: usize = 9;

/// Loads one word, zero, at each place.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn read_pages(
    start: *mut u8,
    stride: usize,
    mask: usize,
    mut at: usize,
    accesses: usize,
) -> usize {
    // SAFETY: the caller gives places that are readable and zero.
    unsafe {
        std::arch::asm!(
            "2:",
            "imul {at}, {at}, {factor}",
            "add {at}, {step}",
            "add {at}, {value}",
            "and {at}, {mask}",
            "mov {offset}, {at}",
            "imul {offset}, {stride}",
            "mov {value}, qword ptr [{start} + {offset}]",
            "dec {left}",
            "jnz 2b",
            at = inout(reg) at,
            value = inout(reg) 0_usize => _,
            offset = out(reg) _,
            left = inout(reg) accesses => _,
            start = in(reg) start,
            stride = in(reg) stride,
            mask = in(reg) mask,
            factor = const FACTOR,
            step = const STEP,
            options(nostack, readonly)
        );
    }
    at
}

/// Stores a zero at each place.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn write_pages(
    start: *mut u8,
    stride: usize,
    mask: usize,
    mut at: usize,
    accesses: usize,
) -> usize {
    // SAFETY: the caller gives places that are writable.
    unsafe {
        std::arch::asm!(
            "2:",
            "imul {at}, {at}, {factor}",
            "add {at}, {step}",
            "add {at}, {value}",
            "and {at}, {mask}",
            "mov {offset}, {at}",
            "imul {offset}, {stride}",
            "mov qword ptr [{start} + {offset}], {value}",
            "dec {left}",
            "jnz 2b",
            at = inout(reg) at,
            value = in(reg) 0_usize,
            offset = out(reg) _,
            left = inout(reg) accesses => _,
            start = in(reg) start,
            stride = in(reg) stride,
            mask = in(reg) mask,
            factor = const FACTOR,
            step = const STEP,
            options(nostack)
        );
    }
    at
}

/// The instructions of one access.
#[cfg(target_arch = "aarch64")]
const INSTRUCTIONS: usize = 7;

/// Loads one word, zero, at each place.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
unsafe fn read_pages(
    start: *mut u8,
    stride: usize,
    mask: usize,
    mut at: usize,
    accesses: usize,
) -> usize {
    // SAFETY: the caller gives places that are readable and zero.
    unsafe {
        std::arch::asm!(
            "2:",
            "madd {at}, {at}, {factor}, {step}",
            "add {at}, {at}, {value}",
            "and {at}, {at}, {mask}",
            "mul {offset}, {at}, {stride}",
            "ldr {value}, [{start}, {offset}]",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            at = inout(reg) at,
            value = inout(reg) 0_usize => _,
            offset = out(reg) _,
            left = inout(reg) accesses => _,
            start = in(reg) start,
            stride = in(reg) stride,
            mask = in(reg) mask,
            factor = in(reg) FACTOR,
            step = in(reg) STEP,
            options(nostack, readonly)
        );
    }
    at
}

/// Stores a zero at each place.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
unsafe fn write_pages(
    start: *mut u8,
    stride: usize,
    mask: usize,
    mut at: usize,
    accesses: usize,
) -> usize {
    // SAFETY: the caller gives places that are writable.
    unsafe {
        std::arch::asm!(
            "2:",
            "madd {at}, {at}, {factor}, {step}",
            "add {at}, {at}, {value}",
            "and {at}, {at}, {mask}",
            "mul {offset}, {at}, {stride}",
            "str {value}, [{start}, {offset}]",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            at = inout(reg) at,
            value = in(reg) 0_usize,
            offset = out(reg) _,
            left = inout(reg) accesses => _,
            start = in(reg) start,
            stride = in(reg) stride,
            mask = in(reg) mask,
            factor = in(reg) FACTOR,
            step = in(reg) STEP,
            options(nostack)
        );
    }
    at
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const INSTRUCTIONS: usize = 0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn read_pages(_: *mut u8, _: usize, _: usize, at: usize, _: usize) -> usize {
    at
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn write_pages(_: *mut u8, _: usize, _: usize, at: usize, _: usize) -> usize {
    at
}

#[cfg(test)]
mod tests {
    use super::super::next;
    use super::*;

    /// Memory of 16 lines, each with the number that the loop adds to the place.
    fn lines(values: &mut [[usize; 8]; 16]) -> *mut u8 {
        values.as_mut_ptr().cast()
    }

    #[test]
    fn loads_and_stores_go_through_the_places_in_order() {
        let mut values = [[0_usize; 8]; 16];
        let start = lines(&mut values);
        let third = (0..3).fold(0, |at, _| next(at, 16));
        // SAFETY: 16 lines of 64 bytes, zero, of this test.
        let read = unsafe { read_pages(start, 64, 15, 0, 3) };
        assert_eq!(read, third);
        values = [[1; 8]; 16];
        // SAFETY: the same.
        let written = unsafe { write_pages(lines(&mut values), 64, 15, 0, 3) };
        assert_eq!(written, third);
        let cleared = (0..16).filter(|&line| values[line][0] == 0);
        let mut expected = [next(0, 16), next(next(0, 16), 16), third];
        expected.sort_unstable();
        assert_eq!(cleared.collect::<Vec<_>>(), expected);
        assert!(values.iter().all(|line| line[1..] == [1; 7]));
    }

    #[test]
    fn each_load_depends_on_the_one_before() {
        let mut values = [[0_usize; 8]; 16];
        values[next(0, 16)][0] = 5;
        let start = lines(&mut values);
        // SAFETY: 16 lines of 64 bytes of this test.
        let read = unsafe { read_pages(start, 64, 15, 0, 2) };
        let first = next(0, 16);
        assert_eq!(read, (next(first, 1 << 40) + 5) & 15);
    }
}
