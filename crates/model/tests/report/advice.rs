//! Advice: how it is found, and that it can be pasted.

use hugewise_model::run::policy::{Policy, Settings};
use hugewise_model::run::report;
use hugewise_model::run::report::Report;
use hugewise_model::run::report::advice::Advice;
use hugewise_model::text::Style;

use super::checked::draw;
use crate::sample::{self, huge_pages, small_pages, table};

#[test]
fn advice_is_found_under_its_name() {
    let record = sample::clear_win();
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let advice = report::advice::advice(&report);
    assert_eq!(advice[0].to_string(), "Best: thp=always. Run with it:");
    let Advice::Command(command) = &advice[1] else {
        panic!("{advice:?}")
    };
    assert_eq!(
        command,
        "hugewise exec --system --policy thp=always -- sort -n numbers.txt"
    );
}

#[test]
fn advice_can_be_pasted_whatever_the_names_are() {
    let settings = Settings {
        env: [("NOTE".to_owned(), "it's a b".to_owned())].into(),
        ..Settings::default()
    };
    let mine = Policy {
        name: "my own".to_owned(),
        settings,
    };
    let arms = [(Policy::as_is(), small_pages()), (mine, huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.plan.shell = true;
    record.header.plan.command = vec!["sort -n < 'a b'".to_owned()];
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let command =
        "hugewise exec --policy 'env.NOTE=it'\\''s a b' -- /bin/sh -c 'sort -n < '\\''a b'\\'''";
    let advice = report::advice::advice(&report);
    assert_eq!(advice[1].to_string(), command);
    let text = draw(&report, &Style::default());
    assert!(
        text.contains(&format!("Run with it:\n    {command}\n")),
        "{text}"
    );
}
