//! What an observation came to.

use std::fmt::{self, Write};
use std::iter::{once, repeat};

use super::{MACHINE, mark, short, why};
use crate::base::missing::Missing;
use crate::base::units::Unit;
use crate::observe::stat::kind::{CYCLES, INSTRUCTIONS};
use crate::observe::stat::{Hardware, Header, Summary, Tally};
use crate::run::trial::Outcome;
use crate::text::number::{percent as hundredths, quantity};
use crate::text::wrap::{plain, wrapped};

/// A share in words.
fn percent(share: f64) -> String {
    format!("{} %", hundredths(share))
}

/// Columns of a label.
const LABEL: usize = 26;

/// The lines below the table.
///
/// # Errors
/// Only those of `out`.
pub fn render_summary(
    header: &Header,
    summary: &Summary,
    width: usize,
    out: &mut impl Write,
) -> fmt::Result {
    let drawn = Drawn { header, summary };
    writeln!(out, "{}", drawn.lead())?;
    if summary.intervals == 0 {
        return Ok(());
    }
    let mut rows = Vec::new();
    if header.hardware.missing().is_none() {
        rows.extend(drawn.hardware());
    }
    rows.extend(drawn.kernel());
    for (label, text) in rows {
        let lines = wrapped(&text, width.saturating_sub(LABEL), 0);
        for (line, label) in lines.iter().zip(once(label.as_str()).chain(repeat(""))) {
            writeln!(out, "{label:<LABEL$}{line}")?;
        }
    }
    for doubt in drawn.doubts() {
        for line in wrapped(&doubt, width, 4) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

type Row = (String, String);

struct Drawn<'a> {
    header: &'a Header,
    summary: &'a Summary,
}

impl Drawn<'_> {
    fn lead(&self) -> String {
        let length = format!(
            "{} in {} interval{}",
            quantity(&Unit::Seconds, self.summary.seconds()),
            self.summary.intervals,
            if self.summary.intervals == 1 { "" } else { "s" }
        );
        match &self.summary.outcome {
            None => format!("{length}."),
            Some(Outcome::Exited { code: 0 }) => format!("{length}; the command succeeded."),
            Some(other) => format!("{length}; the command: {}.", plain(&other.to_string())),
        }
    }

    fn get(&self, name: &str) -> Result<f64, Missing> {
        self.summary.reading(name)
    }

    fn row(&self, label: &str, reading: &str, text: String) -> Row {
        (format!("{label}{}", mark(self.header, reading)), text)
    }

    fn hardware(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = [(CYCLES, "cycles"), (INSTRUCTIONS, "instructions")]
            .into_iter()
            .map(|(kind, label)| (label.to_owned(), self.total(kind)))
            .collect();
        if let Ok(value) = self.get("instructions_per_cycle")
            && let Some(row) = rows.last_mut()
        {
            row.1.push_str(&format!(", {} a cycle", short(value)));
        }
        rows.push(("cycles with a page walk".to_owned(), self.walk_cycles()));
        rows.extend(self.bound().map(|text| (String::new(), text)));
        rows.push((
            "page walks, data".to_owned(),
            self.walks("dtlb_walks_per_kinst") + &self.sizes(),
        ));
        rows.push((
            "page walks, code".to_owned(),
            self.walks("itlb_walks_per_kinst"),
        ));
        for (name, label) in [
            ("dtlb_l2_hits_per_kinst", "second-level hits, data"),
            ("itlb_l2_hits_per_kinst", "second-level hits, code"),
            ("dtlb_l1_misses_per_kinst", "first-level misses, data"),
            ("walker_memory_loads_per_kinst", "walks' loads from memory"),
        ] {
            if self.get(name).is_ok() {
                rows.push((label.to_owned(), self.walks(name)));
            }
        }
        for (name, label) in [
            ("stall_data_ratio", "stalled, data translation"),
            ("stall_code_ratio", "stalled, code translation"),
        ] {
            if let Ok(share) = self.get(name) {
                rows.push((label.to_owned(), format!("{} of cycles", percent(share))));
            }
        }
        rows
    }

    /// The sum over all groups, whose turns do not overlap.
    fn total(&self, kind: &str) -> String {
        let counts = self
            .summary
            .counts
            .iter()
            .filter(|count| count.kind == kind);
        let (mut sum, mut missing, mut any) = (0_u64, None, false);
        for count in counts {
            match &count.tally {
                Tally::Counted { value, .. } => {
                    any = true;
                    sum = sum.saturating_add(*value);
                }
                Tally::Missing { missing: why } => missing = Some(why.clone()),
            }
        }
        match (any, missing) {
            (true, _) => quantity(&Unit::Count, sum as f64),
            (false, missing) => why(&missing.unwrap_or_else(|| Missing::NotSupported {
                what: format!("an event for {kind}"),
            })),
        }
    }

    fn walk_cycles(&self) -> String {
        let most = match self.get("walk_cycles_at_most_ratio") {
            Ok(most) => most,
            Err(missing) => return why(&missing),
        };
        let range = match self.get("walk_cycles_at_least_ratio") {
            Ok(least) if percent(least) != percent(most) => {
                format!("{} to {}", percent(least), percent(most))
            }
            Ok(_) => percent(most),
            Err(_) => format!("at most {}", percent(most)),
        };
        let parts: Vec<String> = [
            ("data", "data_walk_cycles_ratio"),
            ("code", "code_walk_cycles_ratio"),
        ]
        .into_iter()
        .filter_map(|(side, name)| Some(format!("{side} {}", percent(self.get(name).ok()?))))
        .collect();
        format!("{range} ({})", parts.join(", "))
    }

    fn bound(&self) -> Option<String> {
        let most = self.get("walk_cycles_at_most_ratio").ok()?;
        if let Hardware::Counting { walk_cycles, .. } = &self.header.hardware
            && walk_cycles.bound().is_err()
        {
            return Some("no bound: nested paging is left out of them here".to_owned());
        }
        Some(format!(
            "cheaper walks can save no more than {} of its cycles",
            percent(most)
        ))
    }

    fn walks(&self, name: &str) -> String {
        match self.get(name) {
            Ok(value) => format!("{} for 1000 instructions", short(value)),
            Err(missing) => why(&missing),
        }
    }

    fn sizes(&self) -> String {
        let sizes = [
            ("4 KiB", "4k"),
            ("coalesced", "coalesced"),
            ("2 MiB", "2m"),
            ("1 GiB", "1g"),
            ("pages", "small"),
            ("blocks", "large"),
        ];
        let parts: Vec<String> = sizes
            .into_iter()
            .filter_map(|(label, size)| {
                let share = self.get(&format!("dtlb_walks_{size}_ratio")).ok()?;
                Some(format!("{label} {}", percent(share)))
            })
            .collect();
        if parts.is_empty() {
            return String::new();
        }
        format!(": {}", parts.join(", "))
    }

    fn kernel(&self) -> Vec<Row> {
        let mut rows = vec![
            self.row("page faults", "minor_faults_total", self.faults()),
            self.row("huge faults", "thp_fault_alloc_total", self.huge_faults()),
        ];
        let made = self.counted(&[("thp_collapse_alloc_total", "pages made")]);
        let busy = self
            .get("khugepaged_seconds")
            .ok()
            .filter(|&seconds| seconds > 0.0)
            .map(|seconds| format!(", {} of processor time", quantity(&Unit::Seconds, seconds)));
        rows.push(self.row(
            "khugepaged, collapses",
            "thp_collapse_alloc_total",
            made + &busy.unwrap_or_default(),
        ));
        let compaction = [
            ("compact_stall_total", "stalls"),
            ("compact_success_total", "successes"),
            ("compact_fail_total", "failures"),
        ];
        rows.push(self.row(
            "compaction",
            "compact_stall_total",
            self.counted(&compaction),
        ));
        rows.push(self.row("huge memory", "huge_ratio", self.huge_memory()));
        let free = self.counted(&[("free_huge_pages_total", "at the end")]);
        rows.push(self.row("free huge blocks", "free_huge_pages_total", free));
        rows
    }

    fn faults(&self) -> String {
        let minor = match self.get("minor_faults_total") {
            Ok(minor) => minor,
            Err(missing) => return why(&missing),
        };
        let count = quantity(&Unit::Count, minor);
        let major = match self.get("major_faults_total") {
            Ok(major) => format!("; {} more waited for I/O", quantity(&Unit::Count, major)),
            Err(_) => String::new(),
        };
        if self.summary.at_least.contains("minor_faults_total") {
            return format!(
                "at least {count}{major}; those between the last look and the end are not known"
            );
        }
        let seconds = self.summary.seconds();
        let rate = if seconds > 0.0 { minor / seconds } else { 0.0 };
        format!("{count}, {} a second{major}", short(rate))
    }

    fn huge_faults(&self) -> String {
        self.counted(&[
            ("thp_fault_alloc_total", "served"),
            ("thp_fault_fallback_total", "refused"),
        ])
    }

    fn counted(&self, parts: &[(&str, &str)]) -> String {
        let mut said = Vec::new();
        for (name, what) in parts {
            match self.get(name) {
                Ok(value) => said.push(format!("{} {what}", quantity(&Unit::Count, value))),
                Err(missing) if said.is_empty() => return why(&missing),
                Err(_) => {}
            }
        }
        said.join(", ")
    }

    fn huge_memory(&self) -> String {
        let share = match self.get("huge_ratio") {
            Ok(share) => percent(share),
            Err(missing) => return why(&missing),
        };
        let bytes = |name| self.get(name).map(|bytes| quantity(&Unit::Bytes, bytes));
        match (bytes("rss_bytes"), bytes("anon_bytes")) {
            (Ok(bytes), _) => format!("{share} of {bytes} when last read"),
            (_, Ok(bytes)) => format!("{share} of {bytes} of anonymous memory when last read"),
            _ => format!("{share} when last read"),
        }
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let marked = |reading: &str| !mark(self.header, reading).is_empty();
        if self.header.scopes.keys().any(|reading| marked(reading)) {
            doubts.push(format!(
                "{MACHINE} of the whole machine: other programs are in it"
            ));
        }
        if let Hardware::Counting { refused, pmus, .. } = &self.header.hardware {
            let events: Vec<String> = refused.iter().map(|one| plain(&one.event)).collect();
            if !events.is_empty() {
                doubts.push(format!(
                    "Not counted: {}; why: hugewise stat --list",
                    events.join(", ")
                ));
            }
            doubts.extend(self.shared().filter(|_| pmus.len() == 1));
        }
        doubts
    }

    /// Somebody else used the counters too, so that ours ran only a part of their turns. On a
    /// machine with two sorts of processors that is the ordinary state, and says nothing.
    fn shared(&self) -> Option<String> {
        let (mut enabled, mut running) = (0.0, 0.0);
        for count in &self.summary.counts {
            if let Tally::Counted {
                enabled_ns,
                running_ns,
                ..
            } = count.tally
            {
                enabled += enabled_ns as f64;
                running += running_ns as f64;
            }
        }
        (enabled > 0.0 && running < 0.99 * enabled).then(|| {
            format!(
                "Somebody else used the counters: ours ran {} of their time. Ratios hold; \
                 totals are too small.",
                percent(running / enabled)
            )
        })
    }
}
