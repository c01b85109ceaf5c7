//! The summary as a document: the cost of the faults, their main kind, and the share that huge pages would avoid.
//! Everything else is a detail.

use super::latency::Bar;
use super::sentences::{duration, share};
use super::shape::Shape;
use super::summary::{FaultSummary, Row};
use crate::outlived;
use footnotes::footnotes;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::trial::Outcome;
use hugewise_text::Tone;
use hugewise_text::document::{Bars, Block, Document, Field, Paragraph, Section};
use hugewise_text::number::count;
use hugewise_text::wrap::plain;
use tables::{all_kinds, list, main_kinds, main_mappings, site};

mod csv;
mod footnotes;
mod tables;

impl FaultSummary {
    /// Renders the document for people. JSON is the struct itself, CSV is [`FaultSummary::csv`].
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::new([self.conclusion()]);
        if self.total.faults > 0 {
            let mut kinds = Section::default();
            kinds.push_brief(main_kinds(self));
            kinds.push_detail(all_kinds(self));
            document.push(kinds);
            let mut mappings = Section::default();
            mappings.push_brief(main_mappings(self));
            document.push(mappings);
            document.push(self.next());
            self.details(&mut document);
        }
        document
    }

    /// The answer: share of the time, kind, and the faults that huge pages would avoid.
    fn conclusion(&self) -> Section {
        let mut section = Section::default();
        section.push(Paragraph::new(self.cost()).tone(Tone::Strong));
        for remark in &self.books.remarks {
            section.push(Paragraph::new(remark));
        }
        if self.total.faults > 0 {
            section.push(Paragraph::new(self.spared_by_huge_pages()));
            let shapes: Vec<String> = self.minor_shapes().map(Shape::short).collect();
            if !shapes.is_empty() {
                let also = format!("Also: {} (-v).", shapes.join(", "));
                section.push_brief(Paragraph::new(also));
            }
        }
        section
    }

    fn cost(&self) -> String {
        let ended = match &self.closing.outcome {
            None | Some(Outcome::Exited { code: 0 }) => String::new(),
            Some(outcome) => format!(" The command failed: {outcome}."),
        };
        let left = outlived(self.closing.outlived);
        let ended = ended + &left.map_or_else(String::new, |left| format!(" {left}."));
        let wall = duration(self.closing.wall_ns);
        if self.is_unwatched() {
            return format!("No page fault could be watched in {wall}.{ended}");
        }
        if self.books.counted == 0 {
            return format!("No page faults in {wall}.{ended}");
        }
        let faults = count(self.books.counted);
        if self.total.timed == 0 {
            return format!("{faults} page faults in {wall}, none timed.{ended}");
        }
        let threads = match self.threads {
            0 | 1 => String::new(),
            threads => format!(", summed over {threads} threads"),
        };
        format!(
            "Page faults took {} of {wall}{threads}: {faults} faults, {}{}.{ended}",
            share(self.total.time_ns, self.closing.wall_ns),
            duration(self.total.time_ns),
            self.main_kind()
        )
    }

    /// Names the kind with the most time.
    fn main_kind(&self) -> String {
        let most = self.kinds.first().filter(|_| self.kinds.len() > 1);
        most.map_or_else(String::new, |most| {
            let part = share(most.row.time_ns, self.total.time_ns);
            match most.row.time_ns.saturating_mul(2) > self.total.time_ns {
                true => format!(", mostly {} ({part})", most.label),
                false => format!(", largest kind {} ({part})", most.label),
            }
        })
    }

    fn spared_by_huge_pages(&self) -> String {
        let Some(pmd) = self.conditions.pmd_bytes.map(bytes_text) else {
            return "This kernel has no huge pages that could avoid any.".to_owned();
        };
        if self.conditions.every > 1 {
            return "To see how many faults huge pages would avoid, leave out --every.".to_owned();
        }
        let small = self.shapes.iter().find_map(|shape| match shape {
            Shape::SmallInsteadOfHuge { ranges, faults, .. } => Some((*ranges, *faults, shape)),
            _ => None,
        });
        match small {
            Some((ranges, faults, shape)) => format!(
                "Huge pages would avoid up to {} of the faults: {}",
                share(faults.saturating_sub(ranges), self.total.faults),
                shape.sentence(&self.conditions)
            ),
            None => format!(
                "Huge pages would avoid hardly any: no aligned {pmd} block was filled with small \
                 pages."
            ),
        }
    }

    /// Shapes that are significant and not part of the conclusion.
    fn minor_shapes(&self) -> impl Iterator<Item = &Shape> {
        let others = self.shapes.iter();
        others.filter(|shape| !shape.is_in_conclusion() && self.matters(shape))
    }

    /// Returns true if a shape makes up at least 1 % of the faults or of their time. Every program has a few double
    /// faults in its loader.
    fn matters(&self, shape: &Shape) -> bool {
        let (faults, time_ns) = shape.weight();
        faults * 100 >= self.total.faults || time_ns * 100 >= self.total.time_ns.max(1)
    }

    fn next(&self) -> Section {
        let subject = plain(&self.conditions.subject);
        let (command, why) = match subject.strip_prefix("process ") {
            Some(pid) => (
                format!("hugewise inspect {pid}"),
                "why its memory is not huge",
            ),
            None => (
                // The command is stored without word boundaries, so it cannot be quoted.
                "hugewise run -- COMMAND".to_owned(),
                "whether huge pages make it faster",
            ),
        };
        let next = Field::new("Next", format!("{command}   ({why})"));
        let more = "-v: call sites, histograms, sources of the counts";
        let mut section = Section::default().with(vec![next]);
        section.push_brief(vec![Field::new("More", more)]);
        section
    }

    fn details(&self, document: &mut Document) {
        let shapes = self.shapes.iter().filter(|shape| !shape.is_in_conclusion());
        let shapes =
            shapes.map(|shape| Field::new(shape.title(), shape.sentence(&self.conditions)));
        let shapes: Vec<Field> = shapes.collect();
        let mut patterns = Section::titled("Patterns");
        if !shapes.is_empty() {
            patterns.push_detail(shapes);
        }
        document.push(patterns);
        let named = |rows: &[super::NamedRow]| {
            let rows = rows
                .iter()
                .map(|row| (row.name.clone(), row.faults, row.time_ns));
            list(self, rows)
        };
        let sites = self
            .sites
            .iter()
            .map(|row| (site(row), row.faults, row.time_ns));
        document.push(Section::titled("By call site").with_detail(list(self, sites)));
        document.push(Section::titled("By mapping").with_detail(named(&self.mappings)));
        document.push(Section::titled("By allocation").with_detail(named(&self.growth)));
        self.histograms(document);
        document.push(Section::default().with_detail(Block::Notes(footnotes(self))));
    }

    /// Latencies by powers of two: in total, and by kind.
    fn histograms(&self, document: &mut Document) {
        let mut one = |label: &str, row: &Row| {
            if row.timed > 0 {
                let title = format!("Latency: {label}");
                document.push(Section::titled(title).with_detail(bars(&row.histogram)));
            }
        };
        one("all faults", &self.total);
        if self.kinds.len() > 1 {
            for kind in &self.kinds {
                one(&kind.label, &kind.row);
            }
        }
    }
}

fn bars(histogram: &[Bar]) -> Bars {
    let bars = histogram.iter();
    Bars {
        heading: ["from".to_owned(), "faults".to_owned()],
        bars: bars.map(|bar| (duration(bar.from_ns), bar.count)).collect(),
    }
}
