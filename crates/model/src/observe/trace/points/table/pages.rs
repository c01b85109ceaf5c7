//! What is done with single pages: faults, zeroing, splitting.

use super::super::{Hook, Point, Preset};
use super::{function, point};

pub(super) fn pages() -> Vec<Point> {
    let mut all = vec![zeroing(), fault()];
    all.extend(faults_of_a_kind());
    all.extend(splits());
    all
}

fn zeroing() -> Point {
    point(
        Preset::Zeroing,
        "zeroing",
        "zeroing huge pages",
        [function(
            &["folio_zero_user", "clear_huge_page"],
            None,
            "one huge page or one folio of several pages",
        )],
    )
}

fn fault() -> Point {
    point(
        Preset::Fault,
        "fault",
        "page faults",
        [
            function(
                &["handle_mm_fault"],
                None,
                "faults and touches on behalf of a system call; not the processor's own way there",
            ),
            Hook::Faults {
                includes: "faults that ended well, from the processor's report to the mapping; \
                           not those on behalf of a system call",
            },
        ],
    )
}

fn faults_of_a_kind() -> Vec<Point> {
    vec![
        point(
            Preset::Fault,
            "huge_fault",
            "huge page faults",
            [function(
                &["do_huge_pmd_anonymous_page"],
                None,
                "one anonymous fault where a huge page fits, whether it got one or not",
            )],
        ),
        point(
            Preset::Fault,
            "copy_on_write",
            "copy-on-write faults",
            [function(
                &["do_wp_page"],
                None,
                "one such fault on a small page: copying, or taking it over",
            )],
        ),
    ]
}

fn splits() -> Vec<Point> {
    vec![
        point(
            Preset::Split,
            "split_mapping",
            "splitting a huge mapping",
            [function(
                &["__split_huge_pmd"],
                None,
                "one PMD mapping turned into small ones",
            )],
        ),
        point(
            Preset::Split,
            "split_page",
            "splitting a huge page",
            [function(
                &[
                    "__folio_split",
                    "split_huge_page_to_list_to_order",
                    "split_huge_page_to_list",
                ],
                None,
                "one huge page turned into smaller ones, tries that failed included",
            )],
        ),
    ]
}
