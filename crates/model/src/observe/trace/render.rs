//! What was traced as text for people, Markdown and CSV. JSON is the struct itself.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Kind, Latencies, Losses, Seen, Trace, Traced, Window};
use crate::base::histogram::Row;
use crate::base::units::Unit;
use crate::text::csv_field;
use crate::text::number::quantity;

/// Width of a terminal that everybody has.
const WIDTH: usize = 80;

/// Length of the longest bar.
const BAR: u64 = 50;

/// Below this median a histogram is drawn in nanoseconds.
const FINE_BELOW_NS: u64 = 1_000;

/// Writes the whole: the total, by which means it was seen, and what could not be.
///
/// # Errors
/// The writer failed.
pub fn render_text(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    if trace.interval_seconds.is_some() {
        writeln!(out, "Total")?;
    }
    write_seen(&trace.points, &trace.total, out)?;
    write_means(trace, out)?;
    if !trace.missing.is_empty() {
        writeln!(out, "\nNot traced")?;
    }
    for missing in &trace.missing {
        write_wrapped(out, "  ", &format!("{}: {}", missing.title, missing.why))?;
    }
    Ok(())
}

/// Writes one interval.
///
/// # Errors
/// The writer failed.
pub fn render_window(points: &[Traced], window: &Window, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:.1}–{:.1} s", window.from_seconds, window.to_seconds)?;
    write_seen(points, window, out)
}

fn write_seen(points: &[Traced], window: &Window, out: &mut impl Write) -> io::Result<()> {
    let mut silent = Vec::new();
    for (point, seen) in points.iter().zip(&window.points) {
        if seen.all.count == 0 {
            silent.push(point.title.as_str());
            write_losses(seen.losses, out)?;
            continue;
        }
        write_point(point, seen, window.to_seconds - window.from_seconds, out)?;
    }
    if !silent.is_empty() {
        write_wrapped(out, "", &format!("none of: {}", silent.join(", ")))?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_point(point: &Traced, seen: &Seen, seconds: f64, out: &mut impl Write) -> io::Result<()> {
    let count = quantity(&Unit::Count, seen.all.count as f64);
    match point.kind {
        Kind::Events => writeln!(out, "{}: {count} in {seconds:.1} s", point.title)?,
        Kind::Durations => {
            let total = time(Some(seen.all.total_ns));
            writeln!(
                out,
                "{}: {count} in {seconds:.1} s, {total} in all",
                point.title
            )?;
            writeln!(out, "{}", summary(&seen.all))?;
            write_rows(&seen.all, out)?;
        }
    }
    write_parts(point, seen, out)?;
    write_losses(seen.losses, out)?;
    writeln!(out)
}

/// Six numbers, as the classic scripts print them, and the percentiles that those lack.
fn summary(all: &Latencies) -> String {
    let mut line = String::new();
    let numbers = [
        ("min", all.min_ns),
        ("avg", all.mean_ns.map(|ns| ns as u64)),
        ("p50", all.p50_ns),
        ("p90", all.p90_ns),
        ("p99", all.p99_ns),
        ("p99.9", all.p99_9_ns),
        ("max", all.max_ns),
    ];
    for (name, ns) in numbers {
        // Writing to a String cannot fail.
        let _ = write!(line, " {name}:{}", time(ns).replace(' ', ""));
    }
    line
}

/// A duration with the unit that suits it.
fn time(ns: Option<u64>) -> String {
    ns.map_or_else(
        || "~".to_owned(),
        |ns| quantity(&Unit::Seconds, ns as f64 / 1e9),
    )
}

fn write_rows(all: &Latencies, out: &mut impl Write) -> io::Result<()> {
    let (unit, rows) = if all.p50_ns.is_some_and(|median| median < FINE_BELOW_NS) {
        ("ns", &all.log2_ns)
    } else {
        ("us", &all.log2_us)
    };
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0).max(1);
    writeln!(out, "value {unit:>2} |{} count", "-".repeat(BAR as usize))?;
    for row in rows {
        writeln!(out, "{}", bar(*row, most))?;
    }
    Ok(())
}

/// A row that is not empty has a mark, however short its bar would be.
fn bar(row: Row, most: u64) -> String {
    let length = (u128::from(row.count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize;
    let marks = "@".repeat(length);
    format!("{:>8} |{marks:<50} {:>6}", row.from, row.count)
}

fn write_parts(point: &Traced, seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let Some(head) = point.parts_by.as_deref().filter(|_| !seen.parts.is_empty()) else {
        return Ok(());
    };
    match point.kind {
        Kind::Events => {
            for part in &seen.parts {
                writeln!(out, "  {:<32} {:>10}", part.key, part.latencies.count)?;
            }
        }
        Kind::Durations => {
            writeln!(
                out,
                "  {head:<26} {:>8} {:>9} {:>9} {:>9} {:>9}",
                "count", "avg", "p50", "p99", "max"
            )?;
            for part in &seen.parts {
                let one = &part.latencies;
                writeln!(
                    out,
                    "  {:<26} {:>8} {:>9} {:>9} {:>9} {:>9}",
                    part.key,
                    one.count,
                    time(one.mean_ns.map(|ns| ns as u64)),
                    time(one.p50_ns),
                    time(one.p99_ns),
                    time(one.max_ns),
                )?;
            }
        }
    }
    Ok(())
}

/// What was not counted is said beside what was.
fn write_losses(losses: Losses, out: &mut impl Write) -> io::Result<()> {
    let said = [
        (losses.no_room, "not timed: too many threads were inside"),
        (
            losses.reentered,
            "begun anew by a thread that was inside; only the last was timed",
        ),
        (losses.missed, "runs of our programs left out by the kernel"),
    ];
    for (count, what) in said.into_iter().filter(|(count, _)| *count > 0) {
        write_wrapped(out, "  ", &format!("{count} {what}"))?;
    }
    Ok(())
}

fn write_means(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    if trace.points.is_empty() {
        return Ok(());
    }
    writeln!(out, "Seen by")?;
    for point in &trace.points {
        write_wrapped(
            out,
            "  ",
            &format!(
                "{}: {} {}: {}",
                point.title,
                point.rung.name(),
                point.places.join(" → "),
                point.includes
            ),
        )?;
        for note in &point.notes {
            write_wrapped(out, "    ", note)?;
        }
    }
    writeln!(
        out,
        "Percentiles are upper edges of buckets, at most 12.5 % too long; min, avg\n\
         and max are exact."
    )
}

/// Writes text within 80 columns; every line but the first is two columns further in.
fn write_wrapped(out: &mut impl Write, indent: &str, text: &str) -> io::Result<()> {
    let mut line = indent.to_owned();
    let mut words = 0;
    for word in text.split_whitespace() {
        if words > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = format!("{indent}  ");
            words = 0;
        }
        if words > 0 {
            line.push(' ');
        }
        line.push_str(word);
        words += 1;
    }
    writeln!(out, "{line}")
}

/// The head of the CSV.
#[must_use]
pub fn csv_head() -> &'static str {
    "window,from_seconds,to_seconds,point,rung,part,count,total_ns,min_ns,mean_ns,p50_ns,p90_ns,\
     p99_ns,p99_9_ns,max_ns\n"
}

/// Writes the rows of one window: one for each point, and one for each of its parts.
///
/// # Errors
/// The writer failed.
pub fn render_csv(
    points: &[Traced],
    window: &Window,
    name: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    for (point, seen) in points.iter().zip(&window.points) {
        let mut row = |part: &str, one: &Latencies| {
            writeln!(
                out,
                "{name},{},{},{},{},{},{}",
                window.from_seconds,
                window.to_seconds,
                csv_field(&point.name),
                point.rung.name(),
                csv_field(part),
                csv_numbers(one)
            )
        };
        row("", &seen.all)?;
        for part in &seen.parts {
            row(&part.key, &part.latencies)?;
        }
    }
    Ok(())
}

/// Counts and nanoseconds; nothing between the commas where there is no number.
fn csv_numbers(one: &Latencies) -> String {
    let whole = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let numbers = [
        Some(one.count as f64),
        Some(one.total_ns as f64),
        whole(one.min_ns),
        one.mean_ns,
        whole(one.p50_ns),
        whole(one.p90_ns),
        whole(one.p99_ns),
        whole(one.p99_9_ns),
        whole(one.max_ns),
    ];
    numbers
        .map(|number| number.map_or_else(String::new, |number| number.to_string()))
        .join(",")
}

/// Writes the total as a table for a pull request.
///
/// # Errors
/// The writer failed.
pub fn render_markdown(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| point | seen by | count | total | avg | p50 | p99 | max |\n\
         |---|---|--:|--:|--:|--:|--:|--:|"
    )?;
    for (point, seen) in trace.points.iter().zip(&trace.total.points) {
        let all = &seen.all;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            point.title,
            point.rung.name(),
            all.count,
            time((point.kind == Kind::Durations).then_some(all.total_ns)),
            time(all.mean_ns.map(|ns| ns as u64)),
            time(all.p50_ns),
            time(all.p99_ns),
            time(all.max_ns),
        )?;
    }
    for missing in &trace.missing {
        writeln!(out, "\nNot traced: {}: {}", missing.title, missing.why)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
