//! Memory that huge pages hold and the program does not use.

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{Contents, Pages, Run, Source};
use hugewise_observe::inspect::view::Inspection;
use hugewise_text::{Style, to_text};

use super::planted::{HUGE, PAGE, Planted, START, folios, pages};

/// Four ranges that a PMD maps, with so many pages of zeros in a sample of 1024.
fn huge(contents: Result<Option<Contents>, Missing>) -> Inspection {
    let mut planted = Planted::with(Pages {
        huge: Some(512),
        ..pages(512)
    });
    planted.memory().anon_huge = 4 * HUGE;
    planted.memory().resident = 4 * HUGE;
    planted.space.contents = contents;
    Inspection::of(planted.space, planted.settings)
}

fn sampled(zero: u64) -> Inspection {
    huge(Ok(Some(Contents {
        pages: 2048,
        read: 1024,
        zero,
    })))
}

fn labels(inspection: &Inspection) -> Vec<&'static str> {
    let text = to_text(
        &inspection.document(None, hugewise_text::document::Level::First),
        &Style::default(),
    );
    let known = ["wasted", "to spare it", "contents", "held", "to free it"];
    let begins = |label: &&str| text.lines().any(|line| line.starts_with(label));
    known.into_iter().filter(begins).collect()
}

#[test]
fn zeros_have_a_remedy_where_they_are_many() {
    let sparse = sampled(1022);
    let empty = sparse.summary.empty_huge.unwrap();
    assert!(
        empty.low > 4 * HUGE * 98 / 100 && empty.high <= 4 * HUGE,
        "{empty:?}"
    );
    assert_eq!(labels(&sparse), ["wasted", "to spare it"]);
    let full = sampled(0);
    assert_eq!(full.summary.empty_huge.map(|it| it.bytes), Some(0));
    assert_eq!(labels(&full), ["contents"]);
}

#[test]
fn nothing_is_said_of_contents_that_are_none_or_unknown() {
    for contents in [Ok(None), Err(Missing::not_permitted("CAP_SYS_PTRACE"))] {
        let inspection = huge(contents);
        assert_eq!(inspection.summary.empty_huge, None);
        assert!(labels(&inspection).is_empty());
    }
}

/// Half of each of four huge pages was given back.
#[test]
fn what_huge_pages_hold_beyond_the_mapped_is_added_up() {
    let planted = Planted::with(folios(512, 256, 0));
    let inspection = Inspection::of(planted.space, planted.settings);
    assert_eq!(inspection.summary.held_unmapped, Some(4 * 256 * PAGE));
    assert_eq!(labels(&inspection), ["held", "to free it"]);
    let mut unseen = Planted::with(folios(512, 256, 0));
    unseen.space.read_with.frames = Source::Missing(Missing::not_permitted("CAP_SYS_ADMIN"));
    let inspection = Inspection::of(unseen.space, unseen.settings);
    assert_eq!(inspection.summary.held_unmapped, None);
}

/// A change of protection parts the mapping within a huge page, which stays whole.
#[test]
fn one_huge_page_under_two_mappings_holds_nothing_more() {
    let mut planted = Planted::with(folios(512, 512, 0));
    let middle = START + HUGE / 2;
    let half = |start, end| Run {
        start,
        end,
        pages: folios(512, 256, 0),
    };
    let mut upper = planted.mapping().clone();
    (upper.start, upper.runs) = (middle, vec![half(middle, START + HUGE)]);
    upper.end = START + HUGE;
    let lower = planted.mapping();
    (lower.end, lower.runs) = (middle, vec![half(START, middle)]);
    planted.space.mappings.push(upper);
    let inspection = Inspection::of(planted.space, planted.settings);
    assert_eq!(inspection.summary.held_unmapped, Some(0));
}
