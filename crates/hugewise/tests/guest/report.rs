//! The lines that the matrix reads.

use std::time::Duration;

use serde_json::Value;

use super::capability::Capability;

/// The first word of every result line; the console has other lines too.
const MARK: &str = "guest";

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed; in one line, the observed values.
    Failed(String),
    /// It could not be tested without this capability.
    Skipped(Capability, String),
}

/// Prints one result.
pub fn print(user: &str, name: &str, outcome: &Outcome) {
    match outcome {
        Outcome::Passed => println!("{MARK} {user} passed {name}"),
        Outcome::Failed(text) => println!("{MARK} {user} failed {name}: {}", one_line(text)),
        Outcome::Skipped(lacking, why) => println!(
            "{MARK} {user} skipped {name}: {}: {}",
            lacking.name(),
            one_line(why)
        ),
    }
}

/// Prints how long a test took, in seconds.
pub fn print_time(user: &str, name: &str, took: Duration) {
    println!("{MARK} {user} took {:.1} {name}", took.as_secs_f64());
}

/// Prints the available capabilities.
pub fn print_capability(user: &str, capability: Capability, here: &Result<(), String>) {
    let name = capability.name();
    match here {
        Ok(()) => println!("{MARK} {user} has {name}"),
        Err(why) => println!("{MARK} {user} lacks {name}: {}", one_line(why)),
    }
}

/// Prints the output of a suite for the matrix to store: the rows of a JSON array, one per line.
pub fn print_table(suite: &str, json: &str) {
    let rows: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
    for row in rows {
        println!("{MARK} row {suite} {row}");
    }
}

/// A console line is short, and a result is one line.
fn one_line(text: &str) -> String {
    let joined: Vec<&str> = text.split_whitespace().collect();
    joined.join(" ").chars().take(400).collect()
}
