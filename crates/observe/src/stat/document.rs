//! An observation as a document.

use crate::outlived;
use std::collections::BTreeMap;

use super::fields::{Fields, not_measured, percent};
use super::live::{clock, mark, short, table};
use super::{Hardware, Header, Interval, Pmu, StatSummary, Tally, Target};
use hugewise_base::missing::Missing;
use hugewise_base::units::Unit;
use hugewise_experiment::run::trial::Outcome;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::{percent as hundredths, quantity, three_digits};
use hugewise_text::wrap::{plain, short_command};

impl Header {
    /// Renders the target and the counters.
    #[must_use]
    pub fn document(&self) -> Document {
        let every = three_digits(self.interval_ns as f64 / 1e9);
        let (target, start) = (target(&self.target), clock(self, 0));
        let mut section =
            Section::default().with(format!("{target}, every {every} s from {start} UTC."));
        match &self.hardware {
            Hardware::Missing {
                missing: missing @ Missing::NoHardware,
            } => section.push_detail(format!("Page walks are not counted: {missing}.")),
            Hardware::Missing { missing } => {
                let missing = plain(&missing.to_string());
                section.push(format!("Page walks are not counted: {missing}."));
            }
            hardware => section.push(counters(hardware)),
        }
        if let Some(warning) = self.hardware.unverified() {
            section.push(format!("Note: {}.", plain(&warning)));
        }
        for note in &self.notes {
            section.push(format!("Note: {}.", plain(note)));
        }
        Document::new([section])
    }
}

impl StatSummary {
    /// Renders the result, below the lines of the intervals.
    #[must_use]
    pub fn document(&self, header: &Header) -> Document {
        let mut conclusion = Section::default();
        if self.intervals > 0 {
            let text = self.conclusion(header);
            conclusion.push(Paragraph::new(text).tone(Tone::Strong));
        }
        conclusion.push(self.length());
        if self.intervals == 0 {
            return Document::new([conclusion]);
        }
        Document::new([conclusion, self.totals(header), self.events(header)])
    }

    /// Renders the whole observation, for formats that are not streamed.
    #[must_use]
    pub fn document_with(&self, header: &Header, intervals: &[Interval]) -> Document {
        let mut document = header.document();
        document.push(Section::default().with(table(header, intervals)));
        document.sections.extend(self.document(header).sections);
        document
    }

    fn conclusion(&self, header: &Header) -> String {
        let bounded = match &header.hardware {
            Hardware::Counting { walk_cycles, .. } => walk_cycles.bound().is_ok(),
            Hardware::Missing { .. } => true,
        };
        match self.reading("walk_cycles_at_most_ratio") {
            Ok(most) if bounded => format!(
                "Page walks take at most {} of the cycles: cheaper walks cannot save more.",
                percent(most)
            ),
            Ok(most) => format!(
                "No bound on what cheaper walks save: walk cycles ({}) exclude nested paging here.",
                percent(most)
            ),
            Err(_) => self.memory(),
        }
    }

    fn memory(&self) -> String {
        let share = self.reading("huge_ratio").map(percent);
        let faults = self.reading("minor_faults_total");
        let rate = faults.map(|faults| short(faults / self.seconds().max(1e-9)));
        match (share, rate) {
            (Ok(share), Ok(rate)) => {
                format!("{share} of the memory is huge, with {rate} page faults per second.")
            }
            (Ok(share), Err(_)) => format!("{share} of the memory is huge."),
            (Err(_), Ok(rate)) => format!("{rate} page faults per second."),
            (Err(missing), Err(_)) => format!("Huge memory {}.", not_measured(&missing)),
        }
    }

    fn length(&self) -> String {
        let plural = if self.intervals == 1 { "" } else { "s" };
        let seconds = quantity(&Unit::Seconds, self.seconds());
        let length = format!("{seconds} in {} interval{plural}", self.intervals);
        let ended = match &self.outcome {
            None => String::new(),
            Some(Outcome::Exited { code: 0 }) => "; the command succeeded".to_owned(),
            Some(other) => format!("; the command: {}", plain(&other.to_string())),
        };
        let left = outlived(self.outlived).map_or_else(String::new, |left| format!("; {left}"));
        format!("{length}{ended}{left}.")
    }

    fn totals(&self, header: &Header) -> Section {
        let fields = Fields {
            header,
            summary: self,
        };
        let mut section = Section::default();
        if header.hardware.missing().is_none() {
            section.push(fields.hardware());
            section.push_detail(fields.more_hardware());
        }
        section.push(fields.kernel());
        let is_marked = |reading: &String| !mark(header, reading).is_empty();
        if header.scopes.keys().any(is_marked) {
            let note = "† machine-wide, includes other programs".to_owned();
            section.push(Block::Notes(vec![note]));
        }
        if let Hardware::Counting { pmus, .. } = &header.hardware
            && pmus.len() == 1
            && let Some(note) = self.shared_counters()
        {
            section.push(note);
        }
        section.push(next(header));
        section
    }

    /// Warns if other users of the counters took part of our counting time. With two kinds of cores that is normal, and
    /// gives no warning.
    fn shared_counters(&self) -> Option<String> {
        let (mut enabled, mut running) = (0.0, 0.0);
        for count in &self.counts {
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
            let share = percent(running / enabled);
            format!(
                "Other programs used the counters: ours ran {share} of the time. Ratios hold, \
                 totals are too small."
            )
        })
    }

    /// Every event: its count, not extrapolated, and the share of the time in which its group counted.
    fn events(&self, header: &Header) -> Section {
        let Hardware::Counting { refused, .. } = &header.hardware else {
            return Section::default();
        };
        let mut grid = Grid::headed(&["count", "counted", "event"]).aligned(&[
            Align::Right,
            Align::Right,
            Align::Wrapped,
        ]);
        let whole = self.longest();
        for count in &self.counts {
            let name = plain(&count.event);
            grid.push(match &count.tally {
                Tally::Counted {
                    value, running_ns, ..
                } => {
                    let share = *running_ns as f64 / whole.max(1) as f64;
                    [value.to_string(), format!("{} %", hundredths(share)), name]
                }
                Tally::Missing { missing } => {
                    let name = format!("{name}: {}", not_measured(missing));
                    ["-".to_owned(), "-".to_owned(), name]
                }
            });
        }
        let section = Section::titled("Events").with_detail(grid);
        let refused: Vec<String> = refused.iter().map(|one| plain(&one.event)).collect();
        if refused.is_empty() {
            return section;
        }
        let refused = refused.join(", ");
        section.with_detail(format!(
            "Not counted: {refused}; reasons: hugewise stat --list"
        ))
    }

    /// The longest possible counting time of a source: the sum of the enabled times of its groups.
    fn longest(&self) -> u64 {
        let mut by_group: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        for count in &self.counts {
            if let Tally::Counted { enabled_ns, .. } = count.tally {
                let known = by_group.entry((&count.pmu, count.group)).or_default();
                *known = enabled_ns.max(*known);
            }
        }
        let mut by_source: BTreeMap<&str, u64> = BTreeMap::new();
        for ((pmu, _), enabled_ns) in by_group {
            let sum = by_source.entry(pmu).or_default();
            *sum = sum.saturating_add(enabled_ns);
        }
        by_source.into_values().max().unwrap_or(0)
    }
}

/// The next command.
fn next(header: &Header) -> &'static str {
    match header.hardware.missing() {
        None => "Which memory misses the TLB: hugewise misses",
        Some(_) => "TLB misses without counters: hugewise simulate -- COMMAND",
    }
}

pub(super) fn target(target: &Target) -> String {
    match target {
        Target::Command { words } => {
            let command = short_command(words, 60);
            format!("{command} and its descendants")
        }
        Target::Process { pid, comm } => {
            format!("Process {pid} ({}) and its descendants", plain(comm))
        }
        Target::Cgroup { path } => format!("Cgroup {}", plain(path)),
        Target::Machine => "The whole machine".to_owned(),
    }
}

fn counters(hardware: &Hardware) -> String {
    let Hardware::Counting {
        mode,
        pmus,
        turn_ns,
        ..
    } = hardware
    else {
        return String::new();
    };
    let sources: Vec<String> = pmus.iter().map(source).collect();
    let turns = match pmus.iter().map(|pmu| pmu.groups.len()).max().unwrap_or(0) {
        0 | 1 => String::new(),
        groups => {
            let turn = three_digits(*turn_ns as f64 / 1e6);
            format!("; {groups} groups take turns of {turn} ms")
        }
    };
    let sources = sources.join(" and ");
    format!("Counters: {sources}, {}{turns}.", mode.words())
}

fn source(pmu: &Pmu) -> String {
    match &pmu.family {
        Some(family) => family.clone(),
        None => format!("{} (no table for this processor)", plain(&pmu.name)),
    }
}

#[cfg(test)]
mod tests;
