//! For people: one line for each interval, then what it came to.

use std::fmt::{self, Write};

use super::summary::{grows, value};
use super::{Hardware, Header, Interval, Pmu, Target};
use crate::metric::Scope;
use crate::observation::Missing;
use crate::report::lines::{plain, shortened, wrapped};
use crate::report::scale::three_digits;

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
mod tests {
    use expect_test::expect;

    use super::super::sample::{header, interval};
    use super::*;
    use crate::stat::{Mode, Summary, WalkCycles};

    fn drawn(header: &Header, intervals: &[Interval]) -> String {
        let mut text = String::new();
        let mut summary = Summary::default();
        render_heading(header, 80, &mut text).unwrap();
        for interval in intervals {
            render_interval(header, interval, &mut text).unwrap();
            summary.add(interval);
        }
        let summary = summary.finished(&header.hardware, None);
        text.push('\n');
        render_summary(header, &summary, 80, &mut text).unwrap();
        text
    }

    #[test]
    fn with_counters() {
        let text = drawn(&header(), &[interval(0), interval(1)]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        expect![[r#"
            Process 4711 (mysqld), its threads and descendants, every 1.00 s.
            Counted: skylake, user and kernel mode; 2 groups take turns of 50.0 ms.
            Note: the watchdog holds one counter of each processor.
              time walk% dTLB/k iTLB/k faults/s huge/s†  refus/s  coll/s  comp/s huge%  free
               1.0  10.0   1.20  0.100     1234      41        2       0       7  83.1  2101
               2.0  10.0   1.20  0.100     1234      41        2       0       7  83.1  2101

            2.00 s in 2 intervals.
            cycles                    3.80 G
            instructions              4.40 G, 1.16 a cycle
            cycles with a page walk   8.0 % to 10.0 % (data 9.0 %, code 1.0 %)
                                      cheaper walks can save no more than 10.0 % of its
                                      cycles
            page walks, data          1.20 for 1000 instructions: 4 KiB 95.8 %, 2 MiB 4.2 %
            page walks, code          0.100 for 1000 instructions
            page faults               2468, 1234 a second; 6 more waited for I/O
            huge faults†              82 served, 4 refused
            khugepaged, collapses     0 pages made, 24.0 ms of processor time
            compaction                14 stalls
            huge memory               83.1 % of 1.20 GiB when last read
            free huge blocks          2101 at the end
            † of the whole machine: other programs are in it
            Not counted: EPT.WALK_PENDING; why: hugewise stat --list
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_part_of_the_walks_bounds_nothing() {
        let mut header = header();
        if let Hardware::Counting { walk_cycles, .. } = &mut header.hardware {
            *walk_cycles = WalkCycles::WithoutNested;
        }
        let text = drawn(&header, &[interval(0)]);
        assert!(text.contains("no bound"), "{text}");
        assert!(!text.contains("no more than"), "{text}");
    }

    #[test]
    fn without_counters() {
        let header = Header {
            hardware: Hardware::Missing {
                missing: Missing::NoHardware,
            },
            ..header()
        };
        let mut plain = interval(0);
        plain.counts.clear();
        plain.derived = crate::stat::derive(&[], header.hardware.missing());
        let text = drawn(&header, &[plain]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(text.matches("no hardware counters").count(), 1, "{text}");
        expect![[r#"
            Process 4711 (mysqld), its threads and descendants, every 1.00 s.
            No page walks, misses or cycles: this machine has no hardware counters. The rest
                needs none.
            Note: the watchdog holds one counter of each processor.
              time faults/s huge/s†  refus/s  coll/s  comp/s huge%  free
               1.0     1234      41        2       0       7  83.1  2101

            1.00 s in 1 interval.
            page faults               1234, 1234 a second; 3 more waited for I/O
            huge faults†              41 served, 2 refused
            khugepaged, collapses     0 pages made, 12.0 ms of processor time
            compaction                7 stalls
            huge memory               83.1 % of 1.20 GiB when last read
            free huge blocks          2101 at the end
            † of the whole machine: other programs are in it
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn numbers_fit_their_columns() {
        for (value, text) in [
            (0.0, "0"),
            (0.21, "0.210"),
            (41.0, "41"),
            (123.4, "123"),
            (9999.0, "9999"),
            (12_345.0, "12.3k"),
            (5e6, "5.00M"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(Mode::User.words(), "user mode only");
    }
}
