//! The history as text: a list of records, or one command over time.

use super::{History, Split};
use crate::base::calendar::minute;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::stats::FEWEST_FOR_A_SPLIT;
use crate::text::Tone;
use crate::text::csv::{Csv, optional};
use crate::text::document::{Block, Document, Paragraph, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::quantity;
use crate::text::wrap::{plain, short_command};

/// Records on the first screen of a list.
const MOST: usize = 20;
/// The longest command of a list.
const COMMAND: usize = 24;
/// The longest text for the best policy.
const BEST: usize = 24;
/// Policies next to each other in the history of one command; details show all.
const POLICIES: usize = 4;

impl History {
    /// The text: a list of records, or one command over time.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut section = Section::default();
        if self.entries.is_empty() {
            section.push("There is no record yet. To make one: hugewise run -- COMMAND");
            return Document::new([section]);
        }
        match self.is_of_one {
            true => return self.over_time(),
            false => {
                section.push_brief(self.list(MOST));
                if self.entries.len() > MOST {
                    let rest =
                        format!("The newest {MOST} of {}; -v lists all.", self.entries.len());
                    section.push_brief(rest);
                }
                section.push_detail(self.list(usize::MAX));
            }
        }
        Document::new([section])
    }

    /// The newest records, the newest first.
    fn list(&self, most: usize) -> Grid {
        // The column for the state of memory takes its width from the command and the best policy.
        let differs = self.memory_differs();
        let (memory, taken): (&[&str], usize) = match differs {
            true => (&["memory"], 5),
            false => (&[], 0),
        };
        let heads = [&["began (UTC)", "command", "best"], memory, &["policies"]].concat();
        let mut align = vec![Align::Left; heads.len() - 1];
        align.push(Align::Right);
        let mut grid = Grid::headed(&heads).aligned(&align);
        for entry in self.entries.iter().rev().take(most) {
            let first = [
                minute(entry.created_unix_ms),
                short_command(&entry.command, COMMAND - taken),
                entry.best(BEST - taken),
            ];
            let count = entry.policies.len().to_string();
            let memory = differs.then(|| entry.host_memory.to_string());
            grid.push(first.into_iter().chain(memory).chain([count]));
        }
        grid
    }

    /// One command: its changes, then each record, the oldest first.
    fn over_time(&self) -> Document {
        let command = self.entries.first().map(|entry| entry.command.join(" "));
        let mut answer = Section::default();
        answer.push(format!("`{}`", plain(&command.unwrap_or_default())));
        for split in &self.splits {
            answer.push(Paragraph::new(self.new_level(split)).tone(Tone::Strong));
        }
        for line in self
            .entries
            .last()
            .into_iter()
            .flat_map(|last| self.next.lines(last))
        {
            answer.push(line);
        }
        let mut section = Section::default();
        let policies = self.entries.last().map_or(0, |last| last.effects.len());
        if policies > POLICIES {
            section.push_brief(self.levels(POLICIES));
            section.push_detail(self.levels(usize::MAX));
        } else {
            section.push(self.levels(policies));
        }
        let mut notes = vec!["(…) not decided, = no difference of interest.".to_owned()];
        notes.push(match (self.splits.is_empty(), self.entries.len()) {
            (false, _) => {
                "* A new level begins here. Without any change, at most 5 % of histories \
                           have one (Pettitt's test, by permutation)."
                    .to_owned()
            }
            (true, count) if count < FEWEST_FOR_A_SPLIT => {
                format!("A change of level is looked for from {FEWEST_FOR_A_SPLIT} records on.")
            }
            (true, _) => "No change of level was found (Pettitt's test at 5 %).".to_owned(),
        });
        if self.memory_differs() {
            notes.push(
                "Values on different memory (--host-memory) are not compared: records on other \
                 memory than the last begin no level."
                    .to_owned(),
            );
        }
        section.push(Block::Notes(notes));
        Document::new([answer, section])
    }

    /// The start of a new level: the medians of the records before and after.
    fn new_level(&self, split: &Split) -> String {
        let began = minute(self.entries[split.at].created_unix_ms);
        let [before, after] = self.medians_around(split).map(|value| match value {
            Some(value) => self.value_text(split, value),
            None => "–".to_owned(),
        });
        let last = &self.entries[self.entries.len() - 1].verdict;
        match &split.policy {
            None => {
                let baseline = plain(&last.baseline);
                format!("From {began} on, {baseline} takes {after}; before, {before}.")
            }
            Some(policy) => {
                let policy = plain(policy);
                format!("From {began} on, {policy} changes it by {after}; before, by {before}.")
            }
        }
    }

    fn value_text(&self, split: &Split, value: f64) -> String {
        let unit = &self.entries[self.entries.len() - 1].unit;
        match split.policy {
            None => quantity(unit, value),
            Some(_) => effect_of_ratio(value),
        }
    }

    fn levels(&self, most: usize) -> Grid {
        let last = &self.entries[self.entries.len() - 1];
        let policies: Vec<&str> = last.effects.iter().map(|it| it.policy.as_str()).collect();
        let shown = &policies[..policies.len().min(most)];
        let baseline = [last.verdict.baseline.as_str()];
        let differs = self.memory_differs();
        let memory = differs.then_some("memory");
        let first = ["began (UTC)", "kernel"].into_iter().chain(memory);
        let left = vec![Align::Left; first.clone().count()];
        let heads = first.chain(baseline).map(plain);
        let heads = heads
            .chain(shown.iter().map(|it| plain(it)))
            .map(Cell::plain);
        let mut grid = Grid {
            rows: vec![heads.collect()],
            align: left,
        };
        for (at, entry) in self.entries.iter().enumerate() {
            let first = [minute(entry.created_unix_ms), plain(&entry.kernel)];
            let value = entry.baseline_text();
            let changes = shown
                .iter()
                .map(|policy| (Some(*policy), entry.change(policy)));
            let cells = std::iter::once((None, value)).chain(changes);
            let cells = cells.map(|(policy, text)| self.marked(at, policy, text));
            let memory = differs.then(|| entry.host_memory.to_string());
            grid.push(first.into_iter().chain(memory).chain(cells));
        }
        grid
    }

    /// The text of a cell, with a star at the start of a new level.
    fn marked(&self, at: usize, policy: Option<&str>, text: Option<String>) -> String {
        let text = text.unwrap_or_else(|| "–".to_owned());
        let mut splits = self.splits.iter();
        match splits.any(|it| it.at == at && it.policy.as_deref() == policy) {
            true => format!("{text} *"),
            false => text,
        }
    }

    /// A row for each record and policy.
    #[must_use]
    pub fn csv(&self) -> String {
        let heads = [
            "path",
            "created_unix_ms",
            "command",
            "kernel",
            "host_memory",
            "metric",
            "baseline",
            "policy",
            "ratio",
            "low",
            "high",
        ];
        let mut csv = Csv::new(&heads);
        for entry in &self.entries {
            for effect in &entry.effects {
                csv.row([
                    entry.path.clone(),
                    entry.created_unix_ms.to_string(),
                    entry.command.join(" "),
                    entry.kernel.clone(),
                    entry.host_memory.to_string(),
                    effect.metric.clone(),
                    effect.baseline.clone(),
                    effect.policy.clone(),
                    optional(effect.ratio),
                    optional(effect.low.filter(|_| effect.ratio.is_some())),
                    optional(effect.high.filter(|_| effect.ratio.is_some())),
                ]);
            }
        }
        csv.into_text()
    }
}
