//! Where and how it was measured.

use super::Report;
use crate::base::host::Host;
use crate::base::units::{KIB, MIB};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::text::document::Level;
use crate::text::number::counted;
use crate::text::wrap::plain;

/// Where and how it was measured: a line for the first screen and one of details; those of both
/// records where two differ in it.
pub(super) fn circumstances(report: &Report<'_>) -> Vec<(Level, String)> {
    let others = report.other.iter().map(|other| other.record);
    let records = || std::iter::once(report.record).chain(others.clone());
    let brief = |record| (Level::First, brief(record));
    let mut lines: Vec<(Level, String)> = records().map(brief).collect();
    lines.extend(records().map(|it| (Level::Detail, setup(it))));
    lines.dedup();
    lines
}

fn brief(record: &Record) -> String {
    let host = &record.header.host;
    let thp = match &host.thp {
        Ok(thp) => plain(&format!("THP {}", thp.enabled)),
        Err(_) => "THP unknown".to_owned(),
    };
    let mut parts = vec![
        plain(&format!("Linux {}", host.kernel)),
        machine(host),
        counted(host.cpus.into(), "CPU"),
        thp,
        counted(record.compared_rounds().into(), "round"),
    ];
    parts.extend(fragmented(record));
    parts.extend(warmed_in_part(record).or_else(|| record.header.plan.host_memory.in_words()));
    parts.join(", ") + "."
}

fn setup(record: &Record) -> String {
    let host = &record.header.host;
    let thp = match &host.thp {
        Ok(thp) => plain(&format!("defrag {}", thp.defrag)),
        Err(missing) => plain(&format!("THP unknown ({missing})")),
    };
    format!(
        "Setup: {}, {}, {thp}, seed {}.",
        plain(&host.arch),
        pages(host),
        record.header.plan.seed
    )
}

/// In which state free memory was kept, and between which shares it was found to be.
fn fragmented(record: &Record) -> Option<String> {
    let percent = record.header.plan.fragment?;
    let trials = record.trials.iter();
    let shares = trials.filter_map(|trial| trial.value(MetricId::FragmentedBeforeRatio));
    let (low, high) = shares.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), share| {
        (low.min(share), high.max(share))
    });
    let seen = if low <= high {
        format!(" (measured: {:.0} to {:.0} %)", low * 100.0, high * 100.0)
    } else {
        String::new()
    };
    Some(format!(
        "{percent} % of free memory kept in small blocks{seen}"
    ))
}

/// That free memory was too little to be warmed, where it was so before more than a quarter of the
/// trials.
fn warmed_in_part(record: &Record) -> Option<String> {
    let touches = record
        .trials
        .iter()
        .filter_map(|it| it.first_touch.as_ref());
    let short = touches
        .clone()
        .filter(|it| it.wanted_bytes.is_some())
        .count();
    let all = touches.count();
    (4 * short > all).then(|| format!("memory warmed in part before {short} of {all} trials"))
}

fn machine(host: &Host) -> String {
    match &host.hypervisor {
        Some(name) => format!("VM ({})", plain(name)),
        None => "bare metal".to_owned(),
    }
}

fn pages(host: &Host) -> String {
    let small = page_size(host.page_bytes);
    match host.pmd_bytes() {
        Some(huge) => format!("{small}/{} pages", page_size(huge)),
        None => format!("{small} pages"),
    }
}

/// Sizes of pages are powers of two.
fn page_size(bytes: u64) -> String {
    let units = [(MIB, "MiB"), (KIB, "KiB")];
    let whole = |(unit, _): &&(u64, &str)| bytes >= *unit && bytes.is_multiple_of(*unit);
    match units.iter().find(whole) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}
