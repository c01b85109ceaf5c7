//! The command that was measured, as it is typed.

use super::Report;
use crate::text::wrap::quoted;

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

/// The workload as a shell takes it.
pub(super) fn workload(report: &Report<'_>) -> String {
    let plan = &report.record.header.plan;
    let shell = ["/bin/sh", "-c"].map(str::to_owned);
    let lead: &[String] = if plan.shell { &shell } else { &[] };
    let words: Vec<String> = lead
        .iter()
        .chain(&plan.command)
        .map(|w| quoted(w))
        .collect();
    let mut words = words.join(" ");
    if let Some(input) = input(report) {
        words.push_str(&format!(" < {input}"));
    }
    // The places of a service are filled in its trials alone.
    if plan.service.is_some() || words.chars().count() > COMMAND_WIDTH {
        return "COMMAND".to_owned();
    }
    words
}

/// A command that measures again, reading from where the first one did: `--stdin` is a flag of its own.
pub(super) fn with_own_input(report: &Report<'_>, command: String) -> String {
    match (input(report), report.record.header.stdin_bytes) {
        (Some(input), Some(_)) if !command.contains(" --stdin") => format!("{command} < {input}"),
        _ => command,
    }
}
