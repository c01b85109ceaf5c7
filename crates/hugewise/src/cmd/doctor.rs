//! `hugewise doctor`: what can be measured here, what misleads, which settings are wrong; and undo
//! for a killed experiment.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_linux::probe;
use hugewise_linux::root::Root;
use hugewise_linux::undo::{self, Found, Place, UndoReport};
use hugewise_model::doctor;
use hugewise_model::doctor::Diagnosis;
use hugewise_model::text::{to_markdown, to_text};

use crate::cli::{Format, Output};
use crate::exit::Exit;
use crate::say::say;
use crate::{output, places};

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Put back settings that an experiment left changed when it was killed
    #[arg(long)]
    undo: bool,

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
    let root = arguments.host.clone().map_or_else(Root::real, Root::at);
    let answers = probe::answers(&root, places::environment())?;
    let diagnosis = doctor::diagnose(&probe::examine(&root, &answers)?);
    if let Some(path) = &arguments.output.json {
        output::write_file(
            path,
            &rendered(&diagnosis, Format::Json, &arguments.output)?,
        )?;
    }
    let form = arguments.output.format;
    output::print(&rendered(&diagnosis, form, &arguments.output)?)?;
    if arguments.host.is_none() && places::is_left_over() {
        say("an experiment was cut short; to put its settings back: hugewise doctor --undo");
    }
    Ok(Exit::Done)
}

fn rendered(diagnosis: &Diagnosis, format: Format, output: &Output) -> Result<String> {
    let style = output::style(output);
    Ok(match format {
        Format::Text => to_text(&diagnosis.document(), &style),
        Format::Csv => diagnosis.csv(),
        Format::Markdown => to_markdown(&diagnosis.document(), style.verbose),
        Format::Json => serde_json::to_string_pretty(diagnosis)? + "\n",
    })
}

/// Puts back what is in the journal. The lock is taken first: a journal of an experiment that
/// still runs is not ours to undo.
fn undo() -> Result<Exit> {
    let hold = places::hold()?;
    let place = Place::new(&Root::real(), &places::machine_state());
    let report = undo::undo(&hold, &place)?;
    output::print(&told(&report))?;
    if let Some(needed) = places::root_is_needed() {
        say(needed);
    }
    Ok(if report.left_behind.is_empty() {
        Exit::Done
    } else {
        Exit::Refused
    })
}

fn told(report: &UndoReport) -> String {
    let mut lines = Vec::new();
    match report.found {
        Found::Nothing => lines.push("Nothing to undo: no experiment was cut short.".to_owned()),
        Found::AnotherBoot { pid } => lines.push(format!(
            "Nothing to undo: the experiment of process {pid} was cut short before the machine \
             was started anew, which reset its settings."
        )),
        Found::ThisBoot { pid } => {
            lines.push(format!("The experiment of process {pid} was cut short."));
            if report.restored.is_empty() && report.left_behind.is_empty() {
                lines.push("All settings are as they were.".to_owned());
            }
        }
    }
    let restored = report.restored.iter();
    lines
        .extend(restored.map(|one| format!("/{}: `{}` is `{}` again", one.path, one.from, one.to)));
    lines.extend(report.left_behind.iter().map(ToString::to_string));
    lines.join("\n") + "\n"
}
