//! The order, the size and the figures of every screen.

use hugewise_model::run::answer::{Answer, document};
use hugewise_model::text::{Style, Verbosity, to_text};

use crate::numbers::numbers_are_in_the_answer;
use crate::samples;

/// Draws the first screen of a terminal.
pub fn screen(answer: &Answer) -> String {
    to_text(&document(answer, 80, Verbosity::Normal), &Style::default())
}

/// Draws everything.
pub fn verbose(answer: &Answer) -> String {
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    to_text(&document(answer, 80, Verbosity::Verbose), &style)
}

#[test]
fn print() {
    for (name, answer) in samples::all() {
        println!("=== {name}\n{}", screen(&answer));
        let json = serde_json::to_value(&answer).unwrap();
        println!(
            "--- {:?}",
            numbers_are_in_the_answer(&screen(&answer), &json)
        );
    }
    println!("=== verbose dict\n{}", verbose(&samples::dict()));
    println!("=== verbose redis\n{}", verbose(&samples::redis()));
    println!("=== verbose programs\n{}", verbose(&samples::programs()));
}
