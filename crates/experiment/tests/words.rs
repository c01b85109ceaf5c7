//! What a user types: taken, or refused with a sentence.

use hugewise_base::units::{parse_duration, parse_size};
use hugewise_experiment::run::gate::Gate;
use hugewise_experiment::run::plan::TimeUnit;
use hugewise_experiment::run::plan::service::StopSignal;
use hugewise_experiment::run::policy::Axis;
use proptest::prelude::*;

/// What is taken, and what is refused, of each kind of word.
fn try_each(text: &str) -> [Result<(), String>; 6] {
    [
        parse_size(text).map(drop),
        parse_duration(text).map(drop),
        text.parse::<Gate>().map(drop),
        text.parse::<Axis>()
            .map(drop)
            .map_err(|error| error.to_string()),
        text.parse::<StopSignal>().map(drop),
        text.parse::<TimeUnit>().map(drop),
    ]
}

/// Letters of the words that are known, so that the beginnings of many are met.
fn nearly_words() -> impl Strategy<Value = String> {
    "[a-z0-9=:,;<>%+ .KMGs−-]{0,24}"
}

#[test]
fn each_kind_takes_its_own_words() {
    for (place, text) in [
        "2M",
        "10s",
        "wall_seconds > +2%",
        "thp=always,never",
        "TERM",
        "ms",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(try_each(text)[place], Ok(()), "{text}");
    }
}

proptest! {
    #[test]
    fn any_word_is_taken_or_refused_with_a_sentence(text in prop_oneof![any::<String>(), nearly_words()]) {
        for refused in try_each(&text).into_iter().filter_map(Result::err) {
            prop_assert!(!refused.is_empty());
        }
    }
}
