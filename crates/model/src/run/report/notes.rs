//! What stands at the foot of a report: reasons, doubts and circumstances.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Report;
use super::answer::{Sign, interval};
use super::failures::failed;
use super::requests::requests;
use super::service::service;
use crate::base::host::Host;
use crate::base::missing::Missing;
use crate::base::units::{KIB, MIB};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Statistic, Warning};
use crate::run::metric::MetricId;
use crate::run::record::{Record, StopReason};
use crate::run::trial::Mark;
use crate::text::grid::Grid;
use crate::text::number::chosen_percent;
use crate::text::wrap::plain;

/// Reasons for what was not measured, each with its mark.
#[derive(Default)]
pub(super) struct Notes {
    /// A layout is tried several times before it fits, and marks the same reasons each time.
    reasons: RefCell<Vec<Missing>>,
    /// Whether a change stands beside medians of which another change would follow.
    apart: Cell<bool>,
}

impl Notes {
    /// The mark of a reason: the same reason has the same mark.
    pub(super) fn mark(&self, missing: &Missing) -> String {
        let mut reasons = self.reasons.borrow_mut();
        let known = reasons.iter().position(|reason| reason == missing);
        mark(known.unwrap_or_else(|| {
            reasons.push(missing.clone());
            reasons.len() - 1
        }))
    }

    /// Remembers that a change was shown that its two medians do not give.
    pub(super) fn apart(&self) {
        self.apart.set(true);
    }

    /// The footnotes.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(index, reason): (usize, &Missing)| {
            format!("{} {}", mark(index), plain(&reason.to_string()))
        };
        self.reasons.borrow().iter().enumerate().map(line).collect()
    }
}

fn mark(index: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    (index + 1)
        .to_string()
        .bytes()
        .map(|digit| DIGITS[usize::from(digit - b'0')])
        .collect()
}

/// Behind the label of a row that other programs are in.
pub(super) const MACHINE: &str = "†";
/// Before a change that is a difference.
pub(super) const DIFFERENCE: &str = "Δ";

/// What the signs mean that the tables use.
pub(super) fn signs(report: &Report<'_>, tables: &[Grid], notes: &Notes) -> Vec<String> {
    let cells = || {
        let rows = tables.iter().flat_map(|table| table.rows.iter().skip(1));
        rows.flat_map(|row| row.iter().enumerate())
    };
    let begins =
        |sign: &str| cells().any(|(column, cell)| column > 0 && cell.text.starts_with(sign));
    let adds = |sign: &str| cells().any(|(column, cell)| column > 1 && cell.text.contains(sign));
    let threshold = chosen_percent(report.table.verdict.threshold);
    let mut signs = Vec::new();
    if begins("=") {
        signs.push(format!("= no difference within ±{threshold} %"));
    }
    if begins("~") {
        signs.push("~ cannot tell".to_owned());
    }
    let mut lines: Vec<String> = Vec::new();
    if !signs.is_empty() {
        lines.push(signs.join("; "));
    }
    if cells().any(|(_, cell)| is_open_effect(&cell.text)) {
        lines
            .push("~ with a figure: clear by itself, not yet among so many comparisons".to_owned());
    }
    if adds(DIFFERENCE) {
        lines.push(format!(
            "{DIFFERENCE} a difference: a value of 0 allows no ratio"
        ));
    }
    if notes.apart.get() {
        lines.push(APART[usize::from(report.other.is_some())].to_owned());
    }
    if cells().any(|(column, cell)| column == 0 && cell.text.ends_with(MACHINE)) {
        lines.push(format!(
            "{MACHINE} counted over the whole machine: other programs are in it"
        ));
    }
    lines
}

/// Why a change is not the one between the medians beside it: within a record, between two.
const APART: [&str; 2] = [
    "A change is the middle of the changes within rounds, which need not be the change of the \
     medians.",
    "A change is the middle of the changes from each trial to each, which need not be the change \
     of the medians.",
];

/// An effect that only the correction for many comparisons holds back; not a bare interval.
fn is_open_effect(text: &str) -> bool {
    text.strip_prefix("~ ")
        .is_some_and(|rest| !rest.starts_with('['))
}

/// The doubts: the control, failed and marked trials, how the experiment ended.
pub(super) fn doubts(report: &Report<'_>) -> Vec<String> {
    let mut doubts: Vec<String> = control(report).into_iter().collect();
    doubts.extend(travelling(report));
    doubts.extend(service(report));
    doubts.extend(requests(report));
    let Some(other) = &report.other else {
        doubts.extend(doubts_of(report.record));
        return doubts;
    };
    doubts.push(NOT_SHUFFLED.to_owned());
    for (record, name) in [report.record, other.record].into_iter().zip(&other.names) {
        let named = |doubt| format!("{}: {doubt}", plain(name));
        doubts.extend(doubts_of(record).into_iter().map(named));
    }
    doubts
}

/// Of two records, always: each was shuffled by itself.
const NOT_SHUFFLED: &str = "The two records were not shuffled against each other: whatever else \
                            changed from one to the other is in the difference.";

/// What is to be doubted of one record.
fn doubts_of(record: &Record) -> Vec<String> {
    let mut doubts = failed(record);
    doubts.extend(marks(record));
    let warnings = record.warnings.iter();
    doubts.extend(warnings.map(|warning| format!("Warning: {}.", plain(warning))));
    doubts.extend(stopped(record));
    doubts
}

/// What travels with the comparisons that the answers rest on. Marked trials have a line of
/// their own.
fn travelling(report: &Report<'_>) -> Vec<String> {
    let metric = &report.table.verdict.metric;
    let deciding = report.table.comparisons.iter();
    let mut by_warning: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for comparison in
        deciding.filter(|it| it.metric == *metric && it.statistic == Statistic::Center)
    {
        for warning in comparison
            .warnings
            .iter()
            .filter(|it| !matches!(it, Warning::Marked { .. }))
        {
            by_warning
                .entry(warning.to_string())
                .or_default()
                .push(plain(&comparison.policy));
        }
    }
    let line = |(warning, policies): (String, Vec<String>)| {
        format!("Note on {}: {}.", policies.join(", "), plain(&warning))
    };
    by_warning.into_iter().map(line).collect()
}

fn control(report: &Report<'_>) -> Option<String> {
    let control = report.table.control.as_ref()?;
    let comparison = &control.comparison;
    let baseline = plain(&comparison.baseline);
    let metric = metric_of(report.record, &comparison.metric);
    let Some(interval) = interval(&metric, comparison, Sign::Kept) else {
        return Some(format!(
            "Control: {baseline} could not be compared with itself."
        ));
    };
    let judgement = if control.passed {
        "passed"
    } else {
        "FAILED; this run cannot be trusted"
    };
    Some(format!(
        "Control: {baseline} against itself {} (95 %: {interval}): {judgement}.",
        effect_of(report.record, comparison)
    ))
}

fn marks(record: &Record) -> Option<String> {
    let marked = record
        .trials
        .iter()
        .filter(|trial| !trial.marks.is_empty())
        .count();
    let kinds = record.count_marks();
    let list: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    (marked > 0).then(|| {
        let used = if kinds.contains_key(Mark::NOT_APPLIED) {
            "they are shown, but no answer is given for a policy that was not applied"
        } else {
            "they are used"
        };
        format!(
            "Marked: {marked} of {} trials ({}); {used}.",
            record.trials.len(),
            list.join(", ")
        )
    })
}

fn stopped(record: &Record) -> Vec<String> {
    let Some(end) = &record.end else {
        return Vec::new();
    };
    let reason = match end.reason {
        StopReason::Interrupted => Some("Stopped: by a signal, before it was decided."),
        StopReason::MaxTime => Some("Stopped: --max-time was reached."),
        StopReason::MaxRounds => Some("Stopped: --max-rounds was reached."),
        StopReason::WorkloadFails => Some("Stopped: the workload failed in every first round."),
        StopReason::VerdictUnmeasured => {
            Some("Stopped: what is to be judged was measured in no trial.")
        }
        StopReason::Decided | StopReason::Precise | StopReason::Measured => None,
    };
    let left = end
        .left_behind
        .iter()
        .map(|left| format!("LEFT BEHIND: {}", plain(left)));
    reason.map(str::to_owned).into_iter().chain(left).collect()
}

/// One line on where and how, two where two records differ in it: without it a measurement
/// cannot be judged.
pub(super) fn circumstances(report: &Report<'_>) -> Vec<String> {
    let mut lines = vec![circumstances_of(report.record)];
    lines.extend(
        report
            .other
            .iter()
            .map(|other| circumstances_of(other.record)),
    );
    lines.dedup();
    lines
}

fn circumstances_of(record: &Record) -> String {
    let host = &record.header.host;
    let rounds = record
        .trials
        .iter()
        .map(|trial| trial.round + 1)
        .max()
        .unwrap_or(0);
    let mut parts = vec![
        plain(&format!("Linux {} {}", host.kernel, host.arch)),
        machine(host),
        format!("{} CPUs", host.cpus),
        pages(host),
    ];
    parts.push(match &host.thp {
        Ok(thp) => plain(&format!("THP {}, defrag {}", thp.enabled, thp.defrag)),
        Err(missing) => plain(&format!("THP unknown ({missing})")),
    });
    parts.push(format!("{rounds} rounds, seed {}", record.header.plan.seed));
    parts.extend(fragmented(record));
    parts.join(", ")
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
        format!(" (was {:.0} to {:.0} %)", low * 100.0, high * 100.0)
    } else {
        String::new()
    };
    Some(format!(
        "free memory kept at {percent} % in small blocks{seen}"
    ))
}

fn machine(host: &Host) -> String {
    match &host.hypervisor {
        Some(name) => format!("virtual machine ({})", plain(name)),
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
