//! Prints the lines of a result in the requested format as they arrive.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use hugewise_base::jsonl::to_line;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::stat::{
    Header, Interval, Line, StatSummary, csv_heading, csv_rows, live_heading, live_line,
};
use hugewise_text::{Style, to_markdown, to_text};

use super::Arguments;
use crate::options::PageFile;
use crate::output::{self, Format, Output};
use crate::recording::PageLines;

/// The destinations of lines: stdout, and a file of JSON lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    header: &'a Header,
    output: &'a Output,
    page: &'a PageFile,
    style: Style,
    file: Option<File>,
    summary: StatSummary,
    /// All intervals, for formats that are rendered as a whole.
    intervals: Vec<Interval>,
    for_page: PageLines,
}

impl<'a> Lines<'a> {
    /// Starts with the observed target.
    pub(super) fn begin(header: &'a Header, arguments: &'a Arguments) -> Result<Self> {
        let (output, page) = (&arguments.output, &arguments.page);
        let file = output.json.as_deref();
        let file = file.map(|path| output::create("--json", path));
        let mut lines = Self {
            header,
            output,
            page,
            style: output::style(output),
            file: file.transpose()?,
            summary: StatSummary::default(),
            intervals: Vec::new(),
            for_page: PageLines::of(page),
        };
        lines.line(&Line::Header(Box::new(header.clone())))?;
        output::print(&match output.format {
            Format::Text => to_text(&header.document(), &lines.style) + &live_heading(header),
            Format::Csv => csv_heading(),
            Format::Json | Format::Markdown => String::new(),
        })?;
        Ok(lines)
    }

    /// Prints one more interval.
    pub(super) fn interval(&mut self, interval: Interval) -> Result<()> {
        self.summary.add(&interval);
        output::print(&match self.output.format {
            Format::Text => live_line(self.header, &interval),
            Format::Csv => csv_rows(self.header, &interval),
            Format::Json | Format::Markdown => String::new(),
        })?;
        if self.output.format == Format::Markdown || self.page.html.is_some() {
            self.intervals.push(interval.clone());
        }
        self.line(&Line::Interval(interval))
    }

    /// Notes the processor time that the command used, and the processes that it left running.
    pub(super) fn ended(&mut self, cpu_ns: u64, outlived: u32) {
        self.summary = std::mem::take(&mut self.summary).of_command(cpu_ns, outlived);
    }

    /// Finishes with the summary.
    pub(super) fn finish(mut self, outcome: Option<Outcome>) -> Result<()> {
        let summary = std::mem::take(&mut self.summary);
        let summary = summary.finished(&self.header.hardware, outcome);
        output::print(&match self.output.format {
            Format::Text => format!("\n{}", to_text(&summary.document(self.header), &self.style)),
            Format::Markdown => {
                let document = summary.document_with(self.header, &self.intervals);
                to_markdown(&document, self.style.verbose)
            }
            Format::Csv | Format::Json => String::new(),
        })?;
        self.line(&Line::Summary(summary.clone()))?;
        let page = || Ok(summary.page(self.header, &self.intervals, self.for_page.bytes()));
        self.page.write(page)
    }

    /// Writes a line of JSON, to stdout and to the file if they need it.
    fn line(&mut self, line: &Line) -> Result<()> {
        let text = to_line(line);
        self.for_page.push(text.as_bytes());
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
