//! `run --continue`: whether rounds may be added to a record, and how many.

use std::ffi::OsString;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::compare::host_differences;
use hugewise_experiment::run::plan::{Bounds, Plan, USUAL_TIME};
use hugewise_experiment::run::record::{Continuation, Record};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_text::wrap::quoted;

use super::conduct::words;
use super::plan::{MOST_ROUNDS, ROUNDS_ALONE, realise_all};
use super::stdin::Input;
use crate::exit;
use crate::options::{Limits, Options};

/// Checks that a given command equals the record's, the only one that `--continue` can run. `kept` is the command on
/// the original command line.
///
/// # Errors
/// The command is different.
pub fn check_command(kept: &[OsString], given: &[OsString]) -> Result<()> {
    if given.is_empty() || given == kept {
        return Ok(());
    }
    let kept = kept.iter().map(|word| quoted(&word.to_string_lossy()));
    Err(exit::usage(format!(
        "--continue runs the command of the record: {}; leave out the command, or measure the other \
         one without --continue",
        kept.collect::<Vec<_>>().join(" ")
    )))
}

/// Plans the rounds to add to a record on this host. `options` are those of the record, except for the limits, which
/// apply to the added rounds.
///
/// # Errors
/// The command line now has another meaning, or the host or its settings are different.
pub fn plan(record: &Record, host: &Host, options: &Options) -> Result<Continuation> {
    let kept = &record.header.plan;
    let differences = host_differences(&record.header.host, host);
    if !differences.is_empty() {
        let differences = differences.join("; ");
        return Err(exit::refused(format!(
            "rounds cannot be added under other circumstances: {differences}"
        )));
    }
    let now = Plan {
        bounds: kept.bounds,
        policies: kept.policies.clone(),
        ..options.plan(host, kept.seed)?
    };
    if now
        != (Plan {
            seed: now.seed,
            ..kept.clone()
        })
    {
        return Err(exit::usage(
            "the command line of the record means another plan by now: did its experiment file \
             change?",
        ));
    }
    realise_all(kept, host, options.reach())?;
    Ok(Continuation {
        round: record.next_round(),
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_by: words(std::env::args_os()),
        started_unix_ms: unix_ms(),
        boot_id: host.boot_id.clone(),
        bounds: bounds(record, options.limits),
    })
}

/// Refuses an input that differs from that of the earlier rounds.
///
/// # Errors
/// The two have different lengths.
pub fn check_input(record: &Record, input: Option<&Input>) -> Result<()> {
    let told = |bytes: Option<u64>| bytes.map_or("nothing".to_owned(), bytes_text);
    let (before, now) = (record.header.stdin_bytes, input.map(Input::bytes));
    if before == now {
        return Ok(());
    }
    Err(exit::usage(format!(
        "the trials of the record read {} from stdin, and now it has {}; give them the same",
        told(before),
        told(now)
    )))
}

/// The bounds for the added rounds.
fn bounds(record: &Record, limits: Limits) -> Bounds {
    let kept = &record.header.plan.bounds;
    let done = record.rounds_run();
    let is_alone = record.header.plan.policies.len() < 2;
    let most = if is_alone { ROUNDS_ALONE } else { MOST_ROUNDS };
    let max_rounds = done + limits.max_rounds.unwrap_or(most);
    let limited = limits.max_rounds.is_some() || limits.max_time.is_some();
    Bounds {
        min_rounds: if is_alone {
            max_rounds
        } else {
            kept.min_rounds
        },
        max_rounds,
        max_time: match limited {
            true => limits.max_time,
            false => Some(USUAL_TIME),
        },
        least_rounds: (!limited).then_some(done + 1),
        ..*kept
    }
}
