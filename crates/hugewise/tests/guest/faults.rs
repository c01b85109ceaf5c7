//! Faults with exactly known counts.

use super::expectation::AfterRead;
use super::ground::Ground;

/// The pages of the oracle: 44 huge pages and 501 small ones if a huge page is 512 pages.
const PAGES: u64 = 23_029;
/// Bytes to touch twice.
const TWICE: u64 = 64 << 20;

/// As many faults as pages.
pub fn small_pages(ground: &Ground) {
    let said = ground.lab_says(&["touch", "--small", "--pages", &PAGES.to_string()]);
    assert_eq!(said, format!("pages {PAGES} faults {PAGES}"));
}

/// One fault for each huge page, and one for each page of the tail; repeated if the machine had no huge page free.
pub fn huge_pages(ground: &Ground) {
    let each = ground.pages_each();
    let faults = PAGES / each + PAGES % each;
    let touch = || {
        let before = refused();
        let said = ground.lab_says(&["touch", "--huge", "--pages", &PAGES.to_string()]);
        (said, refused() > before)
    };
    let (said, _) = (0..9)
        .map(|_| touch())
        .find(|(_, refused)| !refused)
        .unwrap_or_else(touch);
    assert_eq!(said, format!("pages {PAGES} faults {faults}"));
}

/// Faults that found no free huge page since boot.
fn refused() -> u64 {
    let counts = std::fs::read_to_string("/proc/vmstat").unwrap();
    let mut lines = counts.lines();
    let count = lines.find_map(|line| line.strip_prefix("thp_fault_fallback "));
    count.map_or(0, |count| count.parse().unwrap())
}

/// One fault for the huge zero page; then the write splits it or allocates a huge page.
pub fn written_after_a_read(ground: &Ground) {
    let said = twice(ground, "read");
    assert_after_read(ground, said);
}

/// An atomic addition is a write on x86; on Arm it is a read that becomes a write.
pub fn written_after_an_atomic(ground: &Ground) {
    let said = twice(ground, "atomic");
    if cfg!(target_arch = "aarch64") {
        assert_after_read(ground, said);
    } else {
        let (huge_pages, faults, _) = said;
        assert_eq!(faults, huge_pages, "{said:?}");
    }
}

fn assert_after_read(ground: &Ground, (huge_pages, faults, splits): (u64, u64, u64)) {
    let split = huge_pages + huge_pages * ground.pages_each();
    let whole = 2 * huge_pages;
    // In a guest only this program splits; elsewhere other programs may too.
    let seen = match faults {
        _ if faults == split && splits >= huge_pages => AfterRead::Splits,
        _ if faults == whole => AfterRead::Whole,
        _ => panic!("{faults} faults and {splits} splits of {huge_pages} huge pages"),
    };
    if let Some(expected) = ground.expectation.after_read {
        assert_eq!(seen, expected, "{faults} faults, {splits} splits");
        let exact = if seen == AfterRead::Splits {
            huge_pages
        } else {
            0
        };
        assert_eq!(splits, exact, "{faults} faults");
    }
}

/// Huge pages, faults and splits.
fn twice(ground: &Ground, first: &str) -> (u64, u64, u64) {
    let huge_pages = TWICE / (ground.pages_each() * ground.answers.page_bytes);
    let huge_pages = huge_pages.max(1).to_string();
    let words = [
        "double-fault",
        "--huge-pages",
        &huge_pages,
        "--first",
        first,
    ];
    let said = ground.lab_says(&words);
    let numbers: Vec<u64> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [huge_pages, faults, splits] => (huge_pages, faults, splits),
        _ => panic!("`{said}`"),
    }
}
