//! The summary as text for people, Markdown and CSV. JSON is the struct itself.

use std::fmt::{self, Write};

use super::event::Closing;
use super::summary::{Conclusion, Row, Summary};
use crate::base::units::Unit;
use crate::observe::faults::{Known, Modes};
use crate::run::stats::Share;
use crate::run::trial::Outcome;
use crate::text::grid::{Cell, Grid};
use crate::text::number::{percent, quantity, whole};
use crate::text::wrap::{plain, shortened, wrapped};
use crate::text::{Style, Verbosity, csv_field};

/// Rows of a list that are shown unless everything is wanted.
const SHOWN: usize = 8;

/// The columns of the CSV.
pub(super) const CSV_HEADING: &str =
    "table,name,misses,share,share_low,share_high,huge,could,conclusion,missing";

/// Writes the summary for a terminal.
///
/// # Errors
/// Only those of `out`.
pub fn render_text(summary: &Summary, style: &Style, out: &mut impl Write) -> fmt::Result {
    for text in heading(summary) {
        paragraph(&text, style.width, out)?;
    }
    for (title, rows) in tables(summary)
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
    {
        writeln!(out)?;
        write!(out, "{}", grid(title, rows, summary, style))?;
    }
    writeln!(out)?;
    for text in notes(summary) {
        paragraph(&text, style.width, out)?;
    }
    Ok(())
}

fn paragraph(text: &str, width: usize, out: &mut impl Write) -> fmt::Result {
    for line in wrapped(&plain(text), width, 2) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn tables(summary: &Summary) -> [(&'static str, &[Row]); 4] {
    [
        ("How their memory stands", &summary.standings),
        ("In which mappings", &summary.mappings),
        ("In pages of which size", &summary.pages),
        ("By which code", &summary.functions),
    ]
}

fn heading(summary: &Summary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut said = vec![format!(
        "Where the misses come from: {}",
        shortened(&plain(&conditions.subject), 50)
    )];
    let samples = summary.closing.samples;
    let wall = quantity(&Unit::Seconds, summary.closing.wall_ns as f64 * 1e-9);
    said.push(format!(
        "{} misses of every TLB in {} samples by {} in {wall}: one in {} of {}, {}.",
        count(summary.misses),
        count(samples),
        conditions.means.title(),
        conditions.every,
        conditions.sampled,
        match conditions.modes {
            Modes::All => "user and kernel mode",
            Modes::User => "user mode only",
        }
    ));
    if let Some(outcome) = &summary.closing.outcome
        && *outcome != (Outcome::Exited { code: 0 })
    {
        said.push(format!("The command ended badly: {outcome}."));
    }
    said.push(conclusion(summary));
    said
}

/// The answer.
fn conclusion(summary: &Summary) -> String {
    let could = summary.could;
    match summary.conclusion {
        Conclusion::NoMisses => {
            "No sample was a miss: there is nothing to say of where.".to_owned()
        }
        Conclusion::Are => format!(
            "The misses are in the memory that could be huge: {}.",
            of_them(could)
        ),
        Conclusion::AreNot => format!(
            "The misses are not in the memory that could be huge: it has {}.{}",
            of_them(could),
            elsewhere(summary)
        ),
        Conclusion::Partly => format!(
            "A part of the misses is in the memory that could be huge: {}.{}",
            of_them(could),
            elsewhere(summary)
        ),
        Conclusion::CannotTell => format!(
            "Cannot tell whether the misses are in the memory that could be huge: {} to {} % are; \
             more samples, or page sizes where they are not known, would tell.",
            percent(could.low),
            percent(could.high)
        ),
    }
}

fn of_them(share: Share) -> String {
    format!(
        "{} % of them ({} to {} %)",
        percent(share.share),
        percent(share.low),
        percent(share.high)
    )
}

/// Where most of the others are.
fn elsewhere(summary: &Summary) -> String {
    let others = summary.standings.iter().filter(|row| row.name != "could");
    others
        .max_by_key(|row| row.misses)
        .map_or_else(String::new, |row| {
            format!(" {} % is {}.", percent(row.share.share), row.label)
        })
}

fn grid(title: &str, rows: &[Row], summary: &Summary, style: &Style) -> Grid {
    let with_huge = rows.iter().any(|row| row.huge.is_some());
    let mut names = vec![title, "misses", "share", "95 %"];
    if with_huge {
        names.extend(["huge", "could be"]);
    }
    let limit = match style.verbose {
        Verbosity::Verbose => usize::MAX,
        Verbosity::Normal => SHOWN,
    };
    let wide = style
        .width
        .saturating_sub(if with_huge { 54 } else { 36 })
        .max(24);
    let heading = names.into_iter().map(Cell::plain).collect();
    let shown = rows.iter().take(limit).map(|row| line(row, wide));
    let mut lines: Vec<Vec<Cell>> = [heading].into_iter().chain(shown).collect();
    let left: u64 = rows.iter().skip(limit).map(|row| row.misses).sum();
    if left > 0 {
        let rest = Row {
            label: format!("{} more (-v)", rows.len() - limit),
            misses: left,
            share: crate::run::stats::wilson(left, summary.misses),
            ..rows[limit].clone()
        };
        lines.push(line(&rest, wide)[..4].to_vec());
    }
    Grid {
        rows: lines,
        ..Grid::default()
    }
}

fn line(row: &Row, wide: usize) -> Vec<Cell> {
    let part =
        |part: Option<u64>| part.map(|part| crate::run::stats::wilson(part, row.misses).share);
    let mut cells = vec![
        shortened(&plain(&row.label), wide),
        count(row.misses),
        format!("{} %", percent(row.share.share)),
        format!(
            "{} to {} %",
            percent(row.share.low),
            percent(row.share.high)
        ),
    ];
    let parts = [part(row.huge), part(row.could)].into_iter().flatten();
    cells.extend(parts.map(|share| format!("{} %", percent(share))));
    cells.into_iter().map(Cell::plain).collect()
}

fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = vec![
        "Shares are of sampled misses. The intervals are for samples that know nothing of each \
         other: misses that come in bursts make them too narrow."
            .to_owned(),
    ];
    if let Some(refill) = summary.refill {
        notes.push(format!(
            "A translation took up to {} cycles in half of the misses, up to {} in nine of ten.",
            refill.p50_cycles, refill.p90_cycles
        ));
    }
    if let Known::No(missing) = &summary.conditions.page_size {
        notes.push(format!("Sizes of pages are not known: {missing}."));
    }
    notes.extend(not_in_tables(&summary.closing));
    notes
}

/// Samples of which no table knows.
fn not_in_tables(closing: &Closing) -> Vec<String> {
    let mut notes = Vec::new();
    if closing.without_address > 0 {
        notes.push(format!(
            "Misses that came without an address, and are in no table: {}.",
            count(closing.without_address)
        ));
    }
    match closing.lost {
        Some(0) => {}
        Some(lost) => notes.push(format!(
            "Samples that found no room, and are lost: {}.",
            count(lost)
        )),
        None => notes.push("Whether samples were lost is not known on this kernel.".to_owned()),
    }
    if closing.malformed > 0 {
        notes.push(format!(
            "Records that were not understood: {}.",
            count(closing.malformed)
        ));
    }
    notes
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn count(number: u64) -> String {
    whole(number as f64)
}

/// Writes it as CSV (RFC 4180): one row for each row of each table, and one for the conclusion.
///
/// # Errors
/// Only those of `out`.
pub fn render_csv(summary: &Summary, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "{CSV_HEADING}")?;
    let Share { share, low, high } = summary.could;
    let word = serde_json::to_value(summary.conclusion).map_err(|_| fmt::Error)?;
    let word = word.as_str().unwrap_or_default();
    writeln!(
        out,
        "misses,,{},{share},{low},{high},,,{word},",
        summary.misses
    )?;
    let names = ["standing", "mapping", "page_bytes", "function"];
    for (name, (_, rows)) in names.into_iter().zip(tables(summary)) {
        for row in rows {
            let Share { share, low, high } = row.share;
            let part = |part: Option<u64>| part.map_or_else(String::new, |part| part.to_string());
            writeln!(
                out,
                "{name},{},{},{share},{low},{high},{},{},,",
                csv_field(&row.name),
                row.misses,
                part(row.huge),
                part(row.could)
            )?;
        }
    }
    Ok(())
}

/// Writes it as tables for a pull request.
///
/// # Errors
/// Only those of `out`.
pub fn render_markdown(summary: &Summary, style: &Style, out: &mut impl Write) -> fmt::Result {
    for text in heading(summary) {
        writeln!(out, "{}  ", plain(&text).replace('|', "\\|"))?;
    }
    for (title, rows) in tables(summary)
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
    {
        writeln!(out)?;
        for (index, line) in grid(title, rows, summary, style).rows.iter().enumerate() {
            let cells: Vec<String> = line.iter().map(|c| c.text.replace('|', "\\|")).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
            if index == 0 {
                writeln!(out, "|---|{}", "--:|".repeat(line.len() - 1))?;
            }
        }
    }
    writeln!(out)?;
    notes(summary)
        .iter()
        .try_for_each(|note| writeln!(out, "{note}  "))
}
