//! How a record came about: what ran, under whose settings, and which rounds were added later.

use std::path::Path;

use crate::run::record::Record;
use crate::text::wrap::plain;

/// One sentence each.
pub(super) fn history(record: &Record) -> Vec<String> {
    let held = record.header.settings_held_by.as_deref();
    let held = held.map(|it| format!("Measured under settings that {} had changed.", plain(it)));
    let executed = executed(record).into_iter();
    executed.chain(held).chain(added(record)).collect()
}

/// The program that did the work, where the command names another: a wrapper starts it.
fn executed(record: &Record) -> Option<String> {
    let plan = &record.header.plan;
    if plan.bench.is_some() || !plan.programs.is_empty() {
        return None;
    }
    let command = plan.command.first()?.split_whitespace().next()?;
    let trees = record
        .trials
        .iter()
        .filter_map(|it| it.read_back.tree.as_ref());
    let program = trees
        .map(|it| it.largest.program.as_str())
        .find(|it| !it.is_empty())?;
    let name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    (name(command) != name(program))
        .then(|| format!("`{}` ran {}.", plain(command), plain(program)))
}

/// When rounds were added.
fn added(record: &Record) -> Vec<String> {
    let mut boot = &record.header.host.boot_id;
    let mut began = record.header.created_unix_ms;
    let mut lines = Vec::new();
    for it in &record.continuations {
        let minutes = it.started_unix_ms.saturating_sub(began) / 60_000;
        let later = match minutes {
            0..120 => format!("{minutes} min later"),
            120..2880 => format!("{} h later", minutes / 60),
            _ => format!("{} days later", minutes / 1440),
        };
        let booted = if it.boot_id == *boot {
            ""
        } else {
            ", after a reboot"
        };
        lines.push(format!(
            "Rounds from {} on were added {later}{booted}.",
            it.round + 1
        ));
        (boot, began) = (&it.boot_id, it.started_unix_ms);
    }
    lines
}
