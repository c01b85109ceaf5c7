//! The summary as text for people, Markdown and CSV. JSON is the struct itself.

use std::io::{self, Write};

use super::event::{Known, Modes};
use super::sentences::{count, duration, share};
use super::shape::Shape;
use super::summary::{NamedRow, Row, SiteRow, Summary};
use crate::observation::Outcome;
use crate::report::lines::{plain, shortened, wrapped};
use crate::report::table::{Cell, Grid};
use crate::report::{Style, Verbosity, csv_field};

/// Rows of a list that are shown unless everything is wanted.
const SHOWN: usize = 8;

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
        for line in grid.lines(|text, _| text.to_owned()) {
            writeln!(out, "{}", line.trim_end())?;
        }
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

fn tables(summary: &Summary, style: &Style) -> Vec<(&'static str, Grid)> {
    let wide = style.width.saturating_sub(30).max(30);
    let limit = match style.verbose {
        Verbosity::Verbose => usize::MAX,
        Verbosity::Normal => SHOWN,
    };
    let mut tables = vec![
        ("What the faults did", kinds(summary)),
        (
            "How the memory came",
            named(summary, &summary.growth, limit, wide),
        ),
        (
            "Where in memory",
            named(summary, &summary.mappings, limit, wide),
        ),
    ];
    let known = summary
        .sites
        .iter()
        .any(|site| site.function.name != "[no call chain]");
    if known {
        tables.push(("Where in the program", sites(summary, limit, wide)));
    }
    tables
}

fn heading(names: &[&str]) -> Vec<Cell> {
    names.iter().map(|name| Cell::plain(*name)).collect()
}

fn kinds(summary: &Summary) -> Grid {
    let mut rows = vec![heading(&[
        "", "faults", "time", "p50", "p90", "p99", "p99.9", "max",
    ])];
    for kind in &summary.kinds {
        rows.push(latencies(&kind.label, &kind.row));
    }
    if summary.kinds.len() > 1 {
        rows.push(latencies("all", &summary.total));
    }
    Grid { rows }
}

fn latencies(label: &str, row: &Row) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(label), Cell::plain(count(row.faults))];
    if let Some(q) = &row.latency {
        let times = [
            row.time_ns,
            q.p50_ns,
            q.p90_ns,
            q.p99_ns,
            q.p999_ns,
            q.max_ns,
        ];
        // Without its blank a row of seven numbers fits into 80 columns.
        cells.extend(times.map(|time| Cell::plain(duration(time).replace(' ', ""))));
    }
    cells
}

fn named(summary: &Summary, rows: &[NamedRow], limit: usize, wide: usize) -> Grid {
    let entries = rows
        .iter()
        .map(|row| (row.name.clone(), row.faults, row.time_ns));
    list(summary, &entries.collect::<Vec<_>>(), limit, wide)
}

fn sites(summary: &Summary, limit: usize, wide: usize) -> Grid {
    let entries = summary
        .sites
        .iter()
        .map(|row| (site(row), row.faults, row.time_ns));
    list(summary, &entries.collect::<Vec<_>>(), limit, wide)
}

fn site(row: &SiteRow) -> String {
    match &row.caller {
        Some(caller) => format!("{} < {}", row.function.short(), caller.short()),
        None => row.function.short(),
    }
}

fn list(summary: &Summary, entries: &[(String, u64, u64)], limit: usize, wide: usize) -> Grid {
    let timed = summary.total.timed > 0;
    let whole = (summary.total.faults, summary.total.time_ns);
    let mut rows = vec![if timed {
        heading(&["", "faults", "time", "share"])
    } else {
        heading(&["", "faults", "share"])
    }];
    let mut row = |name: &str, faults: u64, time_ns: u64| {
        let mut cells = vec![
            Cell::plain(shortened(&plain(name), wide)),
            Cell::plain(count(faults)),
        ];
        if timed {
            cells.push(Cell::plain(duration(time_ns)));
            cells.push(Cell::plain(share(time_ns, whole.1)));
        } else {
            cells.push(Cell::plain(share(faults, whole.0)));
        }
        rows.push(cells);
    };
    let rest = entries.len().saturating_sub(limit);
    for (name, faults, time_ns) in entries.iter().take(limit) {
        row(name, *faults, *time_ns);
    }
    if rest > 0 {
        let others = entries.iter().skip(limit);
        let (faults, time_ns) = others.fold((0, 0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
        row(
            &format!("{rest} more (all with --verbose)"),
            faults,
            time_ns,
        );
    }
    Grid { rows }
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

/// What could not be known, and what the measuring itself costs.
fn footnotes(summary: &Summary) -> Vec<String> {
    let conditions = &summary.conditions;
    let mut notes = Vec::new();
    if conditions.modes == Modes::User {
        notes.push(
            "Faults in kernel mode were not seen, and zero pages not told apart: that needs \
             CAP_PERFMON."
                .to_owned(),
        );
    }
    if let Known::No(missing) = &conditions.page_size {
        notes.push(format!(
            "Huge pages were not told from small ones: {missing}."
        ));
    }
    if let (Modes::All, Known::No(missing)) = (conditions.modes, &conditions.huge_zero) {
        notes.push(format!(
            "The huge zero page was not told from huge pages: {missing}."
        ));
    }
    if let Known::No(missing) = &conditions.folios {
        let sizes = conditions.folio_sizes.iter();
        let sizes: Vec<String> = sizes.map(|bytes| super::kind::size(*bytes)).collect();
        notes.push(format!(
            "Folios of {} are switched on, and were not told from pages: {missing}.",
            sizes.join(", ")
        ));
    }
    if summary.folios_missed > 0 {
        notes.push(format!(
            "{} small faults count as pages because their memory was gone before its folio could \
             be asked for.",
            count(summary.folios_missed)
        ));
    }
    if summary.chains < summary.total.faults {
        notes.push(format!(
            "Call chains were taken of {} of {} faults, of all at first and then of one in many; \
             what is said by function is estimated from these.",
            count(summary.chains),
            count(summary.total.faults)
        ));
    }
    if summary.shallow * 5 > summary.total.faults {
        notes.push(format!(
            "{} of the call chains have one frame or none: code without frame pointers.",
            share(summary.shallow, summary.total.faults)
        ));
    }
    notes.push(format!(
        "Each latency includes the writing of one event. Watching took {} of processor time \
         besides.",
        duration(summary.closing.own_cpu_ns)
    ));
    notes
}

/// Writes one line for each kind, way, mapping and place.
///
/// # Errors
/// The writer failed.
pub fn render_csv(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "table,name,faults,timed,time_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns"
    )?;
    for kind in &summary.kinds {
        let row = &kind.row;
        let name = csv_field(&kind.label);
        write!(
            out,
            "kind,{name},{},{},{}",
            row.faults, row.timed, row.time_ns
        )?;
        match &row.latency {
            Some(q) => writeln!(
                out,
                ",{},{},{},{},{}",
                q.p50_ns, q.p90_ns, q.p99_ns, q.p999_ns, q.max_ns
            )?,
            None => writeln!(out, ",,,,,")?,
        }
    }
    let sites: Vec<NamedRow> = summary
        .sites
        .iter()
        .map(|row| NamedRow {
            name: site(row),
            faults: row.faults,
            time_ns: row.time_ns,
        })
        .collect();
    let lists = [
        ("growth", &summary.growth),
        ("mapping", &summary.mappings),
        ("site", &sites),
    ];
    for (table, rows) in lists {
        for row in rows {
            let name = csv_field(&row.name);
            writeln!(out, "{table},{name},{},,{},,,,,", row.faults, row.time_ns)?;
        }
    }
    Ok(())
}

/// Writes the summary for a pull request.
///
/// # Errors
/// The writer failed.
pub fn render_markdown(summary: &Summary, style: &Style, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "**{}**", headline(summary))?;
    for remark in &summary.books.remarks {
        writeln!(out, "\n{remark}")?;
    }
    if summary.total.faults == 0 {
        return Ok(());
    }
    for (title, grid) in tables(summary, style) {
        writeln!(out, "\n### {title}\n")?;
        markdown_table(&grid, out)?;
    }
    for shape in summary
        .shapes
        .iter()
        .filter(|shape| matters(shape, summary))
    {
        let sentence = shape.sentence(&summary.conditions);
        writeln!(out, "\n* **{}**: {sentence}", shape.title())?;
    }
    writeln!(out)?;
    footnotes(summary)
        .iter()
        .try_for_each(|note| writeln!(out, "{note}"))
}

/// Whether a shape is one in a hundred of the faults or of their time: every program has a few
/// double faults in its loader.
fn matters(shape: &Shape, summary: &Summary) -> bool {
    let (faults, time_ns) = shape.weight();
    faults * 100 >= summary.total.faults || time_ns * 100 >= summary.total.time_ns.max(1)
}

fn markdown_table(grid: &Grid, out: &mut impl Write) -> io::Result<()> {
    let columns = grid.rows.iter().map(Vec::len).max().unwrap_or(0);
    for (index, row) in grid.rows.iter().enumerate() {
        let cell = |column: usize| row.get(column).map_or("", |cell| cell.text.as_str());
        let cells: Vec<String> = (0..columns)
            .map(|column| cell(column).replace('|', "\\|"))
            .collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
        if index == 0 {
            writeln!(out, "|---{}|", "|--:".repeat(columns - 1))?;
        }
    }
    Ok(())
}
