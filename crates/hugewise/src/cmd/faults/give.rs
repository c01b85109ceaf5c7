//! Giving the summary out in the form that was asked for, and the call chains as files.

use std::fmt::Write;
use std::fs::File;

use anyhow::Result;
use hugewise_model::base::jsonl::LineError;
use hugewise_model::observe::faults;
use hugewise_model::observe::faults::{Analysis, Summary, render_flame};
use hugewise_model::text::{to_markdown, to_text};

use super::Arguments;
use crate::cli::Format;
use crate::{exit, output};

/// Opens the files that will be written, so that a place where nothing can be written is known
/// before the program runs.
pub(super) fn check(arguments: &Arguments) -> Result<()> {
    output::check_file(&arguments.output)?;
    let files = [
        ("--flame", &arguments.flame),
        ("--folded", &arguments.folded),
    ];
    for (flag, path) in files {
        let Some(path) = path else { continue };
        let opened = File::options().append(true).create(true).open(path);
        opened.map_err(|error| {
            exit::usage(format!(
                "{flag} {}: {error}; name a file in a folder where you may write",
                path.display()
            ))
        })?;
    }
    Ok(())
}

/// Writes everything that was asked for. Trouble with a file does not keep back the rest.
pub(super) fn out(analysis: &Analysis, arguments: &Arguments) -> Result<()> {
    let summary = analysis
        .summary()
        .ok_or_else(|| exit::usage(LineError::CutShort))?;
    let printed = output::print(&rendered(&summary, arguments.output.format, arguments)?);
    let files = files(analysis, &summary, arguments);
    printed.and(files)
}

fn files(analysis: &Analysis, summary: &Summary, arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.output.json {
        output::write_file(path, &rendered(summary, Format::Json, arguments)?)?;
    }
    let weigh = arguments.weigh();
    if let Some(path) = &arguments.folded {
        let mut text = String::new();
        for (chain, weight) in analysis.folded(weigh) {
            writeln!(text, "{chain} {weight}")?;
        }
        output::write_file(path, &text)?;
    }
    if let Some(path) = &arguments.flame {
        let subject = &summary.conditions.subject;
        let title = match weigh {
            faults::Weigh::Time => format!("Time in page faults: {subject}"),
            faults::Weigh::Faults => format!("Page faults: {subject}"),
        };
        output::write_file(path, &render_flame(&analysis.folded(weigh), &title, weigh))?;
    }
    Ok(())
}

fn rendered(summary: &Summary, format: Format, arguments: &Arguments) -> Result<String> {
    let style = output::style(&arguments.output);
    Ok(match format {
        Format::Text => to_text(&summary.document(), &style),
        Format::Csv => summary.csv(),
        Format::Markdown => to_markdown(&summary.document(), style.verbose),
        Format::Json => serde_json::to_string_pretty(summary)? + "\n",
    })
}
