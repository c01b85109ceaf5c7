//! One process as a document. It shows the huge share, the main reason why the rest is small, the fix, and how to
//! measure its benefit. Then come the reasons by memory and the next commands. The details list memory by kind, every
//! mapping, and unreadable sources.

use std::cmp::Reverse;

use crate::address_space::{Process, Sort, Source, WordSize};
use crate::inspect::reasons::{Certainty, Code, Judgement, State, StepwiseGrowth};
use hugewise_base::missing::Missing;
use hugewise_base::units::bytes_text;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Field, Level, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::wrap::plain;

use super::mappings::{mappings, name};
use super::{Glob, Inspection, ReasonBytes, is_small, memory, waste};

/// The number of reasons on the first screen.
const MOST: usize = 5;

/// The label of a fix. A fix is not advice: memory state does not show whether huge pages help.
const TO_MAKE_HUGE: &str = "to make it huge";

impl Inspection {
    /// Renders the full document. `only` selects mappings by name or address. Mappings are omitted below
    /// [`Level::Detail`], because there can be tens of thousands.
    #[must_use]
    pub fn document(&self, only: Option<&Glob>, level: Level) -> Document {
        if let Some(absence) = absence(&self.space.process, self.space.mappings.is_empty()) {
            return Document::new([Section::default().with(absence)]);
        }
        let mut document = Document::default();
        if only.is_some() {
            document.push(Section::default().with(who(&self.space.process)));
        } else {
            document = self.overview();
            document.push(self.growth_section());
            document.push(self.next());
            document.push(memory::section(self));
        }
        if only.is_some() || level == Level::Detail {
            document.sections.extend(mappings(self, only));
        }
        document.push(self.sources());
        document.sections.extend(self.forecast_sections());
        document
    }

    /// Renders the short form: the huge share, the main reason for small memory, and the reasons by memory.
    #[must_use]
    pub fn overview(&self) -> Document {
        if let Some(absence) = absence(&self.space.process, self.space.mappings.is_empty()) {
            return Document::new([Section::default().with(absence)]);
        }
        let [reasons, others] = self.reasons();
        Document::new([self.answer(), reasons, others])
    }

    fn forecast_sections(&self) -> Vec<Section> {
        let forecast = self.forecast.as_ref();
        forecast.map_or_else(Vec::new, |forecast| forecast.sections())
    }

    fn answer(&self) -> Section {
        let summary = &self.summary;
        let text = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), bytes_text);
        let eligible = match summary.could_be_huge {
            Some(0) | None => String::new(),
            Some(bytes) => format!("; {} are eligible, but small", bytes_text(bytes)),
        };
        let line = format!(
            "{}: {} of {} resident memory are in huge pages{eligible}.",
            who(&self.space.process),
            text(summary.huge()),
            text(summary.resident)
        );
        let mut section = Section::default().with(Paragraph::new(line).tone(Tone::Strong));
        let wasted = waste::fields(self);
        if !wasted.is_empty() {
            section.push(wasted);
        }
        let fields = self.main_reason().map(|main| self.main_fields(main));
        section
            .blocks
            .extend(fields.map(|fields| (Level::First, Block::from(fields))));
        section
    }

    /// Returns the main reason in words. If it has a fix, also returns the fix and how to measure its benefit.
    fn main_fields(&self, main: &Judgement) -> Vec<Field> {
        let of_it = |one: &&ReasonBytes| one.code == main.code;
        let total = self.summary.reasons.iter().find(of_it);
        let bytes = total.and_then(|total| total.resident);
        let reason = match (&main.certainty, self.pages_missing()) {
            (Certainty::Unknown, Some(missing)) => {
                format!("not known: which pages are in memory could not be read ({missing})")
            }
            (certainty, _) => format!(
                "{} ({}{}): {}",
                main.code,
                resident_text(bytes),
                doubt(certainty),
                main.code.sentence()
            ),
        };
        let mut fields = vec![Field::new("main reason", reason).tone(Tone::Bad)];
        if let Some(fix) = self.fix_of(main) {
            // Plain style: that a fix is possible does not mean that it is advisable.
            let fix = self.benefit.corrected(fix, self.space.process.pid);
            fields.push(Field::new(TO_MAKE_HUGE, fix));
            fields.extend(self.benefit.fields());
        }
        fields
    }

    /// Returns why no source shows the present pages; `None` if one does.
    fn pages_missing(&self) -> Option<&Missing> {
        let space = &self.space;
        let missing = space.read_with.page_map.missing();
        missing.filter(|_| !space.pages_were_read())
    }

    /// Returns true if the document offers a fix, which raises the question whether the fix helps.
    #[must_use]
    pub fn names_a_fix(&self) -> bool {
        let main = self.main_reason();
        main.is_some_and(|main| self.fix_of(main).is_some())
    }

    fn fix_of(&self, judgement: &Judgement) -> Option<String> {
        let mapping = &self.space.mappings[judgement.mapping];
        judgement.code.fix(&self.space, mapping)
    }

    /// Returns the largest judgement with the main reason, the one that covers the most small memory.
    fn main_reason(&self) -> Option<&Judgement> {
        let code = self.summary.main_reason()?;
        let of_it = self.judgements.iter().filter(|one| one.code == code);
        of_it.max_by_key(|one| (one.resident_bytes, Reverse(one.start)))
    }

    /// Returns the reasons by memory, largest first. Reasons without small memory are details.
    fn reasons(&self) -> [Section; 2] {
        let mut sorted: Vec<&ReasonBytes> = self.summary.reasons.iter().collect();
        sorted.sort_by_key(|one| Reverse((one.resident, one.bytes)));
        let is_sought = |one: &&ReasonBytes| is_small(one.code) && one.resident != Some(0);
        let (mut first, mut others): (Vec<_>, Vec<_>) = sorted.into_iter().partition(is_sought);
        others.splice(..0, first.drain(first.len().min(MOST)..));
        let mut section = Section::default();
        if !first.is_empty() {
            section.push(reason_table(&first));
        }
        let huge = bytes_text(self.space.huge_bytes);
        section.push(Block::Notes(vec![format!(
            "range: an aligned {huge} block of address space, the size of one huge page"
        )]));
        let mut rest = Section::titled("Other reasons");
        if !others.is_empty() {
            rest.push_detail(reason_table(&others));
        }
        [section, rest]
    }

    /// Returns the section on stepwise growth: the largest one on the first screen.
    fn growth_section(&self) -> Section {
        let mut growth: Vec<&StepwiseGrowth> = self.growth.iter().collect();
        growth.sort_by_key(|one| Reverse(one.resident_bytes));
        let mut section = Section::default();
        for (index, one) in growth.into_iter().enumerate() {
            let mapping = &self.space.mappings[one.mapping];
            let text = format!(
                "Growth in steps: {} at {:x}: {}; {}. To make it huge: {}.",
                name(mapping),
                mapping.start,
                one.evidence,
                one.or,
                one.repair
            );
            match index {
                0 => section.push(text),
                _ => section.push_detail(text),
            }
        }
        section
    }

    /// Returns the commands to run next.
    fn next(&self) -> Section {
        let pid = self.space.process.pid;
        let mut section = Section::titled("Next");
        let details = Field::new(
            format!("hugewise inspect {pid} -v"),
            "every mapping, with evidence",
        );
        let next = self.summary.main_reason().map(|code| {
            [
                Field::new(
                    format!("hugewise inspect --explain {code}"),
                    "all about the main reason",
                ),
                Field::new(
                    format!("hugewise collapse {pid} --dry-run"),
                    "what can be made huge now",
                ),
            ]
        });
        let next: Vec<Field> = next.into_iter().flatten().collect();
        section.push_brief([&[details], &next[..]].concat());
        section.push_detail(next);
        section
    }

    /// Lists the sources that could not be read, and the values that are unknown without them.
    fn sources(&self) -> Section {
        let sources = &self.space.read_with;
        let notes = [
            (&sources.smaps, "totals, flags and advice"),
            (
                &sources.page_scan,
                "which ranges are PMD-mapped, and zero pages",
            ),
            (
                &sources.frames,
                "folios: split huge pages, mTHP and small pages look alike",
            ),
        ];
        let notes = notes.into_iter().filter_map(|(source, lost)| match source {
            Source::Read | Source::Missing(Missing::NotAsked) => None,
            Source::Sampled(sampled) => Some(format!(
                "Page frames of {} blocks are a sample: {} were looked at, and all were alike. \
                 --frames all reads each.",
                sampled.ranges, sampled.looked_at
            )),
            Source::Missing(why) => Some(format!("Not read: {lost} ({why}).")),
        });
        let notes = notes.chain(waste::unknown(self)).collect();
        Section::default().with_detail(Block::Notes(notes))
    }
}

/// Returns how certain a reason is, in words.
fn doubt(certainty: &Certainty) -> &'static str {
    match certainty {
        Certainty::Proved => "",
        Certainty::OneOf(codes) if codes.len() > 1 => ", likeliest of several",
        Certainty::OneOf(_) => ", likely",
        Certainty::Unknown => ", unknown",
    }
}

/// Formats resident memory. A missing size is written out, because a question mark does not read as a size.
pub(super) fn resident_text(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "resident memory not known".to_owned(), bytes_text)
}

fn reason_table(reasons: &[&ReasonBytes]) -> Grid {
    let heading = ["reason", "ranges", "resident", "what it means"];
    let align = [Align::Left, Align::Right, Align::Right, Align::Wrapped];
    let mut grid = Grid::headed(&heading).aligned(&align);
    for reason in reasons {
        let tone = match reason.code.state() {
            State::Huge | State::Explicit => Tone::Good,
            _ if is_small(reason.code) => Tone::Bad,
            _ => Tone::Plain,
        };
        let resident = reason.resident.map_or_else(|| "?".to_owned(), bytes_text);
        grid.rows.push(vec![
            Cell::plain(reason.code.name()).tone(tone),
            Cell::plain(reason.ranges.to_string()),
            Cell::plain(resident),
            Cell::plain(reason.code.sentence()),
        ]);
    }
    grid
}

/// Returns why nothing can be reported for a process.
fn absence(process: &Process, is_empty: bool) -> Option<String> {
    match process.sort {
        Sort::KernelThread => Some(format!(
            "{} is a kernel thread, which has no user memory.",
            who(process)
        )),
        Sort::Zombie if is_empty => Some(format!(
            "{} is a zombie: it has ended and its memory is gone; its parent {} has not waited for \
             it.",
            who(process),
            process.parent
        )),
        _ => None,
    }
}

/// Returns the name and the PID.
fn who(process: &Process) -> String {
    format!("{} (process {})", plain(&process.command), process.pid)
}

/// Returns a note on the word size, if it is unusual.
pub(super) fn word_size(process: &Process) -> &'static str {
    match process.word_size {
        Ok(WordSize::Bits32) => ", 32-bit",
        _ => "",
    }
}

/// Returns true if the evidence of a reason is shown.
pub(super) fn needs_evidence(code: Code, certainty: &Certainty) -> bool {
    is_small(code) || code == Code::HugeZero || *certainty != Certainty::Proved
}
