//! Words that a user types: accepted, or rejected with a sentence.

use hugewise_base::units::{parse_duration, parse_size};
use hugewise_experiment::run::gate::Gate;
use hugewise_experiment::run::plan::TimeUnit;
use hugewise_experiment::run::plan::service::StopSignal;
use hugewise_experiment::run::policy::Axis;
use proptest::prelude::*;

/// The results for each kind of word: accepted or rejected.
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

/// Letters of known words, so that their prefixes occur often.
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
