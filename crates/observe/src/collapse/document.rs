//! The result of a collapse, as a document and as CSV. JSON is the struct itself.

use super::{End, RefusalCount, Report, Stretch};
use hugewise_base::missing::Fact;
use hugewise_base::units::Unit;
use hugewise_text::Tone;
use hugewise_text::csv::Csv;
use hugewise_text::document::{Block, Document, Field, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::{count, quantity};
use hugewise_text::wrap::plain;

impl Report {
    /// Renders the document: what was made huge, what was not and why, and the cost. Details list every refused stretch
    /// of addresses.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::new([self.answer(), self.others(), self.refused_stretches()]);
        let forecast = self.forecast.as_ref();
        let forecast = forecast.map(|forecast| forecast.sections());
        document.sections.extend(forecast.into_iter().flatten());
        document.push(self.next());
        document
    }

    fn answer(&self) -> Section {
        let who = format!("{} (process {})", plain(&self.command), self.pid);
        let answer = format!("{who}: {}.", self.conclusion());
        let mut section = Section::default().with(Paragraph::new(answer).tone(Tone::Strong));
        if !matches!(self.ended, End::Finished | End::DryRun) {
            section.push(format!("It ended early: {}.", self.ended));
        }
        let memory: Vec<Field> = self.memory().collect();
        if !memory.is_empty() {
            section.push(memory);
        }
        section
    }

    /// Memory that was not made huge, and why.
    fn others(&self) -> Section {
        let mut section = Section::default();
        let table = self.other_ranges();
        if table.rows.len() > 1 {
            section.push(table);
        }
        if let (Some(missing), false) = (&self.reasons_missing, self.refused.is_empty()) {
            section.push_detail(format!("The kernel's own reasons are unknown: {missing}."));
        }
        section
    }

    fn conclusion(&self) -> String {
        let made = &self.made;
        let all = made.ranges + made.claimed_ranges;
        if self.planned_ranges == 0 {
            return "nothing can be made huge".to_owned();
        }
        if self.ended == End::DryRun {
            return format!(
                "collapse would make {} huge and add {} of resident memory; nothing was changed",
                self.ranges(self.planned_ranges),
                bytes(self.planned_bytes_added)
            );
        }
        if all == 0 {
            return "nothing was made huge".to_owned();
        }
        let proof = if made.claimed_ranges > 0 {
            "by the kernel's word: without a page scan it cannot be verified"
        } else {
            "verified as PMD-mapped"
        };
        format!(
            "{} made huge, {proof}; {} added in {}",
            self.ranges(all),
            bytes(made.bytes_added),
            quantity(&Unit::Seconds, self.call_seconds)
        )
    }

    /// Memory of the whole process, before and after. Its huge share is shown if the ranges could not be read again.
    fn memory(&self) -> impl Iterator<Item = Field> {
        let field = |label: &str, before: &Fact<u64>, after: &Fact<u64>| {
            let (before, after) = (bytes(*before.as_ref().ok()?), bytes(*after.as_ref().ok()?));
            Some(Field::new(label, format!("{before} before, {after} after")))
        };
        let (before, after) = (&self.resident_before_bytes, &self.resident_after_bytes);
        let resident = field("resident memory", before, after).filter(|_| self.planned_ranges > 0);
        let (before, after) = (&self.huge_anon_before_bytes, &self.huge_anon_after_bytes);
        let huge = field("AnonHugePages", before, after);
        let huge = huge.filter(|_| self.made.claimed_ranges > 0);
        resident.into_iter().chain(huge)
    }

    fn other_ranges(&self) -> Grid {
        let heading = ["not made huge", "ranges", "size", "why"];
        let align = [Align::Left, Align::Right, Align::Right, Align::Wrapped];
        let mut grid = Grid::headed(&heading).aligned(&align);
        let mut push = |what: &str, ranges: u64, why: String| {
            if ranges > 0 {
                let number = count(ranges);
                grid.push([what.to_owned(), number, self.size(ranges), why]);
            }
        };
        for one in &self.refused {
            push(
                "refused",
                one.ranges,
                format!("{} [{}]", one.meaning, one.refusal),
            );
        }
        push("gone", self.gone_ranges, "no longer mapped".to_owned());
        if !matches!(self.ended, End::Finished | End::DryRun) {
            push("not tried", self.not_tried_ranges, "see above".to_owned());
        }
        for left in &self.left_out {
            push("left out", left.ranges, left.why.words().to_owned());
        }
        grid
    }

    /// A detail: the addresses that the kernel refused.
    fn refused_stretches(&self) -> Section {
        let mut section = Section::titled("RefusalCount");
        for one in &self.refused {
            section.push_detail(format!("{} [{}]", one.meaning, one.refusal));
            section.push_detail(Block::Lines(self.stretches(one)));
        }
        section
    }

    fn stretches(&self, one: &RefusalCount) -> Vec<String> {
        let line = |one: &Stretch| {
            let ranges = (one.end - one.start) / self.huge_bytes.max(1);
            format!("    {:x}-{:x}  {}", one.start, one.end, self.ranges(ranges))
        };
        one.stretches.iter().map(line).collect()
    }

    fn next(&self) -> Section {
        let pid = self.pid;
        let field = match self.ended {
            End::DryRun if self.planned_ranges > 0 => {
                let sudo = if self.lacks.is_some() { "sudo " } else { "" };
                Field::new(format!("{sudo}hugewise collapse {pid}"), "make them huge")
            }
            _ => Field::new(format!("hugewise inspect {pid}"), "why memory is small"),
        };
        Section::titled("Next").with(vec![field])
    }

    /// `12 ranges (24 MiB)`.
    fn ranges(&self, ranges: u64) -> String {
        let word = if ranges == 1 { "range" } else { "ranges" };
        let number = count(ranges);
        format!("{number} {word} ({})", self.size(ranges))
    }

    fn size(&self, ranges: u64) -> String {
        bytes(ranges.saturating_mul(self.huge_bytes))
    }

    /// Renders CSV: one row per outcome and reason, with the number of ranges and bytes.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&["outcome", "reason", "ranges", "bytes"]);
        let mut push = |outcome: &str, reason: String, ranges: u64| {
            let size = ranges.saturating_mul(self.huge_bytes);
            csv.row([
                outcome.to_owned(),
                reason,
                ranges.to_string(),
                size.to_string(),
            ]);
        };
        push("planned", String::new(), self.planned_ranges);
        push("made", String::new(), self.made.ranges);
        push("claimed", String::new(), self.made.claimed_ranges);
        for one in &self.refused {
            push("refused", one.refusal.to_string(), one.ranges);
        }
        push("gone", String::new(), self.gone_ranges);
        push("not_tried", String::new(), self.not_tried_ranges);
        for left in &self.left_out {
            push("left_out", left.why.words().to_owned(), left.ranges);
        }
        csv.into_text()
    }
}

fn bytes(bytes: u64) -> String {
    quantity(&Unit::Bytes, bytes as f64)
}

#[cfg(test)]
mod tests;
