//! A simulation as text, CSV, JSON and Markdown.

use std::fmt::{self, Write};

use super::outcome::{Cut, References, Simulation, Streams, Tally};
use crate::base::units::Unit;
use crate::base::units::bytes_text;
use crate::text::csv_field;
use crate::text::number::{Scaler, three_digits};
use crate::text::wrap::{plain, shortened, wrapped};

/// One line of the table: a name, and how it is read off a tally.
struct Row {
    name: &'static str,
    text: &'static str,
    value: fn(&Tally) -> u64,
}

const ROWS: [Row; 3] = [
    Row {
        name: "first_level_misses",
        text: "not in first level",
        value: |tally| tally.first_level_misses,
    },
    Row {
        name: "walks",
        text: "walks (in neither)",
        value: |tally| tally.walks,
    },
    Row {
        name: "walk_references",
        text: "table entries read",
        value: |tally| tally.walk_references.most,
    },
];

/// The two streams with their names.
fn streams(both: &Streams) -> [(&'static str, &Tally); 2] {
    [("data", &both.data), ("code", &both.code)]
}

/// As text of at most `width` columns.
///
/// # Errors
/// Only those of `out`.
pub fn render_text(simulation: &Simulation, width: usize, out: &mut impl Write) -> fmt::Result {
    for text in heading(simulation) {
        for line in wrapped(&text, width, 4) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out)?;
    table(simulation, out)?;
    mappings(simulation, out)?;
    writeln!(out)?;
    for text in notes(simulation) {
        for line in wrapped(&text, width, 2) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn heading(simulation: &Simulation) -> Vec<String> {
    let command = shortened(&plain(&simulation.command.join(" ")), 60);
    let seen = &simulation.accesses;
    let mut said = vec![
        format!("Simulated, not measured: {command}"),
        format!("TLB by {}.", plain(&simulation.processor.tlb.source)),
        format!(
            "{} loads, {} stores, {} instruction fetches, from {}.",
            count(seen.loads),
            count(seen.stores),
            count(seen.fetches),
            plain(&simulation.tracer.name)
        ),
    ];
    match simulation.cut {
        Cut::Whole => {}
        Cut::AtMost => said.push(format!(
            "Cut: the command was ended after {} accesses (--max-accesses).",
            count(seen.total())
        )),
        Cut::Interrupted => said.push("Cut: a signal ended it.".to_owned()),
    }
    if let Some(outcome) = &simulation.outcome {
        said.push(format!("The command ended with {outcome}."));
    }
    said
}

fn count(number: u64) -> String {
    let number = number as f64;
    Scaler::for_row(&Unit::Count, &[number]).show(number)
}

const NAME_WIDTH: usize = 25;
const CELL_WIDTH: usize = 12;

fn table(simulation: &Simulation, out: &mut impl Write) -> fmt::Result {
    write!(out, "{:<NAME_WIDTH$}", "per 1000 accesses")?;
    for column in &simulation.columns {
        let mark = if column.native { "" } else { "*" };
        let size = format!("{}{mark}", bytes_text(column.page_bytes));
        write!(out, "{size:>CELL_WIDTH$}")?;
    }
    writeln!(out)?;
    for stream in 0..2 {
        let Some(first) = simulation.columns.first() else {
            return Ok(());
        };
        let (name, _) = streams(&first.streams)[stream];
        for row in &ROWS {
            let label = format!("{name}: {}", row.text);
            write!(out, "{label:<NAME_WIDTH$}")?;
            for column in &simulation.columns {
                let (_, tally) = streams(&column.streams)[stream];
                write!(out, "{:>CELL_WIDTH$}", cell(row, tally))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Mappings that are shown; the others are one line.
const SHOWN: usize = 8;

/// Whose walks they are: with small pages as shares, and what is left of them with larger ones.
fn mappings(simulation: &Simulation, out: &mut impl Write) -> fmt::Result {
    let rows = mapping_rows(simulation);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nwalks for 1000 accesses, by mapping")?;
    rows.iter().try_for_each(|(name, cells)| {
        // Of a file its own name: there is no room for folders.
        let short = name.rsplit('/').next().unwrap_or(name);
        let name = shortened(&plain(short), NAME_WIDTH - 1);
        write!(out, "{name:<NAME_WIDTH$}")?;
        cells
            .iter()
            .try_for_each(|cell| write!(out, "{cell:>CELL_WIDTH$}"))?;
        writeln!(out)
    })
}

/// Names with a figure for each page size, data and code together.
fn mapping_rows(simulation: &Simulation) -> Vec<(String, Vec<String>)> {
    let total = simulation.accesses.total();
    let cells = |walks: &[u64]| -> Vec<String> {
        walks
            .iter()
            .map(|&walks| thousandth(walks, total))
            .collect()
    };
    let (shown, rest) = simulation
        .mappings
        .split_at(simulation.mappings.len().min(SHOWN));
    let mut rows: Vec<_> = shown
        .iter()
        .map(|one| (one.name.clone(), cells(&one.walks)))
        .collect();
    if !rest.is_empty() {
        let columns = 0..simulation.columns.len();
        let sum = |column: usize| rest.iter().filter_map(|one| one.walks.get(column)).sum();
        let sums: Vec<u64> = columns.map(sum).collect();
        rows.push((format!("{} more", rest.len()), cells(&sums)));
    }
    rows
}

fn thousandth(part: u64, accesses: u64) -> String {
    match accesses {
        0 => "~".to_owned(),
        accesses => three_digits(part as f64 * 1000.0 / accesses as f64),
    }
}

/// A share of the accesses; a walk whose table entries are not known reads between two numbers.
fn cell(row: &Row, tally: &Tally) -> String {
    let share = |value: u64| thousandth(value, tally.accesses);
    let References { least, most } = tally.walk_references;
    if row.name == "walk_references" && least != most {
        return format!("≤ {}", share(most));
    }
    share((row.value)(tally))
}

fn notes(simulation: &Simulation) -> Vec<String> {
    let mut notes = Vec::new();
    if simulation.columns.iter().any(|column| !column.native) {
        notes.push(
            "* No buffer of this processor is known to hold this size: its entries for base \
             pages were taken as if they did."
                .to_owned(),
        );
    }
    if simulation.processor.walk_cache.is_none() {
        notes.push(
            "≤ The processor's memory of upper page tables is not known: a walk reads one entry \
             at least, and one in each table at most."
                .to_owned(),
        );
    }
    let not_told = |one: &super::Structure| one.ways.is_none();
    if simulation.processor.tlb.structures.iter().any(not_told) {
        notes.push(
            "A buffer whose ways are not told was simulated with one set: conflicts in it are \
             missing."
                .to_owned(),
        );
    }
    if !simulation.mappings.is_empty() {
        notes.push(
            "Mappings are those under the tracer: sizes and names are the program's, addresses are \
             not, and its heap has no name there."
                .to_owned(),
        );
    }
    notes.push(as_mapped(simulation));
    notes.push(
        "In program order, one thread after the other, the first process alone, and until it \
         becomes another program by exec: no speculation, no prefetching, no other program, no \
         kernel."
            .to_owned(),
    );
    notes
}

/// The pages as they are, in a sentence: they are no size of their own.
fn as_mapped(simulation: &Simulation) -> String {
    let pages = match &simulation.as_mapped {
        Ok(pages) => pages,
        Err(missing) => return format!("Pages as they are: {missing}."),
    };
    let walks = |tally: &Tally| thousandth(tally.walks, tally.accesses);
    let mut text = format!(
        "Pages as they were under the tracer ({} of {} ranges that were used were huge): {} walks \
         for 1000 accesses to data, {} for code.",
        pages.huge_ranges,
        pages.ranges,
        walks(&pages.streams.data),
        walks(&pages.streams.code)
    );
    if pages.huge_ranges > 0 && pages.huge_ranges < pages.ranges {
        text.push_str(" Entries that hold both sizes were taken for each: a lower bound.");
    }
    text
}

/// As CSV (RFC 4180): one row for each page size, stream and figure.
///
/// # Errors
/// Only those of `out`.
pub fn render_csv(simulation: &Simulation, out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "page_bytes,native,stream,accesses,name,least,most,missing,mapping"
    )?;
    for column in &simulation.columns {
        let lead = format!("{},{}", column.page_bytes, column.native);
        csv_rows(&lead, &column.streams, out)?;
    }
    for one in &simulation.mappings {
        for (column, walks) in simulation.columns.iter().zip(&one.walks) {
            let (page, native) = (column.page_bytes, column.native);
            let (total, name) = (simulation.accesses.total(), csv_field(&one.name));
            writeln!(
                out,
                "{page},{native},,{total},walks,{walks},{walks},,{name}"
            )?;
        }
    }
    match &simulation.as_mapped {
        Ok(pages) => csv_rows("as_mapped,", &pages.streams, out),
        Err(missing) => writeln!(out, "as_mapped,,,,,,,{},", csv_field(&missing.to_string())),
    }
}

fn csv_rows(lead: &str, both: &Streams, out: &mut impl Write) -> fmt::Result {
    for (stream, tally) in streams(both) {
        for row in &ROWS {
            let (name, most) = (row.name, (row.value)(tally));
            let least = match name {
                "walk_references" => tally.walk_references.least,
                _ => most,
            };
            let accesses = tally.accesses;
            writeln!(out, "{lead},{stream},{accesses},{name},{least},{most},,")?;
        }
    }
    Ok(())
}

/// As one JSON document.
///
/// # Errors
/// Only those of `out`.
pub fn render_json(simulation: &Simulation, out: &mut impl Write) -> fmt::Result {
    let text = serde_json::to_string_pretty(simulation).map_err(|_| fmt::Error)?;
    writeln!(out, "{text}")
}

/// As a table for a pull request.
///
/// # Errors
/// Only those of `out`.
pub fn render_markdown(simulation: &Simulation, out: &mut impl Write) -> fmt::Result {
    let mut head = "| per 1000 accesses |".to_owned();
    let mut rule = "|---|".to_owned();
    for column in &simulation.columns {
        let mark = if column.native { "" } else { "\\*" };
        write!(head, " {}{mark} |", bytes_text(column.page_bytes))?;
        rule.push_str("--:|");
    }
    writeln!(out, "{head}\n{rule}")?;
    for stream in 0..2 {
        for row in &ROWS {
            let cells = simulation.columns.iter();
            let cells = cells.map(|column| cell(row, streams(&column.streams)[stream].1));
            let name = ["data", "code"][stream];
            let cells: Vec<String> = cells.collect();
            writeln!(out, "| {name}: {} | {} |", row.text, cells.join(" | "))?;
        }
    }
    for (name, cells) in mapping_rows(simulation) {
        let name = plain(&name).replace('|', "\\|");
        writeln!(out, "| walks in {name} | {} |", cells.join(" | "))?;
    }
    writeln!(out)?;
    for text in heading(simulation).into_iter().chain(notes(simulation)) {
        writeln!(out, "{}  ", text.replace('*', "\\*"))?;
    }
    Ok(())
}
