//! `hugewise stat --where`: misses of the TLB, sampled with their addresses.

use std::path::Path;

use anyhow::{Context, Result};
use hugewise_linux::perf::misses::{self, Kernel};
use hugewise_linux::root::Root;
use hugewise_model::base::recording::Fault;
use hugewise_model::observe::misses::{Absence, Analysis, Summary};
use hugewise_model::text::{to_markdown, to_text};

use super::Arguments;
use crate::cli::{Format, Output};
use crate::exit::{self, Exit};
use crate::{output, places, recording};

mod live;

/// Samples until the target ends, the time is over, or a signal comes; where nothing can be
/// sampled, says why, and runs nothing.
pub(super) fn run(root: &Root, arguments: &Arguments) -> Result<Exit> {
    output::check_file(&arguments.output)?;
    let host = places::host(root)?;
    let target = live::Wanted::find(root, arguments)?;
    let instruments = match misses::find(root, &host, &Kernel, arguments.every) {
        Ok(instruments) => instruments,
        Err(absence) => return refuse(&absence, &arguments.output),
    };
    match live::watch(root, &host, &instruments, target, arguments)? {
        live::Ended::Sampled(analysis, exit) => {
            show(&analysis, &arguments.output)?;
            Ok(exit)
        }
        live::Ended::Absent(absence) => refuse(&absence, &arguments.output),
    }
}

/// The result where nothing can be sampled, in the requested form.
fn refuse(absence: &Absence, output: &Output) -> Result<Exit> {
    let style = output::style(output);
    let rendered = |format| {
        anyhow::Ok(match format {
            Format::Text => to_text(&absence.document(), &style),
            Format::Markdown => to_markdown(&absence.document(), style.verbose),
            Format::Csv => absence.csv(),
            Format::Json => serde_json::to_string_pretty(absence)? + "\n",
        })
    };
    let printed = output::print(&rendered(output.format)?);
    if let Some(path) = &output.json {
        output::write_file(path, &rendered(Format::Json)?)?;
    }
    printed?;
    Ok(Exit::Refused)
}

/// Whether a file is a recording of misses; one that cannot be read is none.
pub(super) fn is_recording(path: &Path) -> bool {
    hugewise_model::observe::misses::is_recording(&recording::first_line(path))
}

/// Draws a recording.
pub(super) fn replay(path: &Path, output: &Output) -> Result<Exit> {
    show(&recording::replay(path)?, output)?;
    Ok(Exit::Done)
}

fn show(analysis: &Analysis, output: &Output) -> Result<()> {
    let summary = analysis
        .summary()
        .ok_or_else(|| exit::usage(Fault::CutShort))?;
    let printed = output::print(&rendered(&summary, output.format, output)?);
    if let Some(path) = &output.json {
        output::write_file(path, &rendered(&summary, Format::Json, output)?)?;
    }
    printed
}

fn rendered(summary: &Summary, format: Format, output: &Output) -> Result<String> {
    let style = output::style(output);
    Ok(match format {
        Format::Text => to_text(&summary.document(), &style),
        Format::Csv => summary.csv(),
        Format::Markdown => to_markdown(&summary.document(), style.verbose),
        Format::Json => {
            serde_json::to_string_pretty(summary).context("rendering the summary")? + "\n"
        }
    })
}
