//! What was done to a process, as text for people, Markdown and CSV. JSON is the struct itself.

use std::fmt::{self, Write};

use super::{Ended, Refused, Report, Stretch};
use crate::base::missing::Fact;
use crate::base::units::Unit;
use crate::observe::forecast;
use crate::run::compare::{Change, Comparison, Scale};
use crate::text::grid::{Cell, Grid};
use crate::text::number::{Scaler, percent_change, quantity};
use crate::text::wrap::{plain, wrapped};
use crate::text::{Style, Tone, Verbosity, csv_field};

/// Writes the report for a terminal. If it is verbose, every refused stretch is named.
///
/// # Errors
/// The writer failed.
pub fn render_text(report: &Report, style: &Style, out: &mut impl Write) -> fmt::Result {
    let width = style.width;
    for (indent, line) in told(report, style.verbose) {
        let lead = " ".repeat(indent);
        for line in wrapped(&line, width - indent, 2) {
            writeln!(out, "{lead}{line}")?;
        }
    }
    if let Some(forecast) = &report.forecast {
        writeln!(out)?;
        forecast::render_text(forecast, width, out)?;
    }
    let rows = measured_rows(report);
    if !rows.is_empty() {
        writeln!(out)?;
        let cells = |row: &Vec<String>| row.iter().map(|text| Cell::plain(text.as_str())).collect();
        let grid = Grid {
            rows: rows.iter().map(cells).collect(),
            ..Grid::default()
        };
        for line in grid.lines(usize::MAX, |text, _: Tone| text.to_owned()) {
            writeln!(out, "{line}")?;
        }
        for note in notes(report) {
            for line in wrapped(&note, width, 2) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(())
}

/// The report as sentences, each with its indent.
fn told(report: &Report, verbose: Verbosity) -> Vec<(usize, String)> {
    let mut lines = vec![
        (0, format!("{} ({})", plain(&report.command), report.pid)),
        (2, planned(report)),
    ];
    if report.ended != Ended::DryRun && report.planned_ranges > 0 {
        lines.push((2, made(report)));
        for one in &report.refused {
            lines.extend(refused(report, one, verbose));
        }
    }
    if report.gone_ranges > 0 {
        let gone = huge(report, report.gone_ranges);
        lines.push((2, format!("no longer mapped {gone}")));
    }
    if !matches!(report.ended, Ended::Finished | Ended::DryRun) {
        let left = huge(report, report.not_tried_ranges);
        lines.push((2, format!("{}; not tried: {left}", report.ended)));
    }
    lines.extend(report.left_out.iter().map(|left| {
        let ranges = huge(report, left.ranges);
        (
            2,
            format!("left as they are {ranges}: {}", left.why.words()),
        )
    }));
    if report.planned_ranges > 0 {
        lines.extend(memory(report).into_iter().map(|line| (2, line)));
    }
    if let Some(missing) = report
        .reasons_missing
        .as_ref()
        .filter(|_| !report.refused.is_empty())
    {
        let line = format!("the kernel's own reasons are not known: {missing}");
        lines.push((2, line));
    }
    lines
}

fn refused(report: &Report, one: &Refused, verbose: Verbosity) -> Vec<(usize, String)> {
    let what = format!(
        "refused {}: {} [{}], first at {:x}",
        huge(report, one.ranges),
        one.meaning,
        plain(&one.refusal.to_string()),
        one.first
    );
    let stretches = match verbose {
        Verbosity::Verbose => &one.stretches[..],
        Verbosity::Normal => &[],
    };
    let line = |one: &Stretch| {
        let ranges = (one.end - one.start) / report.huge_bytes.max(1);
        (
            4,
            format!("{:x}-{:x}  {}", one.start, one.end, huge(report, ranges)),
        )
    };
    std::iter::once((2, what))
        .chain(stretches.iter().map(line))
        .collect()
}

fn planned(report: &Report) -> String {
    if report.planned_ranges == 0 {
        return "nothing can be made huge".to_owned();
    }
    let verb = match report.ended {
        Ended::DryRun => "would make huge",
        _ => "to be made huge",
    };
    format!(
        "{verb} {}, which adds {} of resident memory",
        huge(report, report.planned_ranges),
        bytes(report.planned_bytes_added)
    )
}

fn made(report: &Report) -> String {
    let made = &report.made;
    let all = made.ranges + made.claimed_ranges;
    let proof = if made.claimed_ranges > 0 {
        ", as the kernel says: without a page scan it cannot be read again"
    } else {
        ", each read again and mapped by a PMD"
    };
    if all == 0 {
        return "nothing was made huge".to_owned();
    }
    let what = format!("made huge {}{proof}", huge(report, all));
    let took = quantity(&Unit::Seconds, report.call_seconds);
    format!("{what}; added {}; took {took}", bytes(made.bytes_added))
}

/// Memory of the whole process, before and after. How much of it is huge is told where the
/// ranges themselves could not be read again.
fn memory(report: &Report) -> Vec<String> {
    let told = |what: &str, before: &Fact<u64>, after: &Fact<u64>| {
        let (before, after) = (bytes(*before.as_ref().ok()?), bytes(*after.as_ref().ok()?));
        Some(format!(
            "{what} of the process {before} before, {after} after"
        ))
    };
    let resident = told(
        "resident memory",
        &report.resident_before_bytes,
        &report.resident_after_bytes,
    );
    let huge = told(
        "AnonHugePages",
        &report.huge_anon_before_bytes,
        &report.huge_anon_after_bytes,
    );
    let huge = huge.filter(|_| report.made.claimed_ranges > 0);
    resident.into_iter().chain(huge).collect()
}

/// `12 ranges (24 MiB)`.
fn huge(report: &Report, ranges: u64) -> String {
    let word = if ranges == 1 { "range" } else { "ranges" };
    let size = bytes(ranges.saturating_mul(report.huge_bytes));
    format!("{} {word} ({size})", quantity(&Unit::Count, ranges as f64))
}

fn bytes(bytes: u64) -> String {
    quantity(&Unit::Bytes, bytes as f64)
}

/// Heading and one row per metric; empty where nothing was measured.
fn measured_rows(report: &Report) -> Vec<Vec<String>> {
    let Some(measured) = &report.measured else {
        return Vec::new();
    };
    let heading = ["", "before", "after", "change", "95 % interval", ""];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(measured.comparisons.iter().map(measured_row));
    rows
}

fn measured_row(one: &Comparison) -> Vec<String> {
    let unit = unit_of(&one.metric);
    let values = [one.baseline_value, one.policy_value].map(|value| value.unwrap_or(0.0));
    let scaler = Scaler::for_row(&unit, &values);
    let effect = |value: Option<f64>| match (value, one.scale) {
        (None, _) => "~".to_owned(),
        (Some(value), Scale::Ratio) => format!("{} %", percent_change(value - 1.0)),
        (Some(value), Scale::Difference) => scaler.show_change(value),
    };
    let interval = match (one.low, one.high) {
        (Some(_), Some(_)) => format!("{} to {}", effect(one.low), effect(one.high)),
        _ => "too few windows".to_owned(),
    };
    vec![
        one.metric.clone(),
        scaler.show(values[0]),
        scaler.show(values[1]),
        effect(one.ratio.or(one.difference)),
        interval,
        word(one).to_owned(),
    ]
}

fn word(one: &Comparison) -> &'static str {
    match one.change {
        Change::Higher => "higher",
        Change::Lower => "lower",
        Change::NoDifference => "no difference",
        Change::CannotTell if !one.warnings.is_empty() => "not steady",
        Change::CannotTell => "cannot tell",
    }
}

/// The unit that ends a metric's name.
fn unit_of(metric: &str) -> Unit {
    match metric.rsplit('_').next() {
        Some("ratio") => Unit::Ratio,
        Some("bytes") => Unit::Bytes,
        _ => Unit::Count,
    }
}

/// What travels with the table.
fn notes(report: &Report) -> Vec<String> {
    let Some(measured) = &report.measured else {
        return Vec::new();
    };
    let mut notes = vec![format!(
        "{} windows of {} on each side. Nothing was shuffled: whatever else changed between \
         them is in the difference; to be sure, use hugewise run.",
        measured.windows,
        quantity(&Unit::Seconds, measured.window_seconds)
    )];
    if measured
        .comparisons
        .iter()
        .any(|one| !one.warnings.is_empty())
    {
        notes.push(
            "Not steady: before anything was done the first half of the windows differs from \
             the second, so a difference says nothing."
                .to_owned(),
        );
    }
    notes
}

/// Writes the report as Markdown.
///
/// # Errors
/// The writer failed.
pub fn render_markdown(report: &Report, verbose: Verbosity, out: &mut impl Write) -> fmt::Result {
    for (indent, line) in told(report, verbose) {
        let mark = if indent == 0 { "**" } else { "" };
        let lead = ["", "* ", "  * "][indent / 2];
        let line = line.replace('|', "\\|").replace('*', "\\*");
        writeln!(out, "{lead}{mark}{line}{mark}")?;
        if indent == 0 {
            writeln!(out)?;
        }
    }
    let rows = measured_rows(report);
    for (place, row) in rows.iter().enumerate() {
        if place == 0 {
            writeln!(out)?;
        }
        writeln!(out, "| {} |", row.join(" | "))?;
        if place == 0 {
            writeln!(out, "|{}", "---|".repeat(row.len()))?;
        }
    }
    for note in notes(report) {
        writeln!(out, "\n{note}")?;
    }
    if let Some(forecast) = &report.forecast {
        let mut text = String::new();
        forecast::render_text(forecast, 80, &mut text)?;
        write!(out, "\n```text\n{text}```\n")?;
    }
    Ok(())
}

/// Writes one line per outcome: what, why, how many ranges, how many bytes.
///
/// # Errors
/// The writer failed.
pub fn render_csv(report: &Report, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "outcome,reason,ranges,bytes")?;
    let made = &report.made;
    let mut rows = vec![
        ("planned", String::new(), report.planned_ranges),
        ("made", String::new(), made.ranges),
        ("claimed", String::new(), made.claimed_ranges),
    ];
    let refused = report.refused.iter();
    rows.extend(refused.map(|one| ("refused", one.refusal.to_string(), one.ranges)));
    rows.push(("gone", String::new(), report.gone_ranges));
    rows.push(("not_tried", String::new(), report.not_tried_ranges));
    let left_out = report.left_out.iter();
    rows.extend(left_out.map(|one| ("left_out", one.why.words().to_owned(), one.ranges)));
    for (outcome, reason, ranges) in rows {
        let size = ranges.saturating_mul(report.huge_bytes);
        writeln!(out, "{outcome},{},{ranges},{size}", csv_field(&reason))?;
    }
    Ok(())
}
