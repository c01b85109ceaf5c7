//! What a user types, and the lines of a recording: taken, or refused with a sentence.

use hugewise_model::base::jsonl::{Line, RawLine};
use hugewise_model::base::units::{parse_duration, parse_size};
use hugewise_model::observe::{faults, misses, watch};
use hugewise_model::run::gate::Gate;
use hugewise_model::run::plan::TimeUnit;
use hugewise_model::run::plan::service::StopSignal;
use hugewise_model::run::policy::Axis;
use proptest::prelude::*;

const MISSES: &str = include_str!("../../../fixtures/misses/server.jsonl");

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

fn try_line<L: Line>(bytes: &[u8]) {
    for number in [1, 2] {
        let raw = RawLine {
            number,
            bytes,
            ended: true,
        };
        if let Err(fault) = raw.read::<L>() {
            assert!(!fault.to_string().is_empty());
        }
    }
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

    #[test]
    fn any_line_of_a_recording_is_read_or_refused(bytes: Vec<u8>) {
        try_line::<faults::Event>(&bytes);
        try_line::<misses::Event>(&bytes);
        try_line::<watch::Line>(&bytes);
    }

    #[test]
    fn a_damaged_recording_is_read_or_refused(line: usize, at: usize, byte: u8, cut: bool) {
        let lines: Vec<&str> = MISSES.lines().collect();
        let mut bytes = lines[line % lines.len()].as_bytes().to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        try_line::<misses::Event>(&bytes);
        try_line::<faults::Event>(&bytes);
    }
}
