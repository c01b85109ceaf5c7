//! The tables: kinds of faults, and places.

use crate::faults::sentences::{duration, share};
use crate::faults::summary::{FaultSummary, Row, SiteRow};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::count;
use hugewise_text::wrap::{plain, shortened};

/// The number of kinds on the first screen.
const KINDS: usize = 6;
/// The number of mappings on the first screen.
const MAPPINGS: usize = 3;
/// Width of the mapping name on the first screen, in columns.
const NAME: usize = 46;

/// The kinds with the most time, and the sum.
pub(super) fn main_kinds(summary: &FaultSummary) -> Grid {
    let mut grid = kinds(summary, KINDS);
    let rest = summary.kinds.iter().skip(KINDS);
    let (kinds, faults, time) = rest.fold((0, 0, 0), |sum, kind| {
        (sum.0 + 1, sum.1 + kind.row.faults, sum.2 + kind.row.time_ns)
    });
    if kinds > 0 {
        grid.push([format!("{kinds} more (-v)"), count(faults), duration(time)]);
    }
    with_sum(summary, grid)
}

/// All kinds, and the sum.
pub(super) fn all_kinds(summary: &FaultSummary) -> Grid {
    with_sum(summary, kinds(summary, usize::MAX))
}

fn with_sum(summary: &FaultSummary, mut grid: Grid) -> Grid {
    if summary.kinds.len() > 1 {
        grid.rows.push(latencies("all", &summary.total));
    }
    grid
}

fn kinds(summary: &FaultSummary, limit: usize) -> Grid {
    let heading = [
        "kind", "faults", "time", "p50", "p90", "p99", "p99.9", "max",
    ];
    let mut grid = Grid::headed(&heading);
    for kind in summary.kinds.iter().take(limit) {
        grid.rows.push(latencies(&kind.label, &kind.row));
    }
    grid
}

fn latencies(label: &str, row: &Row) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(label), Cell::plain(count(row.faults))];
    if let Some(q) = &row.latency {
        let quantiles = [q.p50_ns, q.p90_ns, q.p99_ns, q.p99_9_ns, q.max_ns];
        cells.push(Cell::plain(duration(row.time_ns)));
        cells.extend(quantiles.map(|time| Cell::plain(duration(time))));
    }
    cells
}

/// The mappings with the most time.
pub(super) fn main_mappings(summary: &FaultSummary) -> Grid {
    let mut grid = Grid::headed(&["mapping", "faults", "time", "share"]);
    let mut row = |name: &str, faults: u64, time_ns: u64| {
        let [faults, time, share] = numbers(summary, faults, time_ns);
        grid.push([shortened(&plain(name), NAME), faults, time, share]);
    };
    for mapping in summary.mappings.iter().take(MAPPINGS) {
        row(&mapping.name, mapping.faults, mapping.time_ns);
    }
    let rest = summary.mappings.iter().skip(MAPPINGS);
    let (more, faults, time_ns) = rest.fold((0, 0, 0), |sum, one| {
        (sum.0 + 1, sum.1 + one.faults, sum.2 + one.time_ns)
    });
    if more > 0 {
        row(&format!("{more} more (-v)"), faults, time_ns);
    }
    grid
}

/// Faults, their time, and their share: of the time if known, otherwise of the faults.
fn numbers(summary: &FaultSummary, faults: u64, time_ns: u64) -> [String; 3] {
    let total = &summary.total;
    match total.timed > 0 {
        true => {
            let part = share(time_ns, total.time_ns);
            [count(faults), duration(time_ns), part]
        }
        false => [count(faults), "~".to_owned(), share(faults, total.faults)],
    }
}

/// The rows of a list. Rows with almost no weight are combined.
pub(super) fn list(summary: &FaultSummary, rows: impl Iterator<Item = (String, u64, u64)>) -> Grid {
    let align = [Align::Right, Align::Right, Align::Right, Align::Wrapped];
    let mut grid = Grid::headed(&["faults", "time", "share", ""]).aligned(&align);
    let (tiny, rows): (Vec<_>, Vec<_>) =
        rows.partition(|(_, faults, time_ns)| is_tiny(summary, *faults, *time_ns));
    let rest = tiny
        .iter()
        .fold((0, 0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
    let rest = (tiny.len() > 1).then(|| {
        (
            format!("{} more rows below 0.1 %", tiny.len()),
            rest.0,
            rest.1,
        )
    });
    let single = tiny.into_iter().filter(|_| rest.is_none());
    for (name, faults, time_ns) in rows.into_iter().chain(single).chain(rest.clone()) {
        let [faults, time, share] = numbers(summary, faults, time_ns);
        grid.push([faults, time, share, plain(&name)]);
    }
    grid
}

/// Returns true if a row is below 0.1 % of the time, or of the faults if none is timed.
fn is_tiny(summary: &FaultSummary, faults: u64, time_ns: u64) -> bool {
    let total = &summary.total;
    match total.timed > 0 {
        true => time_ns.saturating_mul(1000) < total.time_ns,
        false => faults.saturating_mul(1000) < total.faults,
    }
}

/// A call site: the innermost function and its caller.
pub(super) fn site(row: &SiteRow) -> String {
    match &row.caller {
        Some(caller) => format!("{} < {}", row.function.short(), caller.short()),
        None => row.function.short(),
    }
}
