//! Choices of `bench growth` and `bench heap`.

use hugewise_base::host::Host;

/// The system calls that grow a heap.
pub static MEANS: &[&str] = &["brk", "mmap", "mprotect"];

/// The start of a heap: on a huge-page boundary, or halfway between two.
pub static STARTS: &[&str] = &["aligned", "between"];

/// The first use of a step: before the next one, or when the heap has its full size.
pub static TOUCHES: &[&str] = &["at-once", "later"];

/// The programs whose heap growth the laboratory imitates.
pub static PROGRAMS: &[&str] = &[
    "go-1.7",
    "go",
    "arena-2m",
    "glibc-arena",
    "glibc",
    "glibc-top-pad-64m",
    BY_CHANCE,
];

/// glibc with `glibc.malloc.hugetlb=1`.
const BY_CHANCE: &str = "glibc-hugetlb-1";

/// Returns the programs imitated by default: all with a deterministic outcome.
#[must_use]
pub fn usual_programs(host: &Host) -> Vec<&'static str> {
    let chance = host.malloc_takes_advice_by_chance();
    let programs = PROGRAMS.iter().copied();
    programs
        .filter(|&name| !(chance && name == BY_CHANCE))
        .collect()
}

/// Returns the default step sizes, around the size of a huge page.
#[must_use]
pub fn usual_steps(host: &Host) -> Vec<u64> {
    let huge = host.pmd_bytes().unwrap_or(512 * host.page_bytes);
    vec![16 * host.page_bytes, huge / 2, huge, 2 * huge]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::run::cells::BenchCell;

    #[test]
    fn every_word_can_stand_in_a_cell() {
        for words in [MEANS, STARTS, TOUCHES, PROGRAMS] {
            assert!(BenchCell::of(words).is_ok(), "{words:?}");
        }
    }
}
