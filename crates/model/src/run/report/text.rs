//! For a terminal: the answer first, one screen.

use std::fmt::{self, Write};

use super::Report;
use super::advice::{self, Advice};
use super::answer::is_said;
use super::blocks::{blocks, legend};
use super::notes::{self, Notes};
use super::section::sections;
use crate::run::findings::{Finding, Outcome};
use crate::text::Color;
use crate::text::Style;
use crate::text::Tone;
use crate::text::Verbosity;
use crate::text::wrap::plain;
use crate::text::wrap::wrapped;

/// Where the text of a finding begins.
const INDENT: usize = 13;

/// Draws a report for a terminal.
///
/// # Errors
/// Only those of `out`.
pub fn render_text(report: &Report<'_>, style: &Style, out: &mut impl Write) -> fmt::Result {
    let mut pen = Pen {
        style: Style {
            width: style.width.max(40),
            ..*style
        },
        out,
    };
    for answer in report.answers() {
        pen.paragraph(&answer, 0, Tone::Strong)?;
    }
    for line in advice::advice(report) {
        pen.advice(&line)?;
    }
    let footnotes = Notes::default();
    tables(report, &footnotes, &mut pen)?;
    findings(report, &mut pen)?;
    pen.blank()?;
    for doubt in notes::doubts(report) {
        pen.paragraph(&doubt, 4, Tone::Plain)?;
    }
    for note in footnotes.lines() {
        pen.paragraph(&note, 2, Tone::Plain)?;
    }
    for line in notes::circumstances(report) {
        pen.paragraph(&line, 4, Tone::Plain)?;
    }
    if let Some(path) = &report.record_path {
        pen.paragraph(&format!("Record: {}", plain(path)), 4, Tone::Plain)?;
    }
    Ok(())
}

/// Writes lines in a style.
struct Pen<'a, W> {
    style: Style,
    out: &'a mut W,
}

impl<W: Write> Pen<'_, W> {
    fn paragraph(&mut self, text: &str, indent: usize, tone: Tone) -> fmt::Result {
        for line in wrapped(text, self.style.width, indent) {
            writeln!(self.out, "{}", paint(&line, tone, self.style.color))?;
        }
        Ok(())
    }

    /// A command that is too long for the line stays whole on a line of its own, so that it
    /// can be copied.
    fn advice(&mut self, line: &Advice) -> fmt::Result {
        let Advice::Command { lead, command } = line else {
            return self.paragraph(&line.to_string(), 4, Tone::Plain);
        };
        let length = lead.chars().count() + 1 + command.chars().count();
        let gap = if length > self.style.width {
            "\n    "
        } else {
            " "
        };
        writeln!(self.out, "{lead}{gap}{command}")
    }

    fn blank(&mut self) -> fmt::Result {
        writeln!(self.out)
    }
}

fn paint(text: &str, tone: Tone, color: Color) -> String {
    let code = match (color, tone) {
        (Color::Never, _) | (_, Tone::Plain) => return text.to_owned(),
        (_, Tone::Strong) => "1",
        (_, Tone::Good) => "32",
        (_, Tone::Bad) => "31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

fn tables<W: Write>(report: &Report<'_>, notes: &Notes, pen: &mut Pen<'_, W>) -> fmt::Result {
    let mut drawn = Vec::new();
    for section in sections(report) {
        for block in blocks(report, &section, &pen.style, notes) {
            pen.blank()?;
            if let Some(title) = &section.title {
                pen.paragraph(title, 4, Tone::Plain)?;
            }
            for line in block.lines(usize::MAX, |text, tone| paint(text, tone, pen.style.color)) {
                writeln!(pen.out, "{line}")?;
            }
            drawn.push(block);
        }
        let legend = legend(&section).into_iter();
        for line in legend.chain(report.cell_legend(&section)) {
            pen.paragraph(&line, 4, Tone::Plain)?;
        }
    }
    drawings(report, pen)?;
    for line in notes::signs(report, &drawn, notes) {
        pen.paragraph(&line, 2, Tone::Plain)?;
    }
    Ok(())
}

/// Curves, of a bench that has some.
fn drawings<W: Write>(report: &Report<'_>, pen: &mut Pen<'_, W>) -> fmt::Result {
    for drawing in report.drawings(pen.style.width) {
        pen.blank()?;
        for line in drawing {
            writeln!(pen.out, "{line}")?;
        }
    }
    Ok(())
}

fn findings<W: Write>(report: &Report<'_>, pen: &mut Pen<'_, W>) -> fmt::Result {
    let verbose = pen.style.verbose == Verbosity::Verbose;
    let said: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|f| verbose || (f.outcome != Outcome::NotShown && !is_said(f)))
        .collect();
    if !said.is_empty() {
        pen.blank()?;
    }
    for (index, finding) in said.iter().enumerate() {
        let head = heading(finding.outcome);
        let text = format!("{}: {}", finding.id, plain(&finding.text));
        // The heading keeps its column: it is put in place after the text has been wrapped.
        let room = pen.style.width - INDENT;
        for (index, line) in wrapped(&text, room, 0).iter().enumerate() {
            let head = if index == 0 { head } else { "" };
            writeln!(pen.out, "{head:INDENT$}{line}")?;
        }
        let again = said
            .get(index + 1)
            .is_some_and(|next| next.id == finding.id);
        if verbose && !again {
            explanation(finding, pen)?;
        }
    }
    Ok(())
}

/// What a rule rests on and what would refute it.
fn explanation<W: Write>(finding: &Finding, pen: &mut Pen<'_, W>) -> fmt::Result {
    let text = finding.explanation;
    for line in wrapped(text, pen.style.width - INDENT, 0) {
        writeln!(pen.out, "{:INDENT$}{line}", "")?;
    }
    Ok(())
}

/// The word for an outcome.
pub(super) fn heading(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Shown => "Shown",
        Outcome::NotShown => "Not shown",
        Outcome::CannotTell => "Cannot tell",
    }
}
