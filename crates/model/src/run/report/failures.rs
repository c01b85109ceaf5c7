//! Trials that failed: how many, and what the first of them said.

use std::collections::BTreeMap;

use crate::run::record::Record;
use crate::run::trial::{Outcome, Party, Trial};
use crate::text::wrap::plain;
use crate::text::wrap::shortened;

/// The lines, where any trial failed.
pub(super) fn failed(record: &Record) -> Vec<String> {
    let total = record.trials.len();
    let failed: Vec<&Trial> = record
        .trials
        .iter()
        .filter(|trial| !trial.succeeded())
        .collect();
    let Some(first) = failed.first() else {
        return Vec::new();
    };
    let mut by_policy: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in &failed {
        *by_policy.entry(&trial.policy).or_default() += 1;
    }
    let counts: Vec<String> = by_policy
        .iter()
        .map(|(policy, count)| format!("{count} under {}", plain(policy)))
        .collect();
    let mut lines = vec![format!(
        "Failed: {} of {total} trials ({}). The first, in round {}: {}.",
        failed.len(),
        counts.join(", "),
        first.round + 1,
        plain(&first.outcome.to_string()),
    )];
    let words = first.stderr_tail.as_deref();
    lines.extend(words.and_then(|words| last_words(writer(&first.outcome), words)));
    lines
}

/// Whose last words a failed trial keeps.
fn writer(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::ServiceFailed { party, .. } => match party {
            Party::Service => "The service",
            Party::Load => "The load",
        },
        _ => "It",
    }
}

/// The end of what a program wrote: its last lines say why it failed.
fn last_words(writer: &str, stderr: &str) -> Option<String> {
    let mut lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let lines = lines.split_off(lines.len().saturating_sub(3));
    let text = shortened(&plain(&lines.join(" / ")), 300);
    (!lines.is_empty()).then(|| format!("{writer} wrote: {text}"))
}
