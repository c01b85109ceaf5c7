//! The command that was measured, as it is typed.

use super::Report;
use crate::run::plan::arguments::in_line;
use crate::run::plan::service::CommandLine;
use crate::run::record::Header;
use crate::text::wrap::{plain, quoted, quoted_words};

/// Longer commands are left for the reader to put in.
const COMMAND_WIDTH: usize = 200;

/// What each trial read from: the file of `--stdin`, or the program's own stdin, whose name is not known.
fn input(report: &Report<'_>) -> Option<String> {
    let header = &report.record.header;
    let mut words = header.made_by.iter().take_while(|word| *word != "--");
    let file = words.find_map(|word| match word.strip_prefix("--stdin") {
        Some("") => Some(None),
        Some(path) => Some(path.strip_prefix('=').map(str::to_owned)),
        None => None,
    });
    match file {
        Some(Some(path)) => Some(quoted(&path)),
        Some(None) => words.next().map(|path| quoted(path)),
        None => header.stdin_bytes.map(|_| "INPUT".to_owned()),
    }
}

/// The workload with the arguments of a policy, as a shell takes it; `COMMAND` where it is too long. What each server
/// has of its own is left for the reader to put in: `{port}` is `PORT`.
pub(super) fn workload(report: &Report<'_>, arguments: &[String]) -> String {
    written(report, arguments).unwrap_or_else(|| UNSAID.to_owned())
}

/// The workload with arguments in it; `None` where there are none, or it is too long.
pub(super) fn with_arguments(report: &Report<'_>, arguments: &[String]) -> Option<String> {
    let has_any = !arguments.is_empty();
    has_any.then(|| written(report, arguments)).flatten()
}

/// Whether the workload has a place for these arguments: a line for the shell may be more than one command.
pub(super) fn places(header: &Header, arguments: &[String]) -> bool {
    let has_place = |line: &String| in_line(line, arguments).is_ok();
    !header.plan.shell || header.plan.command.iter().all(has_place)
}

/// A command as a shell takes it, with its input; `None` where it is too long.
fn written(report: &Report<'_>, arguments: &[String]) -> Option<String> {
    let header = &report.record.header;
    let command = header.command_with(arguments);
    let line = command.first().filter(|_| header.plan.shell);
    // A line that begins with its program is pasted as it is.
    let is_plain = |line: &&String| {
        CommandLine::Line((*line).clone()).program().is_some() && plain(line) == **line
    };
    let mut words = match (line.filter(is_plain), header.plan.shell) {
        (Some(line), _) => line.clone(),
        (None, true) => format!("/bin/sh -c {}", quoted_words(&command)),
        (None, false) => quoted_words(&command),
    };
    if let Some(input) = input(report) {
        words.push_str(&format!(" < {input}"));
    }
    if header.plan.service.is_some() {
        words = with_blanks(&words);
    }
    (words.chars().count() <= COMMAND_WIDTH).then_some(words)
}

/// `-p PORT` of `-p {port}`.
fn with_blanks(line: &str) -> String {
    let mut pieces = line.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let place = piece.split_once('}');
        let place = place.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()));
        match place {
            Some((name, rest)) => filled.extend([&name.to_ascii_uppercase(), rest]),
            None => filled.extend(["{", piece]),
        }
    }
    filled
}

/// What stands for a command that is left for the reader to put in.
const UNSAID: &str = "COMMAND";

/// A command that measures again, reading from where the first one did: `--stdin` is a flag of its own.
pub(super) fn with_own_input(report: &Report<'_>, command: String) -> String {
    match (input(report), report.record.header.stdin_bytes) {
        (Some(input), Some(_)) if !command.contains(" --stdin") => format!("{command} < {input}"),
        _ => command,
    }
}
