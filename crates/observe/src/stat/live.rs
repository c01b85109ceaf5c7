//! One line per interval, printed as they arrive.

use super::summary::{grows, value};
use super::{Header, Interval, Target};
use hugewise_base::counter::Counter;
use hugewise_base::units::{Unit, time_of_day};
use hugewise_experiment::run::metric::Scope;
use hugewise_text::grid::{Cell, Grid};
use hugewise_text::number::quantity;
use hugewise_text::svg::{Course, Stretch};

/// A column of the live lines.
struct Column {
    name: &'static str,
    /// Its title, if there is space.
    title: &'static str,
    width: usize,
    reading: &'static str,
    form: Form,
    source: Source,
}

/// The format of a value.
#[derive(Clone, Copy)]
enum Form {
    /// As a percentage.
    Percent,
    /// Unchanged.
    Plain,
    /// Increase per second.
    Rate,
}

/// The source of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Hardware,
    Kernel,
}

const fn column(
    (name, title): (&'static str, &'static str),
    width: usize,
    reading: &'static str,
    form: Form,
    source: Source,
) -> Column {
    Column {
        name,
        title,
        width,
        reading,
        form,
        source,
    }
}

/// The widths include the mark of machine-wide readings. The two columns after `walk%`, and the five after those, have
/// a common heading above them.
#[rustfmt::skip]
static COLUMNS: &[Column] = &[
    column(("walk%", "cycles in page walks"), 6, "walk_cycles_at_most_ratio", Form::Percent, Source::Hardware),
    column(("dTLB", "data page walks per 1000 instructions"), 6, "dtlb_walks_per_kinst", Form::Plain, Source::Hardware),
    column(("iTLB", "code page walks per 1000 instructions"), 6, "itlb_walks_per_kinst", Form::Plain, Source::Hardware),
    column(("faults", "page faults"), 7, "minor_faults_total", Form::Rate, Source::Kernel),
    column(("huge", "huge pages from faults"), 6, Counter::ThpFaultAlloc.name(), Form::Rate, Source::Kernel),
    column(("failed", "failed huge faults"), 8, Counter::ThpFaultFallback.name(), Form::Rate, Source::Kernel),
    column(("collapsed", "huge pages from khugepaged"), 11, Counter::ThpCollapseAlloc.name(), Form::Rate, Source::Kernel),
    column(("compact", "compaction stalls"), 9, Counter::CompactStall.name(), Form::Rate, Source::Kernel),
    column(("huge%", "memory that is huge"), 6, "huge_ratio", Form::Percent, Source::Kernel),
    column(("free", "free huge blocks"), 7, "free_huge_pages_total", Form::Plain, Source::Kernel),
];

/// Width of the time of day, in columns.
const TIME: usize = 8;

/// The two header lines: units, and column names.
#[must_use]
pub fn live_heading(header: &Header) -> String {
    let mut names = format!("{:>TIME$}", time_head(header));
    for column in columns(header) {
        let name = format!("{}{}", column.name, mark(header, column.reading));
        names.push_str(&format!("{name:>0$}", column.width));
    }
    let per_kinst = match header.hardware.missing() {
        None => format!("{:>18}", "walks per 1000"),
        Some(_) => String::new(),
    };
    let units = format!("{:TIME$}{per_kinst} {:-^40}", "", " per second ");
    format!("{}\n{names}\n", units.trim_end())
}

/// The line for one interval.
#[must_use]
pub fn live_line(header: &Header, interval: &Interval) -> String {
    let mut line = format!("{:>TIME$}", clock(header, interval.end_ns));
    for column in columns(header) {
        let width = column.width - 1;
        line.push_str(&format!(" {:>width$}", cell(interval, column)));
    }
    line + "\n"
}

/// All intervals as a table, for formats that are not streamed.
pub(super) fn table(header: &Header, intervals: &[Interval]) -> Grid {
    let heads = columns(header).map(|column| {
        let unit = match (column.form, column.source) {
            (Form::Rate, _) => "/s",
            (Form::Plain, Source::Hardware) => "/1000",
            _ => "",
        };
        format!("{}{unit}{}", column.name, mark(header, column.reading))
    });
    let heads = std::iter::once(time_head(header).to_owned()).chain(heads);
    let mut grid = Grid {
        rows: vec![heads.map(Cell::plain).collect()],
        ..Grid::default()
    };
    for interval in intervals {
        let cells = columns(header).map(|column| cell(interval, column));
        grid.push(std::iter::once(clock(header, interval.end_ns)).chain(cells));
    }
    grid
}

fn columns(header: &Header) -> impl Iterator<Item = &'static Column> {
    let counting = header.hardware.missing().is_none();
    let columns = COLUMNS.iter();
    columns.filter(move |column| counting || column.source == Source::Kernel)
}

fn time_head(header: &Header) -> &'static str {
    if header.interval_ns < 1_000_000_000 {
        "seconds"
    } else {
        "UTC"
    }
}

/// The time of day (UTC) at an offset from the start. For intervals shorter than a second, the seconds since the start.
pub(super) fn clock(header: &Header, after_ns: u64) -> String {
    if header.interval_ns < 1_000_000_000 && after_ns > 0 {
        return format!("+{:.2}", after_ns as f64 / 1e9);
    }
    time_of_day(header.started_unix_ms.saturating_add(after_ns / 1_000_000))
}

/// The mark of machine-wide readings, if the target is smaller than the machine.
pub(super) fn mark(header: &Header, reading: &str) -> &'static str {
    let machine = header.scopes.get(reading) == Some(&Scope::Machine);
    if machine && header.target != Target::Machine {
        "†"
    } else {
        ""
    }
}

fn cell(interval: &Interval, column: &Column) -> String {
    match (number(interval, column), column.form) {
        (None, _) => "-".to_owned(),
        (Some(value), Form::Percent) => format!("{:.1}", value * 100.0),
        (Some(value), Form::Plain | Form::Rate) => short(value),
    }
}

/// The value of a column; for a counter, its rate per second.
fn number(interval: &Interval, column: &Column) -> Option<f64> {
    let reading = interval.readings.get(column.reading);
    let found = value(reading.or_else(|| interval.derived.get(column.reading))).ok()?;
    match column.form {
        Form::Percent | Form::Plain => Some(found),
        Form::Rate => {
            let seconds = interval.seconds();
            (seconds > 0.0 && grows(column.reading)).then(|| found / seconds)
        }
    }
}

/// A column over time.
pub(super) struct Panel {
    pub(super) unit: Unit,
    pub(super) course: Course,
}

/// The columns with a value in at least one interval.
pub(super) fn panels(header: &Header, intervals: &[Interval]) -> Vec<Panel> {
    let panel = |column: &Column| Panel {
        unit: match column.form {
            Form::Percent => Unit::Ratio,
            Form::Plain => Unit::Count,
            Form::Rate => Unit::PerSecond,
        },
        course: Course {
            name: format!("{}{}", column.title, mark(header, column.reading)),
            index: 1,
            stretches: intervals
                .iter()
                .filter_map(|interval| stretch(interval, column))
                .collect(),
        },
    };
    let panels = columns(header).map(panel);
    panels
        .filter(|it| !it.course.stretches.is_empty())
        .collect()
}

fn stretch(interval: &Interval, column: &Column) -> Option<Stretch> {
    let [from, to] = [interval.start_ns, interval.end_ns].map(|ns| ns as f64 / 1e9);
    let value = number(interval, column)?;
    Some(Stretch { from, to, value })
}

/// A count or a rate.
pub(super) fn short(value: f64) -> String {
    quantity(&Unit::Count, value)
}

#[cfg(test)]
mod tests {
    use super::super::sample::header;
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        for (value, text) in [
            (0.0, "0"),
            (0.21, "0.210"),
            (41.0, "41"),
            (123.4, "123"),
            (9999.0, "9999"),
            (12_345.0, "12,345"),
            (123_456.0, "123 k"),
            (5e6, "5.00 M"),
        ] {
            assert_eq!(short(value), text);
            assert!(text.len() < 7);
        }
    }

    #[test]
    fn lines_have_the_time_of_day_or_short_times_since_the_beginning() {
        let mut header = header();
        assert_eq!(clock(&header, 1_500_000_000), "05:46:00");
        header.interval_ns = 50_000_000;
        assert_eq!(clock(&header, 1_500_000_000), "+1.50");
    }
}
