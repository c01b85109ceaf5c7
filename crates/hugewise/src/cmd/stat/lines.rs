//! The lines of a result in the requested format, printed as they come.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use hugewise_model::base::jsonl::to_line;
use hugewise_model::observe::stat::{
    Header, Interval, Line, Summary, render_counts, render_csv_header, render_csv_interval,
    render_heading, render_interval, render_markdown, render_summary,
};
use hugewise_model::run::trial::Outcome;
use hugewise_model::text::Verbosity;

use crate::output::{self, Format, Output};

/// Where lines go: stdout, and a file of JSON lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    header: &'a Header,
    output: &'a Output,
    width: usize,
    file: Option<File>,
    summary: Summary,
    /// Kept for forms that are drawn as a whole.
    intervals: Vec<Interval>,
}

impl<'a> Lines<'a> {
    /// Begins with what is observed.
    pub(super) fn begin(header: &'a Header, output: &'a Output) -> Result<Self> {
        let file = output.json.as_deref();
        let file = file.map(|path| output::create("--json", path));
        let mut lines = Self {
            header,
            output,
            width: output::style(output).width,
            file: file.transpose()?,
            summary: Summary::default(),
            intervals: Vec::new(),
        };
        lines.line(&Line::Header(Box::new(header.clone())))?;
        let mut text = String::new();
        match output.format {
            Format::Text => render_heading(header, lines.width, &mut text)?,
            Format::Csv => render_csv_header(&mut text)?,
            Format::Json | Format::Markdown => {}
        }
        output::print(&text)?;
        Ok(lines)
    }

    /// One more interval.
    pub(super) fn interval(&mut self, interval: Interval) -> Result<()> {
        self.summary.add(&interval);
        let mut text = String::new();
        match self.output.format {
            Format::Text => render_interval(self.header, &interval, &mut text)?,
            Format::Csv => render_csv_interval(self.header, &interval, &mut text)?,
            Format::Json => {}
            Format::Markdown => self.intervals.push(interval.clone()),
        }
        output::print(&text)?;
        self.line(&Line::Interval(interval))
    }

    /// What it came to.
    pub(super) fn finish(mut self, outcome: Option<Outcome>) -> Result<()> {
        let summary = std::mem::take(&mut self.summary);
        let summary = summary.finished(&self.header.hardware, outcome);
        let mut text = String::new();
        match self.output.format {
            Format::Text => {
                text.push('\n');
                render_summary(self.header, &summary, self.width, &mut text)?;
                if output::style(self.output).verbose == Verbosity::Verbose {
                    render_counts(self.header, &summary, &mut text)?;
                }
            }
            Format::Markdown => render_markdown(self.header, &self.intervals, &mut text)?,
            Format::Csv | Format::Json => {}
        }
        output::print(&text)?;
        self.line(&Line::Summary(summary))
    }

    /// A line of JSON, on stdout and in the file where they want it.
    fn line(&mut self, line: &Line) -> Result<()> {
        let text = to_line(line);
        if self.output.format == Format::Json {
            output::print(&text)?;
        }
        if let Some(file) = &mut self.file {
            file.write_all(text.as_bytes())
                .context("writing the file of --json")?;
        }
        Ok(())
    }
}
