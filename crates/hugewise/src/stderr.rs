//! Messages on stderr, beside the result.
//!
//! A stderr that is closed, full or broken must not end an experiment: the machine still has
//! to be put back, and the result belongs to stdout. So nothing here can fail or panic, as
//! `eprintln!` would.
//!
//! A message may hold text of others: of a file, a process, a server, an argument. Nothing of it is obeyed by
//! a terminal, and no piece of it begins a line that looks like one of ours.

use std::fmt::Display;
use std::io::{Write, stderr};

use hugewise_base::plain::{plain, plain_lines};
use hugewise_linux::machine::terminal::columns;
use hugewise_text::wrap::wrapped;

use crate::exit::Fault;

/// Prints a message with the program's name in front, wrapped for a terminal. It is one line, whatever it quotes.
pub fn message(text: impl Display) {
    lines(plain(&text.to_string()));
}

/// Prints a message of several lines, such as [`chain`] may give; those after the first are indented.
pub fn message_lines(text: impl Display) {
    lines(indented(&text.to_string()));
}

/// Prints the same with all lines as they are: those of a usage error.
pub fn lines(text: impl Display) {
    let text = format!("hugewise: {text}");
    match columns(stderr()) {
        Some(columns) => line(fitted(&text, usize::from(columns))),
        None => line(text),
    }
}

/// Only the first line of a message begins at the first column.
fn indented(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut all = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let lead = if line.is_empty() || line.starts_with("  ") {
            ""
        } else {
            "  "
        };
        all.extend(["\n", lead, line]);
    }
    all
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

/// Prints lines without the name.
pub fn line(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(anstream::stderr().lock(), "{}", plain_lines(&text));
}

/// An error with its causes, each once and in one line, but for those that say themselves that they have
/// several: some errors have their cause in their own sentence.
pub fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = match cause.downcast_ref::<Fault>() {
            Some(fault) => fault.to_string(),
            None => plain(&cause.to_string()),
        };
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
    use crate::exit;

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

    #[test]
    fn text_of_others_makes_no_line() {
        let hostile = "a\u{1b}[2J\r\nhugewise: all is well";
        let one = "a\\u{1b}[2J\\r\\nhugewise: all is well";
        for error in [
            anyhow::anyhow!("{hostile}"),
            exit::usage(hostile),
            exit::refused(hostile),
        ] {
            assert_eq!(chain(&error), one);
            assert_eq!(chain(&error.context("reading")), format!("reading: {one}"));
        }
        assert_eq!(indented("a\nb\n  c\n"), "a\n  b\n  c\n");
    }

    #[test]
    fn an_error_may_say_that_it_has_several_lines() {
        let error = exit::lines(exit::Exit::Refused, "not possible:\n  a\u{9b}\n  b");
        assert_eq!(chain(&error), "not possible:\n  a\\u{9b}\n  b");
    }
}
