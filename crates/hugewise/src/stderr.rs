//! Messages on stderr, beside the result.
//!
//! A stderr that is closed, full or broken must not end an experiment: the machine still has
//! to be put back, and the result belongs to stdout. So nothing here can fail or panic, as
//! `eprintln!` would.

use std::fmt::Display;
use std::io::Write;

/// Prints one line, with the program's name in front.
pub fn message(text: impl Display) {
    line(format_args!("hugewise: {text}"));
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
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("Not a directory")
            .context("reading /x: Not a directory")
            .context("looking");
        assert_eq!(chain(&error), "looking: reading /x: Not a directory");
    }
}
