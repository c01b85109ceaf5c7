//! Messages on stderr, separate from the result.
//!
//! A stderr that is closed, full or broken must not end an experiment: the settings still have to be restored, and the
//! result belongs to stdout. So nothing here can fail or panic, as `eprintln!` would.
//!
//! A message can quote text from a file, a process, a server or an argument. Its control characters never reach the
//! terminal, and no quoted line can pass for one of ours.

use std::fmt::Display;
use std::io::{Write, stderr};

use hugewise_base::plain::{plain, plain_lines};
use hugewise_linux::machine::terminal::columns;
use hugewise_text::wrap::wrapped;

use crate::exit::Fault;

/// Prints a message of one line after the program's name, wrapped for a terminal, whatever it quotes.
pub fn message(text: impl Display) {
    lines(plain(&text.to_string()));
}

/// Prints a message of several lines, such as [`chain`] returns; the lines after the first are indented.
pub fn message_lines(text: impl Display) {
    lines(indented(&text.to_string()));
}

/// Prints a message of several lines unchanged, such as a usage error.
pub fn lines(text: impl Display) {
    let text = format!("hugewise: {text}");
    match columns(stderr()) {
        Some(columns) => line(fitted(&text, usize::from(columns))),
        None => line(text),
    }
}

/// Indents all lines of a message but the first.
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

/// Wraps the text at this number of columns and keeps its indentation.
fn fitted(text: &str, columns: usize) -> String {
    let lines = text.lines().flat_map(|line| {
        let (lead, rest) = line.split_at(line.len() - line.trim_start().len());
        let lines = wrapped(rest, columns.saturating_sub(lead.len()), 2).into_iter();
        lines.map(move |line| format!("{lead}{line}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints lines without the program's name.
pub fn line(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(anstream::stderr().lock(), "{}", plain_lines(&text));
}

/// An error with its causes, each once. Each takes one line, except errors that declare several lines. Causes that an
/// error already quotes are not repeated.
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
