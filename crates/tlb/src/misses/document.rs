//! The summary as a document.

use super::absence::Absence;
use super::event::Closing;
use super::summary::{Conclusion, MissShare, Summary};
use hugewise_base::missing::Missing;
use hugewise_base::units::Unit;
use hugewise_experiment::run::stats::{Share, wilson};
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults::{Known, Modes, explanation};
use hugewise_observe::outlived;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Paragraph, Section};
use hugewise_text::grid::Grid;
use hugewise_text::number::{count, percent, quantity};
use hugewise_text::wrap::{plain, shortened};

/// Maximum width of a name, in a table with two more columns for huge pages and in one without.
const NAME: [usize; 2] = [44, 26];

const EXPERIMENTAL: &str = "Experimental: decoders were checked against documented layouts, not \
                            on hardware.";

impl Summary {
    /// Shows if misses are in memory eligible for huge pages; details by mapping, page size and function.
    #[must_use]
    pub fn document(&self) -> Document {
        let conclusion = Paragraph::new(self.conclusion_text()).tone(Tone::Strong);
        let mut head = Section::default().with(EXPERIMENTAL).with(conclusion);
        if let Some(warning) = self.conditions.unverified() {
            head.push(format!("Note: {}.", plain(&warning)));
        }
        head.push(self.largest());
        head.push(self.sampling());
        if let Some(unwatched) = explanation(&self.unwatched, "misses") {
            head.push(plain(&unwatched));
        }
        if let Some(outcome) = &self.closing.outcome
            && *outcome != (Outcome::Exited { code: 0 })
        {
            head.push(format!(
                "The command failed: {}.",
                plain(&outcome.to_string())
            ));
        }
        if let Some(left) = outlived(self.closing.outlived) {
            head.push(format!("{left}."));
        }
        let mut document = Document::new([head]);
        let by = |title, rows| self.table(title, rows);
        if !self.standings.is_empty() {
            document.push(Section::default().with(by("by eligibility", &self.standings)));
        }
        for (title, rows) in [
            ("by mapping", &self.mappings),
            ("by page size", &self.pages),
            ("by function", &self.functions),
        ] {
            if !rows.is_empty() {
                document.push(Section::default().with_detail(by(title, rows)));
            }
        }
        document.push(self.notes());
        document
    }

    fn conclusion_text(&self) -> String {
        let Share { share, low, high } = self.could;
        let (share, low, high) = (percent(share), percent(low), percent(high));
        let eligible = "in memory eligible for huge pages";
        match self.conclusion {
            Conclusion::NoMisses if self.closing.samples == 0 && !self.unwatched.is_empty() => {
                "No access could be sampled.".to_owned()
            }
            Conclusion::NoMisses => "No sample is a TLB miss.".to_owned(),
            Conclusion::Are => {
                format!("Most misses ({share} %, {low} to {high} %) are {eligible}.")
            }
            Conclusion::AreNot => {
                format!("Few misses ({share} %, {low} to {high} %) are {eligible}.")
            }
            Conclusion::Partly => {
                format!("Some misses ({share} %, {low} to {high} %) are {eligible}.")
            }
            Conclusion::CannotTell => format!(
                "Unknown whether the misses are {eligible}: {low} to {high} %. More samples or \
                 known page sizes would tell."
            ),
        }
    }

    /// Names the mapping and the function with the most misses.
    fn largest(&self) -> String {
        let one = |rows: &[MissShare]| {
            let row = rows.first()?;
            Some(format!(
                "{} ({} %)",
                plain(&row.label),
                percent(row.share.share)
            ))
        };
        match (one(&self.mappings), one(&self.functions)) {
            (Some(mapping), Some(function)) => {
                format!("Most frequent mapping: {mapping}; function: {function}.")
            }
            (Some(mapping), None) => format!("Most frequent mapping: {mapping}."),
            _ => String::new(),
        }
    }

    fn sampling(&self) -> String {
        let conditions = &self.conditions;
        let wall = quantity(&Unit::Seconds, self.closing.wall_ns as f64 * 1e-9);
        let modes = match conditions.modes {
            Modes::All => "user and kernel mode",
            Modes::User => "user mode only",
        };
        format!(
            "{}: {} misses in {} samples in {wall}; {} samples 1 in {} {}, {modes}.",
            shortened(&plain(&conditions.subject), 50),
            count(self.misses),
            count(self.closing.samples),
            conditions.means.title(),
            conditions.every,
            plain(&conditions.sampled),
        )
    }

    fn table(&self, title: &str, rows: &[MissShare]) -> Grid {
        let with_huge = rows.iter().any(|row| row.huge.is_some());
        let mut names = vec![title, "misses", "share", "95 %"];
        if with_huge {
            names.extend(["huge", "eligible"]);
        }
        let mut grid = Grid::headed(&names);
        for row in rows {
            grid.push(cells(row, NAME[usize::from(with_huge)]));
        }
        grid
    }

    fn notes(&self) -> Section {
        let mut notes = Vec::new();
        if let Some(refill) = self.refill {
            notes.push(format!(
                "Translation latency: p50 {} cycles, p90 {} cycles.",
                refill.p50_cycles, refill.p90_cycles
            ));
        }
        notes.push(
            "Shares are of sampled misses. The 95 % intervals assume independent samples: bursts \
             of misses make them too narrow. The interval of the first sentence also allows for \
             unknown memory."
                .to_owned(),
        );
        let mut section = Section::default();
        if let Known::No(missing) = &self.conditions.page_size {
            section.push(format!(
                "Page sizes are unknown: {}.",
                plain(&missing.to_string())
            ));
        }
        for loss in losses(&self.closing) {
            section.push(loss);
        }
        section.push_detail(Block::Notes(notes));
        section.push("Why that memory is not huge: hugewise inspect");
        section
    }
}

impl Absence {
    /// Shows why nothing can be sampled, and what would help.
    #[must_use]
    pub fn document(&self) -> Document {
        let why = match (self.means, &self.missing) {
            (Some(means), Missing::NotPermitted { grant }) => {
                format!(
                    "sampling by {} is not permitted; it needs {grant}",
                    means.title()
                )
            }
            (_, missing) => missing.to_string(),
        };
        let why = format!("Cannot sample TLB misses: {}.", plain(&why));
        let mut section = Section::default().with(Paragraph::new(why).tone(Tone::Strong));
        if !self.helps.is_empty() {
            section.push("What would help:");
            let helps = self.helps.iter().map(|help| format!("* {}", plain(help)));
            section.push(Block::Notes(helps.collect()));
        }
        Document::new([section])
    }
}

fn cells(row: &MissShare, widest: usize) -> Vec<String> {
    let Share { share, low, high } = row.share;
    let part = |part: Option<u64>| part.map(|part| wilson(part, row.misses).share);
    let parts = [part(row.huge), part(row.could)].into_iter().flatten();
    let parts = parts.map(|share| format!("{} %", percent(share)));
    let cells = [
        shortened(&plain(&row.label), widest),
        count(row.misses),
        format!("{} %", percent(share)),
        format!("{} to {} %", percent(low), percent(high)),
    ];
    cells.into_iter().chain(parts).collect()
}

/// Lists the samples missing from all tables.
fn losses(closing: &Closing) -> Vec<String> {
    let mut losses = Vec::new();
    if closing.without_address > 0 {
        let number = count(closing.without_address);
        losses.push(format!("Misses without an address, in no table: {number}."));
    }
    match closing.lost {
        Some(0) => {}
        Some(lost) => losses.push(format!(
            "Samples lost because the buffer was full: {}.",
            count(lost)
        )),
        None => losses.push("This kernel does not count lost samples.".to_owned()),
    }
    if closing.malformed > 0 {
        losses.push(format!("Malformed records: {}.", count(closing.malformed)));
    }
    losses
}
