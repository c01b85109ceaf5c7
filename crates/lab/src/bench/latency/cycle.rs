//! One random cycle over all cache lines of a range. The cycle can grow.

use super::super::random::Random;

/// The default size of a cache line, if the machine does not report it.
const USUAL_LINE: usize = 64;

/// Loads in one round of [`walk`]'s loop.
pub(super) const ROUND: u64 = 16;

/// A cycle: the first word of every line holds the address of the next line.
///
/// It grows by inserting each new line after a random earlier one. This is Sattolo's shuffle (1986) in reverse: every
/// cycle over the lines is equally likely at each length, and existing lines need not be drawn again.
#[derive(Debug)]
pub(super) struct Cycle {
    start: *mut u8,
    line: usize,
    lines: usize,
    random: Random,
}

impl Cycle {
    /// A cycle of one line at `start`, which is valid for as many lines as the cycle will grow to.
    ///
    /// # Safety
    /// Nobody else touches the lines while the cycle exists, and they are aligned to words.
    pub(super) unsafe fn of_one(start: *mut u8, line: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { start.cast::<*mut u8>().write(start) };
        Self {
            start,
            line,
            lines: 1,
            random: Random::new(0x6875_6765_7769_7365),
        }
    }

    /// The number of its lines.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Grows the cycle to this many lines; it never shrinks.
    ///
    /// # Safety
    /// The memory at its start is valid for that many lines.
    pub(super) unsafe fn grow(&mut self, lines: usize) {
        for index in self.lines..lines {
            let drawn = self.random.below(index);
            let before = self.place(drawn);
            let new = self.place(index);
            // SAFETY: both lines are below `lines`.
            unsafe {
                new.write(before.read());
                before.write(new.cast());
            }
        }
        self.lines = self.lines.max(lines);
    }

    fn place(&self, index: usize) -> *mut *mut u8 {
        self.start.wrapping_add(index * self.line).cast()
    }

    /// A line at which a walk can begin.
    pub(super) fn start(&self) -> *const u8 {
        self.start
    }
}

/// The cache line size of the first level, as the kernel reports it.
pub(super) fn line_bytes() -> usize {
    let file = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size";
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let told = text.trim().parse().ok();
    let sensible = |bytes: &usize| bytes.is_power_of_two() && (16..=1024).contains(bytes);
    told.filter(sensible).unwrap_or(USUAL_LINE)
}

/// Follows the addresses for `rounds` times [`ROUND`] steps, at least one round, and returns the last one. Each load
/// waits for the one before; the loop counter runs in parallel.
///
/// # Safety
/// `from` is a line of a cycle.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn walk(from: *const u8, rounds: u64) -> *const u8 {
    let mut at = from;
    // SAFETY: every line of a cycle holds the address of another.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 16",
            "mov {at}, [{at}]",
            ".endr",
            "dec {n}",
            "jnz 2b",
            at = inout(reg) at,
            n = inout(reg) rounds.max(1) => _,
            options(nostack, readonly)
        );
    }
    at
}

#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub(super) unsafe fn walk(from: *const u8, rounds: u64) -> *const u8 {
    let mut at = from;
    // SAFETY: every line of a cycle holds the address of another.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "ldr {at}, [{at}]",
            ".endr",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            at = inout(reg) at,
            n = inout(reg) rounds.max(1) => _,
            options(nostack, readonly)
        );
    }
    at
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(never)]
pub(super) unsafe fn walk(from: *const u8, rounds: u64) -> *const u8 {
    let mut at = from;
    for _ in 0..rounds.max(1) * ROUND {
        // SAFETY: every line of a cycle holds the address of another.
        at = unsafe { at.cast::<*const u8>().read_volatile() };
    }
    at
}

/// The same loop without its loads.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(never)]
pub(super) fn count(rounds: u64) {
    // SAFETY: only a register is counted down.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            ".p2align 5", "2:", "dec {n}", "jnz 2b",
            n = inout(reg) rounds.max(1) => _,
            options(nostack, nomem)
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "2:", "subs {n}, {n}, #1", "b.ne 2b",
            n = inout(reg) rounds.max(1) => _,
            options(nostack, nomem)
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(never)]
pub(super) fn count(rounds: u64) {
    for round in 0..rounds.max(1) {
        std::hint::black_box(round);
    }
}

/// The line after this one, read as the walk reads it.
#[cfg(test)]
fn next(at: *const u8) -> *const u8 {
    // SAFETY: the tests give lines of a cycle.
    unsafe { at.cast::<*const u8>().read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of separate memory, and a cycle over `lines` of them.
    fn cycle(memory: &mut [[u64; 8]], lines: usize) -> Cycle {
        let start = memory.as_mut_ptr().cast();
        // SAFETY: the memory has that many lines, and only this cycle uses it.
        unsafe {
            let mut cycle = Cycle::of_one(start, 64);
            cycle.grow(lines);
            cycle
        }
    }

    fn visited(cycle: &Cycle) -> Vec<usize> {
        let mut at = cycle.start();
        let steps = (0..cycle.lines()).map(|_| {
            let line = (at as usize - cycle.start() as usize) / 64;
            at = next(at);
            line
        });
        let visited = steps.collect();
        assert_eq!(at, cycle.start(), "the cycle is closed");
        visited
    }

    #[test]
    fn every_line_comes_once_at_every_length() {
        let mut memory = vec![[0; 8]; 1000];
        for lines in [1, 2, 3, 64, 1000] {
            let mut visited = visited(&cycle(&mut memory, lines));
            visited.sort_unstable();
            assert_eq!(visited, (0..lines).collect::<Vec<_>>());
        }
    }

    #[test]
    fn growing_on_is_growing_at_once() {
        let mut memory = vec![[0; 8]; 500];
        let at_once = visited(&cycle(&mut memory, 500));
        let mut growing = cycle(&mut memory, 10);
        assert_eq!(visited(&growing).len(), 10);
        // SAFETY: the memory has 500 lines.
        unsafe { growing.grow(500) };
        assert_eq!(visited(&growing), at_once);
        // SAFETY: as above.
        unsafe { growing.grow(3) };
        assert_eq!(growing.lines(), 500);
    }

    /// All six cycles over four lines, equally often.
    #[test]
    fn every_cycle_is_equally_likely() {
        let mut memory = vec![[0; 8]; 4];
        let mut seen = std::collections::BTreeMap::new();
        let mut random = Random::new(7);
        for _ in 0..6000 {
            let mut cycle = cycle(&mut memory, 1);
            cycle.random = random.clone();
            random.next();
            // SAFETY: the memory has four lines.
            unsafe { cycle.grow(4) };
            *seen.entry(visited(&cycle)).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn a_walk_goes_as_far_as_it_says() {
        let mut memory = vec![[0; 8]; 48];
        let cycle = cycle(&mut memory, 48);
        // SAFETY: the start is a line of the cycle.
        let [one, three] = [1, 3].map(|rounds| unsafe { walk(cycle.start(), rounds) });
        let by_hand = (0..ROUND).fold(cycle.start(), |at, _| next(at));
        assert_eq!(one, by_hand);
        assert_eq!(three, cycle.start());
    }
}
