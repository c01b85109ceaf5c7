//! The command that was measured, as it is typed.

use super::Report;
use crate::run::plan::service::CommandLine;
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

/// The workload as a shell takes it, for `hugewise exec` under a policy, which puts its arguments in.
/// `COMMAND` where it is too long, or has places that are filled in trials alone.
pub(super) fn workload(report: &Report<'_>, arguments: &[String]) -> String {
    let header = &report.record.header;
    let command = match arguments.is_empty() {
        true => header.command_with(arguments),
        false => header.plan.command.clone(),
    };
    match header.plan.service {
        Some(_) => UNSAID.to_owned(),
        None => typed(report, &command).unwrap_or_else(|| UNSAID.to_owned()),
    }
}

/// The workload with arguments in it; `None` where it is too long. Of a server, whose port and folder the reader
/// puts in, the line is given all the same: it shows where the arguments stand.
pub(super) fn with_arguments(report: &Report<'_>, arguments: &[String]) -> Option<String> {
    let header = &report.record.header;
    let command = header.command_with(arguments);
    let line = command.first().filter(|_| header.plan.shell);
    // A line that begins with its program is pasted as it is.
    let is_plain = |line: &&String| CommandLine::Line((*line).clone()).program().is_some();
    match line.filter(is_plain) {
        Some(line) if plain(line) == *line => {
            Some(line.clone()).filter(|line| line.chars().count() <= COMMAND_WIDTH)
        }
        _ => typed(report, &command),
    }
}

/// What stands for a command that is left for the reader to put in.
const UNSAID: &str = "COMMAND";

/// A command as a shell takes it, with its input; `None` where it is too long.
fn typed(report: &Report<'_>, command: &[String]) -> Option<String> {
    let shell = ["/bin/sh", "-c"].map(str::to_owned);
    let lead: &[String] = if report.record.header.plan.shell {
        &shell
    } else {
        &[]
    };
    let mut words = quoted_words(&[lead, command].concat());
    if let Some(input) = input(report) {
        words.push_str(&format!(" < {input}"));
    }
    (words.chars().count() <= COMMAND_WIDTH).then_some(words)
}

/// A command that measures again, reading from where the first one did: `--stdin` is a flag of its own.
pub(super) fn with_own_input(report: &Report<'_>, command: String) -> String {
    match (input(report), report.record.header.stdin_bytes) {
        (Some(input), Some(_)) if !command.contains(" --stdin") => format!("{command} < {input}"),
        _ => command,
    }
}
