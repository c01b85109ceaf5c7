//! The summary as text for people, Markdown and CSV. JSON is the struct itself.

use std::io::{self, Write};

use super::sentences::{count, duration, share};
use super::shape::Shape;
use super::summary::{Row, Summary};
use crate::run::trial::Outcome;
use crate::text::wrap::{plain, wrapped};
use crate::text::{Style, Verbosity};
use footnotes::footnotes;
use tables::tables;

mod csv;
mod footnotes;
mod markdown;
mod tables;

pub use csv::render_csv;
pub use markdown::render_markdown;

/// Writes the summary for a terminal.
///
/// # Errors
/// The writer failed.
pub fn render_text(summary: &Summary, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let paragraph = |out: &mut dyn Write, text: &str, indent| -> io::Result<()> {
        wrapped(&plain(text), style.width, indent)
            .iter()
            .try_for_each(|line| writeln!(out, "{line}"))
    };
    paragraph(out, &headline(summary), 0)?;
    for remark in &summary.books.remarks {
        paragraph(out, remark, 2)?;
    }
    if summary.total.faults == 0 {
        return Ok(());
    }
    for (heading, grid) in tables(summary, style) {
        writeln!(out, "\n{heading}")?;
        write!(out, "{grid}")?;
    }
    histograms(summary, style, out)?;
    let all = style.verbose == Verbosity::Verbose;
    for shape in summary
        .shapes
        .iter()
        .filter(|shape| all || matters(shape, summary))
    {
        writeln!(out)?;
        let text = format!("{}: {}", shape.title(), shape.sentence(&summary.conditions));
        paragraph(out, &text, 2)?;
    }
    writeln!(out)?;
    footnotes(summary)
        .iter()
        .try_for_each(|note| paragraph(out, note, 2))
}

/// The answer in one or two sentences.
fn headline(summary: &Summary) -> String {
    let ended = match &summary.closing.outcome {
        None | Some(Outcome::Exited { code: 0 }) => String::new(),
        Some(outcome) => format!(" The command ended badly: {outcome}."),
    };
    let wall = duration(summary.closing.wall_ns);
    if summary.books.counted == 0 {
        return format!("No page faults in {wall}.{ended}");
    }
    let time = if summary.total.timed == 0 {
        String::new()
    } else {
        format!(
            "; {} in faults, {} of the time{}",
            duration(summary.total.time_ns),
            share(summary.total.time_ns, summary.closing.wall_ns),
            if summary.threads > 1 {
                format!(" (of {} threads together)", summary.threads)
            } else {
                String::new()
            }
        )
    };
    let faults = count(summary.books.counted);
    format!("{faults} page faults in {wall}{time}.{ended}")
}

/// Latencies by powers of two: of all, and of each kind where everything is wanted.
fn histograms(summary: &Summary, style: &Style, out: &mut impl Write) -> io::Result<()> {
    if summary.total.timed == 0 {
        return Ok(());
    }
    histogram("all faults", &summary.total, style, out)?;
    if style.verbose == Verbosity::Verbose && summary.kinds.len() > 1 {
        for kind in summary.kinds.iter().filter(|kind| kind.row.timed > 0) {
            histogram(&kind.label, &kind.row, style, out)?;
        }
    }
    Ok(())
}

fn histogram(label: &str, row: &Row, style: &Style, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nHow long they took: {label}")?;
    let most = row.histogram.iter().map(|bar| bar.count).max().unwrap_or(1);
    let room = style.width.saturating_sub(34).max(10);
    for bar in &row.histogram {
        let length = usize::try_from(bar.count.saturating_mul(room as u64).div_ceil(most.max(1)));
        let range = format!("{} to {}", duration(bar.from_ns), duration(bar.from_ns * 2));
        let drawn = "#".repeat(length.unwrap_or(room).min(room));
        let line = format!("{range:>20} {:>11}  {drawn}", count(bar.count));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Whether a shape is one in a hundred of the faults or of their time: every program has a few
/// double faults in its loader.
fn matters(shape: &Shape, summary: &Summary) -> bool {
    let (faults, time_ns) = shape.weight();
    faults * 100 >= summary.total.faults || time_ns * 100 >= summary.total.time_ns.max(1)
}
