//! The foot of a report: reasons, doubts and circumstances.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::answer::shape::may_depend;
use super::conclusion::{HugePages, conclude};
use super::control;
use super::failures::failed;
use super::history::history;
use super::requests::requests;
use super::rows::MetricRow;
use super::service::{limit, service};
use super::starts;
use super::{BEFORE_AND_AFTER, Report};
use crate::base::missing::Missing;
use crate::run::compare::{Statistic, Warning};
use crate::run::record::{Record, Removal, StopReason};
use crate::run::trial::{Mark, Trial};
use crate::text::document::Level;
use crate::text::grid::Grid;
use crate::text::number::{chosen_percent, counted};
use crate::text::wrap::{capitalised, plain};

/// Reasons for what was not measured, each with its mark.
#[derive(Default)]
pub(super) struct Notes {
    /// A layout is tried several times before it fits, and marks the same reasons each time.
    reasons: RefCell<Vec<Missing>>,
    /// Whether a change stands beside medians of which another change would follow.
    apart: Cell<bool>,
    /// The metrics that no column has a value of, by the reason.
    absent: RefCell<Vec<(Missing, Vec<String>)>>,
    /// The metrics that are zero in every column.
    zero: RefCell<Vec<String>>,
    /// Policies that have no column, because they changed no page and the width ended.
    left_out: RefCell<Vec<String>>,
    /// Policies that have no column on the first screen, because one table has no room for them.
    without_room: RefCell<Vec<String>>,
}

impl Notes {
    /// The mark of a reason: the same reason has the same mark.
    pub(super) fn mark(&self, missing: &Missing) -> String {
        let mut reasons = self.reasons.borrow_mut();
        let floor = |it: &Missing| matches!(it, Missing::BelowFloor { .. });
        let same = |reason: &Missing| reason == missing || (floor(reason) && floor(missing));
        let known = reasons.iter().position(same);
        mark(known.unwrap_or_else(|| {
            reasons.push(missing.clone());
            reasons.len() - 1
        }))
    }

    /// Whether a row is said in words below the tables, because all its columns are zero or lack a
    /// value for one reason: dozens of such rows would hide the others.
    pub(super) fn tells(&self, row: &MetricRow<'_>) -> bool {
        let label = || row.label.clone();
        if let Some(missing) = row.absent() {
            let mut absent = self.absent.borrow_mut();
            match absent.iter_mut().find(|(reason, _)| reason == missing) {
                Some((_, labels)) => labels.push(label()),
                None => absent.push((missing.clone(), vec![label()])),
            }
            return true;
        }
        let is_zero = row.is_zero();
        if is_zero {
            self.zero.borrow_mut().push(label());
        }
        is_zero
    }

    /// The rows that are said in words.
    pub(super) fn told(&self) -> Vec<String> {
        let zero = self.zero.borrow();
        let zero = (!zero.is_empty()).then(|| format!("Zero throughout: {}.", zero.join("; ")));
        let absent = self.absent.borrow();
        let absent = absent.iter().map(|(reason, labels)| {
            let reason = plain(&reason.to_string());
            format!("Not measured ({reason}): {}.", labels.join("; "))
        });
        zero.into_iter().chain(absent).collect()
    }

    /// Remembers that a change was shown that its two medians do not give.
    pub(super) fn apart(&self) {
        self.apart.set(true);
    }

    /// Remembers that these policies have no column.
    pub(super) fn left_out(&self, names: Vec<String>) {
        self.left_out.replace(names);
    }

    /// Remembers that the table has no room for these policies.
    pub(super) fn no_room_for(&self, names: Vec<String>) {
        self.without_room.replace(names);
    }

    /// Names the policies that the table has no room for.
    pub(super) fn narrow(&self) -> Option<String> {
        let without = self.without_room.borrow();
        let names = without.join(", ");
        (!without.is_empty()).then(|| format!("only with -v: {names}"))
    }

    /// The footnotes.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(index, reason): (usize, &Missing)| {
            format!("{} {}", mark(index), plain(&reason.to_string()))
        };
        self.reasons.borrow().iter().enumerate().map(line).collect()
    }

    /// The same, of those whose mark is drawn in these tables.
    pub(super) fn lines_of(&self, tables: &[Grid]) -> Vec<String> {
        let is_drawn = |line: &String| {
            let mark = line.split(' ').next().unwrap_or_default();
            let mut cells = tables.iter().flat_map(|it| it.rows.iter().flatten());
            cells.any(|cell| cell.text.ends_with(mark))
        };
        self.lines().into_iter().filter(is_drawn).collect()
    }

    /// Names the policies that have no column.
    pub(super) fn missing_columns(&self) -> Option<String> {
        let left_out = self.left_out.borrow();
        let names = left_out.join(", ");
        let line = format!("not in the table: {names} (changed no page)");
        (!left_out.is_empty()).then_some(line)
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

/// A change that is of no interest; its size follows, where it has one.
pub(super) const SAME: &str = "same";
/// Behind a change without an interval.
pub(super) const UNKNOWN: &str = "?";

/// What the signs mean that are drawn in these tables, in a fixed order.
pub(super) fn signs(report: &Report<'_>, tables: &[Grid]) -> Vec<String> {
    let cells = || {
        let rows = tables.iter().flat_map(|table| table.rows.iter().skip(1));
        rows.flat_map(|row| row.iter().enumerate())
    };
    let begins =
        |sign: &str| cells().any(|(column, cell)| column > 0 && cell.text.starts_with(sign));
    let adds = |sign: &str| cells().any(|(column, cell)| column > 1 && cell.text.contains(sign));
    let of_machine = cells().any(|(column, cell)| column == 0 && cell.text.ends_with(MACHINE));
    let has_row =
        |start: &str| cells().any(|(column, cell)| column == 0 && cell.text.starts_with(start));
    let heads = |name: &str| {
        let mut headings = tables.iter().filter_map(|table| table.rows.first());
        headings.any(|row| row.iter().any(|cell| cell.text == name))
    };
    let threshold = chosen_percent(report.table.verdict.threshold);
    let all = [
        (begins(SAME), format!("{SAME}: within ±{threshold} %")),
        (
            adds(UNKNOWN),
            format!("{UNKNOWN} too few rounds of its own"),
        ),
        (adds(DIFFERENCE), format!("{DIFFERENCE} absolute change")),
        (of_machine, format!("{MACHINE} machine-wide")),
        (
            has_row("hugetlb, peak") && has_row("peak memory"),
            "peak memory is without hugetlb".to_owned(),
        ),
        (
            heads("tracer=idle"),
            "tracer=idle: what the tracer alone costs".to_owned(),
        ),
        (
            heads("preload=idle"),
            "preload=idle: what the library alone costs".to_owned(),
        ),
    ];
    let drawn = all.into_iter().filter(|(drawn, _)| *drawn);
    drawn.map(|(_, meaning)| meaning).collect()
}

/// What rows leave out that a reader may miss; for the tables of all metrics, where rows of other kinds stand
/// beside them.
pub(super) fn left_out(tables: &[Grid]) -> Vec<String> {
    let rows = tables.iter().flat_map(|table| table.rows.iter().skip(1));
    let labels = rows.filter_map(|row| row.first());
    let labels: Vec<&str> = labels.map(|cell| cell.text.as_str()).collect();
    let has = |label: &str| labels.contains(&label);
    let all = [
        (
            has("huge pages seen"),
            "huge pages seen, memory and its means: by samples, so what lived shorter is missed",
        ),
        (
            has("peak memory (tree)"),
            "tree: memory that processes share counts in each",
        ),
    ];
    let drawn = all.into_iter().filter(|(drawn, _)| *drawn);
    drawn.map(|(_, text)| text.to_owned()).collect()
}

/// Why a change is not the one between the medians beside it, in short and in full: within a record,
/// between two.
const APART: [[&str; 2]; 2] = [
    [
        "change: median over rounds",
        "change: the median of the rounds' changes, not the change between the medians",
    ],
    [
        "change: median over all pairs of trials",
        "change: the median over all pairs of trials, not the change between the medians",
    ],
];

/// How changes are computed, where the medians beside one suggest another.
pub(super) fn computed(report: &Report<'_>, notes: &Notes, level: Level) -> Option<&'static str> {
    let [brief, full] = APART[usize::from(report.other.is_some())];
    let text = match level {
        Level::Detail => full,
        Level::Brief | Level::First => brief,
    };
    notes.apart.get().then_some(text)
}

/// The doubts: the control, failed and disturbed trials, how the experiment ended. Those that a
/// reader must know are for the first screen.
pub(super) fn doubts(report: &Report<'_>) -> Vec<(Level, String)> {
    let first = |line| (Level::First, line);
    let detail = |line| (Level::Detail, line);
    let mut doubts: Vec<(Level, String)> = control::doubt(report).into_iter().collect();
    doubts.extend(travelling(report).into_iter().map(first));
    if report.table.verdict.chosen_afterwards {
        doubts.push(first(AFTERWARDS.to_owned()));
    }
    doubts.extend(starts::lines(report));
    doubts.extend(limit(report).map(first));
    doubts.extend(service(report).into_iter().map(detail));
    doubts.extend(may_depend(report).map(detail));
    doubts.extend(requests(report));
    let Some(other) = &report.other else {
        let known = conclude(report).map(|it| it.huge_pages);
        doubts.extend(doubts_of(
            report.record,
            known,
            &report.table.verdict.reasons,
        ));
        return doubts;
    };
    let [before, after] = other.paths.each_ref().map(|path| plain(path));
    doubts.push(first(format!("Before is {before}, after is {after}.")));
    let records = [report.record, other.record];
    for (record, name) in records.into_iter().zip(BEFORE_AND_AFTER) {
        let named = |(level, doubt)| (level, format!("{name}: {doubt}"));
        doubts.extend(
            doubts_of(record, None, &BTreeMap::new())
                .into_iter()
                .map(named),
        );
    }
    doubts
}

/// Of a question that the plan did not ask.
const AFTERWARDS: &str = "Chosen after the trials had run: what is judged, or against what. Its error \
                          rate is not 5 %: take it as a hint, and run again to test it.";

/// The doubts about one record; `reasons` has why a policy of it has no answer, where the answer says so.
fn doubts_of(
    record: &Record,
    known: Option<HugePages>,
    reasons: &BTreeMap<String, crate::run::compare::Why>,
) -> Vec<(Level, String)> {
    let failed = failed(record).into_iter().map(|line| (Level::First, line));
    let marked = record.trials.iter().filter(|it| !it.marks.is_empty());
    let marked: Vec<&Trial> = marked.collect();
    // From a quarter on, what disturbed them may be in the interval; the answer has why a policy has none.
    let is_told = |trial: &Trial| trial.lacked_its_policy() && reasons.contains_key(&trial.policy);
    let is_many = 4 * marked.len() >= record.trials.len();
    let level = match is_many && !marked.iter().all(|it| is_told(it)) {
        true => Level::First,
        false => Level::Detail,
    };
    let marks = marks(record).into_iter().map(|line| (level, line));
    let warnings = record.warnings.iter();
    let warnings = warnings.map(|it| (Level::First, format!("Warning: {}.", plain(it))));
    let dropped = record.removals.iter().map(|removal| {
        let line = format!("Dropped {}: {removal}.", when(record, removal));
        let is_told = removal.why.is_about_time() || removal.tells_no_more();
        let level = match is_told || removal.is_of_a_sham() {
            // The answer says what was decided, what was not, and what did not run.
            true => Level::Detail,
            false => Level::First,
        };
        (level, plain(&line))
    });
    let history = history(record)
        .into_iter()
        .map(|line| (Level::Detail, line));
    dropped
        .chain(history)
        .chain(failed)
        .chain(marks)
        .chain(warnings)
        .chain(stopped(record, known))
        .collect()
}

/// `after 36 of 60 rounds`: how many a policy ran in.
fn when(record: &Record, removal: &Removal) -> String {
    let ran = removal.round;
    let all = record.compared_rounds();
    match ran {
        0 => "before the first round".to_owned(),
        ran if ran < all => format!("after {ran} of {}", counted(all.into(), "round")),
        ran => format!("after {}", counted(ran.into(), "round")),
    }
}

/// What travels with the comparisons that the answers rest on. Marked trials have a line of
/// their own.
fn travelling(report: &Report<'_>) -> Vec<String> {
    let metric = &report.table.verdict.metric;
    let deciding_rows = || {
        let rows = report.table.comparisons.iter();
        rows.filter(|it| it.metric == *metric && it.statistic == Statistic::Center)
    };
    let mut by_warning: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for comparison in deciding_rows() {
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
    let all = deciding_rows().count();
    let line = |(warning, policies): (String, Vec<String>)| {
        let warning = plain(&warning);
        match policies.len() == all {
            true => format!("{}.", capitalised(&warning)),
            false => format!("{}: {warning}.", policies.join(", ")),
        }
    };
    by_warning.into_iter().map(line).collect()
}

fn marks(record: &Record) -> Option<String> {
    let marked = record.trials.iter().filter(|it| !it.marks.is_empty());
    let marked = marked.count();
    let kinds = record.count_marks();
    let all = record.trials.len();
    // `30 of 30` and `other load 30` say one thing three times.
    let list = kinds
        .iter()
        .map(|(kind, count)| match kinds.len() == 1 && *count == all {
            true => kind.to_string(),
            false => format!("{kind} {count}"),
        });
    let list: Vec<String> = list.collect();
    let which = match marked == all && all > 1 {
        true => format!("All {all} trials were"),
        false if all == 1 => "The only trial was".to_owned(),
        false => format!("{marked} of {all} trials were"),
    };
    (marked > 0).then(|| {
        let used = if kinds.contains_key(Mark::NOT_APPLIED) {
            "they are shown, but a policy that was not applied gets no answer"
        } else {
            "they count, and widen the intervals"
        };
        format!("{which} disturbed ({}); {used}.", list.join(", "))
    })
}

fn stopped(record: &Record, known: Option<HugePages>) -> Vec<(Level, String)> {
    let Some(end) = &record.end else {
        return Vec::new();
    };
    let reason = match end.reason {
        StopReason::Interrupted => Some((Level::First, "Stopped: by a signal.")),
        StopReason::MaxTime => Some((
            Level::Detail,
            "Stopped: the time was up (--max-time; unless given, 90 s or what the fewest rounds take that can \
             decide).",
        )),
        StopReason::MaxRounds => Some((Level::Detail, "Stopped: --max-rounds was reached.")),
        StopReason::WorkloadFails => Some((
            Level::First,
            "Stopped: every trial of the first rounds failed.",
        )),
        StopReason::VerdictUnmeasured => {
            Some((Level::First, "Stopped: no trial gave the metric to judge."))
        }
        // Where the answer is known, nobody waits for the rest.
        StopReason::OutOfReach if known.is_some_and(|it| !it.is_open()) => None,
        // What is open is said with what more rounds would take.
        StopReason::OutOfReach => Some((
            Level::Detail,
            "Stopped early: the rest of the time was too short to decide it.",
        )),
        StopReason::Decided | StopReason::TooSmall | StopReason::Precise | StopReason::Measured => {
            None
        }
    };
    let left = end.left_behind.iter();
    let left = left.map(|left| (Level::First, format!("LEFT BEHIND: {}", plain(left))));
    let reason = reason.map(|(level, text)| (level, text.to_owned()));
    reason.into_iter().chain(left).collect()
}
