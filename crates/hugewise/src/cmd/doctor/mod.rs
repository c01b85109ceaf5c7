//! `hugewise doctor`: shows what can be measured here, warns about misleading conditions and wrong settings, verifies
//! hardware events, and restores the settings that a killed experiment left.

mod breaking;
mod verify;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_experiment::run::policy::candidates;
use hugewise_experiment::run::policy::realise::{Reach, Unreachable};
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::{Purpose, Settings};
use hugewise_linux::undo::{JournalFound, UndoFolder, UndoReport};
use hugewise_linux::{probe, undo};
use hugewise_observe::doctor::{self, Diagnosis, PolicyReport};

use crate::exit::Exit;
use crate::output::Output;
use crate::stderr::message;
use crate::turn::{self, Wait};
use crate::{output, paths};

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(mut_arg("verbose", |it| it.help("Show all features, with evidence and fixes")))]
pub struct Arguments {
    /// Restore settings that a killed experiment left changed
    #[arg(long)]
    undo: bool,

    /// Test TLB events with loops whose misses are known
    #[arg(long, conflicts_with_all = ["undo", "host"])]
    verify_counters: bool,

    /// Examine a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    host: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if arguments.undo {
        return undo();
    }
    if arguments.verify_counters {
        return verify::run(&Root::real(), &arguments.output);
    }
    let root = arguments.host.clone().map_or_else(Root::real, Root::at);
    let answers = probe::answers(&root, paths::environment())?;
    let examination = probe::examine(&root, &answers)?;
    let diagnosis = Diagnosis {
        policies: policies(&examination.host),
        breaking: breaking::states(&root, &examination.host)?,
        ..doctor::diagnose(&examination)
    };
    output::show(
        &arguments.output,
        &diagnosis,
        || diagnosis.document(),
        || diagnosis.csv(),
    )?;
    if arguments.host.is_none() && paths::is_left_over() {
        message("an experiment was cut short; to restore its settings: hugewise doctor --undo");
    }
    Ok(Exit::Done)
}

/// How `run` without `--system` realises each huge page policy, or which obstacle prevents it.
fn policies(host: &Host) -> Vec<PolicyReport> {
    let candidates = candidates(host, Reach::Process).into_iter();
    candidates
        .map(|(policy, reached)| {
            let (means, obstacles) = match reached {
                Ok(realisation) => (Some(realisation.means()), Vec::new()),
                Err(obstacles) => (None, obstacles),
            };
            PolicyReport {
                policy: policy.name,
                means,
                obstacles: obstacles.iter().map(Unreachable::reason).collect(),
            }
        })
        .collect()
}

/// Restores the settings in the journal. Takes the lock first: the journal of a running experiment must not be undone.
fn undo() -> Result<Exit> {
    let (turn, _) = turn::take(Purpose::Change, Some(Wait::No))?;
    let Settings::Ours(hold) = &turn.settings else {
        return Ok(Exit::Busy);
    };
    let place = UndoFolder::new(&Root::real(), &paths::machine_state());
    let report = undo::undo(hold, &place)?;
    output::print(&undo_text(&report))?;
    if let Some(needed) = paths::root_is_needed() {
        message(needed);
    }
    Ok(if report.left_behind.is_empty() {
        Exit::Done
    } else {
        Exit::Refused
    })
}

fn undo_text(report: &UndoReport) -> String {
    let mut lines = Vec::new();
    match report.found {
        JournalFound::Nothing => {
            lines.push("Nothing to undo: no experiment was cut short.".to_owned());
        }
        JournalFound::AnotherBoot { pid } => lines.push(format!(
            "Nothing to undo: the experiment of process {pid} was cut short before a reboot, \
             which reset its settings."
        )),
        JournalFound::ThisBoot { pid } => {
            lines.push(format!("The experiment of process {pid} was cut short."));
            if report.restored.is_empty() && report.left_behind.is_empty() {
                lines.push("All settings are as they were.".to_owned());
            }
        }
    }
    lines.extend(report.restored.iter().map(ToString::to_string));
    lines.extend(report.left_behind.iter().map(ToString::to_string));
    lines.join("\n") + "\n"
}
