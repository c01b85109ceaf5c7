//! The tables: what faults did, and where; drawn alike as text and as Markdown.

use crate::observe::faults::sentences::{count, duration, share};
use crate::observe::faults::summary::{NamedRow, Row, SiteRow, Summary};
use crate::text::grid::{Cell, Grid};
use crate::text::wrap::{plain, shortened};
use crate::text::{Style, Verbosity};

/// Rows of a list that are shown unless everything is wanted.
const SHOWN: usize = 8;

pub(super) fn tables(summary: &Summary, style: &Style) -> Vec<(&'static str, Grid)> {
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
    Grid {
        rows,
        ..Grid::default()
    }
}

fn latencies(label: &str, row: &Row) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(label), Cell::plain(count(row.faults))];
    if let Some(q) = &row.latency {
        let times = [
            row.time_ns,
            q.p50_ns,
            q.p90_ns,
            q.p99_ns,
            q.p99_9_ns,
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

pub(super) fn site(row: &SiteRow) -> String {
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
    Grid {
        rows,
        ..Grid::default()
    }
}
