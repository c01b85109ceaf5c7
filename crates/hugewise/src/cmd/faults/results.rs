//! The summary in the requested format, and the call chains as files.

use std::fmt::Write;

use anyhow::Result;
use hugewise_base::jsonl::LineError;
use hugewise_observe::faults;
use hugewise_observe::faults::{Analysis, FaultSummary, render_flame};

use super::Arguments;
use super::export::ProfileFile;
use crate::recording::PageLines;
use crate::{exit, output};

/// Opens the output files, so that an unwritable place is found before the program runs.
pub(super) fn check(arguments: &Arguments) -> Result<()> {
    output::check_file(&arguments.output)?;
    arguments.page.check()?;
    output::check_writable("--flame", arguments.flame.as_deref())?;
    output::check_writable("--folded", arguments.folded.as_deref())?;
    arguments.export.iter().try_for_each(ProfileFile::check)
}

/// Writes the summary and the call chains. An error in one file does not suppress the rest.
///
/// # Errors
/// A file cannot be written, or the kernel refused to trace.
pub(super) fn write(analysis: &Analysis, lines: &PageLines, arguments: &Arguments) -> Result<()> {
    let summary = analysis
        .summary()
        .ok_or_else(|| exit::usage(LineError::CutShort))?;
    let shown = output::show(
        &arguments.output,
        &summary,
        || summary.document(),
        || summary.csv(),
    );
    let chains = write_chains(analysis, &summary, arguments);
    let weigh = arguments.weigh();
    let page = || Ok(summary.page(&analysis.folded(weigh), weigh, lines.bytes()));
    let mut exports = arguments.export.iter();
    let exported = exports.try_for_each(|file| file.write(analysis, weigh));
    let page = arguments.page.write(page);
    shown.and(chains).and(exported).and(page)?;
    match summary.is_unwatched() {
        true => Err(exit::refused("the kernel let no page fault be watched")),
        false => Ok(()),
    }
}

fn write_chains(analysis: &Analysis, summary: &FaultSummary, arguments: &Arguments) -> Result<()> {
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
        output::write_file(path, render_flame(&analysis.folded(weigh), &title, weigh))?;
    }
    Ok(())
}
