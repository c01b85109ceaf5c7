//! khugepaged: its scanning, its collapses, and what came of both.

use super::super::{Decode, Edge, Hook, Key, Point, Preset, Who};
use super::{event_by, function, point};

/// What came of a scan or a collapse, `enum scan_result` (mm/khugepaged.c).
const STATUS: Key = Key {
    parameters: &["status", "result"],
    decode: Decode::Enumeration {
        name: "scan_result",
        prefix: "SCAN_",
    },
};

pub(super) fn khugepaged() -> Vec<Point> {
    let mut all = vec![scan(), collapse()];
    all.extend(results());
    all
}

fn scan() -> Point {
    point(
        Preset::Khugepaged,
        "khugepaged_scan",
        "khugepaged scanning one process",
        [function(
            &["collapse_scan_mm_slot", "khugepaged_scan_mm_slot"],
            None,
            "scanning and all collapses of one step",
        )],
    )
}

fn collapse() -> Point {
    point(
        Preset::Khugepaged,
        "collapse",
        "collapse into a huge page",
        [
            function(
                &["collapse_huge_page"],
                None,
                "allocating, isolating, copying and mapping, by khugepaged and MADV_COLLAPSE",
            ),
            Hook::Pair {
                group: "huge_memory",
                begin: "mm_collapse_huge_page_isolate",
                end: "mm_collapse_huge_page",
                key: Some((Edge::End, STATUS)),
                who: Who::Everyone,
                includes: "copying and mapping; not allocating, not isolating",
            },
        ],
    )
}

fn results() -> Vec<Point> {
    vec![
        point(
            Preset::Khugepaged,
            "scan_result",
            "scan results, anonymous",
            [result(
                "mm_khugepaged_scan_pmd",
                "each huge-page range of anonymous memory, by khugepaged and MADV_COLLAPSE",
            )],
        ),
        point(
            Preset::Khugepaged,
            "scan_file_result",
            "scan results, files",
            [result(
                "mm_khugepaged_scan_file",
                "each huge-page range of a file or of shared memory",
            )],
        ),
        point(
            Preset::Khugepaged,
            "collapse_file_result",
            "collapse results, files",
            [result(
                "mm_khugepaged_collapse_file",
                "each huge-page range of a file or of shared memory that was tried",
            )],
        ),
    ]
}

/// Each result, by what it was.
fn result(name: &'static str, includes: &'static str) -> Hook {
    event_by(STATUS, "huge_memory", name, includes)
}
