//! Messages on stderr, beside the result.
//!
//! A stderr that is closed, full or broken must not end an experiment: the machine still has
//! to be put back, and the result belongs to stdout. So nothing here can fail or panic, as
//! `eprintln!` would.

use std::fmt::Display;
use std::io::{Write, stderr};

use hugewise_linux::machine::terminal::columns;
use hugewise_model::text::wrap::wrapped;

/// Prints a message with the program's name in front, wrapped for a terminal.
pub fn message(text: impl Display) {
    let text = format!("hugewise: {text}");
    match columns(stderr()) {
        Some(columns) => line(fitted(&text, usize::from(columns))),
        None => line(text),
    }
}

/// The text in lines of at most so many columns; what it indents stays indented.
fn fitted(text: &str, columns: usize) -> String {
    let lines = text.lines().flat_map(|line| {
        let (lead, rest) = line.split_at(line.len() - line.trim_start().len());
        let lines = wrapped(rest, columns.saturating_sub(lead.len()), 2).into_iter();
        lines.map(move |line| format!("{lead}{line}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints one line as it is.
pub fn line(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// An error with its causes, each once: some errors have their cause in their own sentence.
pub fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_its_terminal() {
        let text = "hugewise: nothing was run: the machine gives no huge page\n  fix: a remedy";
        let lines = "hugewise: nothing was run: the machine\n  gives no huge page\n  fix: a remedy";
        assert_eq!(fitted(text, 40), lines);
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("Not a directory")
            .context("reading /x: Not a directory")
            .context("looking");
        assert_eq!(chain(&error), "looking: reading /x: Not a directory");
        let error = anyhow::anyhow!("full").context("full; nothing is lost");
        assert_eq!(chain(&error), "full; nothing is lost");
    }
}
