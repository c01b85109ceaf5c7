//! `hugewise stat --where`: misses of the TLB, sampled with their addresses.

use std::path::Path;

use anyhow::{Context, Result};
use hugewise_linux::perf::misses::{self, Kernel};
use hugewise_linux::root::Root;
use hugewise_model::base::jsonl::LineError;
use hugewise_model::observe::misses::{
    Absence, Analysis, Summary, render_csv, render_markdown, render_text,
};

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

/// That it cannot be told is the result, in the form that was asked for.
fn refuse(absence: &Absence, output: &Output) -> Result<Exit> {
    let rendered = |format| {
        let mut text = String::new();
        match format {
            Format::Text | Format::Markdown => {
                absence.render_text(output::style(output).width, &mut text)?;
            }
            Format::Csv => absence.render_csv(&mut text)?,
            Format::Json => absence.render_json(&mut text)?,
        }
        anyhow::Ok(text)
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
        .ok_or_else(|| exit::usage(LineError::CutShort))?;
    let printed = output::print(&rendered(&summary, output.format, output)?);
    if let Some(path) = &output.json {
        output::write_file(path, &rendered(&summary, Format::Json, output)?)?;
    }
    printed
}

fn rendered(summary: &Summary, format: Format, output: &Output) -> Result<String> {
    let mut text = String::new();
    let style = output::style(output);
    match format {
        Format::Text => render_text(summary, &style, &mut text)?,
        Format::Csv => render_csv(summary, &mut text)?,
        Format::Markdown => render_markdown(summary, &style, &mut text)?,
        Format::Json => {
            text = serde_json::to_string_pretty(summary).context("rendering the summary")?;
            text.push('\n');
        }
    }
    Ok(text)
}
