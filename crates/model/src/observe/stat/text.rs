//! For people: one line for each interval, then what it came to.

use std::fmt::{self, Write};

use super::summary::{grows, value};
use super::{Hardware, Header, Interval, Pmu, Target};
use crate::base::missing::Missing;
use crate::run::metric::Scope;
use crate::text::number::three_digits;
use crate::text::wrap::{plain, shortened, wrapped};

mod conclusion;
mod counts;

pub use conclusion::render_summary;
pub use counts::render_counts;

/// Marks figures of the whole machine.
const MACHINE: char = '†';

/// A column of the table.
pub(super) struct Column {
    pub(super) head: &'static str,
    width: usize,
    pub(super) reading: &'static str,
    form: Form,
    source: Source,
}

/// How a cell is written.
#[derive(Clone, Copy)]
enum Form {
    /// As hundredths.
    Percent,
    /// As it is.
    Plain,
    /// Growth for each second.
    Rate,
    /// A whole number.
    Whole,
}

/// Where a figure comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Hardware,
    Kernel,
}

const fn column(
    head: &'static str,
    width: usize,
    reading: &'static str,
    form: Form,
    source: Source,
) -> Column {
    Column {
        head,
        width,
        reading,
        form,
        source,
    }
}

#[rustfmt::skip]
static COLUMNS: &[Column] = &[
    column("walk%", 6, "walk_cycles_at_most_ratio", Form::Percent, Source::Hardware),
    column("dTLB/k", 7, "dtlb_walks_per_kinst", Form::Plain, Source::Hardware),
    column("iTLB/k", 7, "itlb_walks_per_kinst", Form::Plain, Source::Hardware),
    column("faults/s", 9, "minor_faults_total", Form::Rate, Source::Kernel),
    column("huge/s", 8, "thp_fault_alloc_total", Form::Rate, Source::Kernel),
    column("refus/s", 9, "thp_fault_fallback_total", Form::Rate, Source::Kernel),
    column("coll/s", 8, "thp_collapse_alloc_total", Form::Rate, Source::Kernel),
    column("comp/s", 8, "compact_stall_total", Form::Rate, Source::Kernel),
    column("huge%", 6, "huge_ratio", Form::Percent, Source::Kernel),
    column("free", 6, "free_huge_pages_total", Form::Whole, Source::Kernel),
];

pub(super) fn columns(header: &Header) -> impl Iterator<Item = &'static Column> {
    let counting = header.hardware.missing().is_none();
    COLUMNS
        .iter()
        .filter(move |column| counting || column.source == Source::Kernel)
}

/// What is observed and by which means, what a reader should know, and the heads of the columns.
///
/// # Errors
/// Only those of `out`.
pub fn render_heading(header: &Header, width: usize, out: &mut impl Write) -> fmt::Result {
    let every = three_digits(header.interval_ns as f64 / 1e9);
    let mut said = vec![format!("{}, every {every} s.", target(&header.target))];
    said.push(hardware(&header.hardware));
    said.extend(
        header
            .notes
            .iter()
            .map(|note| format!("Note: {}.", plain(note))),
    );
    for text in said {
        for line in wrapped(&text, width, 4) {
            writeln!(out, "{line}")?;
        }
    }
    write!(out, "{:>6}", "time")?;
    for column in columns(header) {
        let head = format!("{}{}", column.head, mark(header, column.reading));
        write!(out, " {head:>0$}", column.width - 1)?;
    }
    writeln!(out)
}

pub(super) fn target(target: &Target) -> String {
    match target {
        Target::Command { words } => {
            let command = words.join(" ");
            format!(
                "{} and everything it starts",
                shortened(&plain(&command), 60)
            )
        }
        Target::Process { pid, comm } => format!(
            "Process {pid} ({}), its threads and descendants",
            plain(comm)
        ),
        Target::Cgroup { path } => format!("The cgroup {}", plain(path)),
        Target::Machine => "The whole machine".to_owned(),
    }
}

fn hardware(hardware: &Hardware) -> String {
    match hardware {
        Hardware::Missing { missing } => {
            format!("No page walks, misses or cycles: {missing}. The rest needs none.")
        }
        Hardware::Counting {
            mode,
            pmus,
            turn_ns,
            ..
        } => {
            let sources: Vec<String> = pmus.iter().map(source).collect();
            let most = pmus.iter().map(|pmu| pmu.groups.len()).max().unwrap_or(0);
            let turns = match most {
                0 | 1 => String::new(),
                most => format!(
                    "; {most} groups take turns of {} ms",
                    three_digits(*turn_ns as f64 / 1e6)
                ),
            };
            format!(
                "Counted: {}, {}{turns}.",
                sources.join(" and "),
                mode.words()
            )
        }
    }
}

fn source(pmu: &Pmu) -> String {
    match &pmu.family {
        Some(family) => family.clone(),
        None => format!("{} (no table for this processor)", plain(&pmu.name)),
    }
}

/// The mark of figures that speak of more than what is observed.
pub(super) fn mark(header: &Header, reading: &str) -> &'static str {
    let machine = header.scopes.get(reading) == Some(&Scope::Machine);
    if machine && header.target != Target::Machine {
        "†"
    } else {
        ""
    }
}

/// One line.
///
/// # Errors
/// Only those of `out`.
pub fn render_interval(header: &Header, interval: &Interval, out: &mut impl Write) -> fmt::Result {
    write!(out, "{:>6.1}", interval.end_ns as f64 / 1e9)?;
    for column in columns(header) {
        write!(out, " {:>1$}", cell(interval, column), column.width - 1)?;
    }
    writeln!(out)
}

pub(super) fn cell(interval: &Interval, column: &Column) -> String {
    let reading = interval.readings.get(column.reading);
    let found = value(reading.or_else(|| interval.derived.get(column.reading)));
    let Ok(value) = found else {
        return "-".to_owned();
    };
    match column.form {
        Form::Percent => format!("{:.1}", value * 100.0),
        Form::Plain => short(value),
        Form::Whole => short(value),
        Form::Rate => match interval.seconds() {
            seconds if seconds > 0.0 && grows(column.reading) => short(value / seconds),
            _ => "-".to_owned(),
        },
    }
}

/// Three significant digits and no space before the prefix; whole numbers up to 9999 are kept.
fn short(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if prefix.is_empty() && (scaled.fract() == 0.0 || scaled.abs() >= 100.0) {
        return format!("{scaled:.0}");
    }
    format!("{}{prefix}", three_digits(scaled))
}

/// A reason as a footnote has it.
fn why(missing: &Missing) -> String {
    format!("not measured: {}", plain(&missing.to_string()))
}

#[cfg(test)]
mod tests;
