//! Choices of `bench growth` and `bench heap`.

use hugewise_base::host::Host;

/// By which means a heap grows.
pub static MEANS: &[&str] = &["brk", "mmap", "mprotect"];

/// Where a heap begins: on a boundary of the huge-page size, or in the middle between two.
pub static STARTS: &[&str] = &["aligned", "between"];

/// When a step is used: before the next one, or when the heap has its full size.
pub static TOUCHES: &[&str] = &["at-once", "later"];

/// Programs whose ways to grow a heap the laboratory has.
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

/// The programs that are imitated when none is named: all whose outcome is not left to chance.
#[must_use]
pub fn usual_programs(host: &Host) -> Vec<&'static str> {
    let chance = host.malloc_takes_advice_by_chance();
    let programs = PROGRAMS.iter().copied();
    programs
        .filter(|&name| !(chance && name == BY_CHANCE))
        .collect()
}

/// Sizes of a step when none is named, around that of a huge page.
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
