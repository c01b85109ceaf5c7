//! `hugewise history`: what was measured here, from the records themselves; and one command over
//! time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use hugewise_model::run::history::{Entry, Split, changes};
use hugewise_model::run::stats::FEWEST_FOR_A_SPLIT;
use hugewise_model::text::csv::{Csv, optional};
use hugewise_model::text::document::{Block, Document, Section};
use hugewise_model::text::grid::{Align, Cell, Grid};
use hugewise_model::text::number::counted;
use hugewise_model::text::wrap::{plain, shortened};

use crate::exit::Exit;
use crate::experiment::{recorder, records};
use crate::output::{self, Output};
use crate::paths;
use crate::stderr::{chain, message};

/// Flags of `history`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Part of the command line; without it, all commands
    #[arg(
        value_name = "CMD",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,

    /// Take the records from DIR
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Records on the first screen of a list.
const MOST: usize = 20;
/// The longest command of a list.
const COMMAND: usize = 24;
/// The longest text of what was best.
const BEST: usize = 24;
/// Policies beside each other in the history of one command; details have all.
const POLICIES: usize = 4;

/// What was found.
struct History {
    /// The oldest first.
    entries: Vec<Entry>,
    /// Where one command changed; of several, nothing.
    splits: Vec<Split>,
    /// Whether all records are of one command.
    of_one: bool,
    took: Duration,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    output::check_file(&arguments.output)?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => paths::records()?,
    };
    let began = Instant::now();
    let mut entries = entries(&records::in_folder(&folder), &arguments.command.join(" "));
    entries.sort_by_key(|entry| entry.created_unix_ms);
    let first = entries.first().map(|entry| &entry.command);
    let of_one = entries.len() > 1 && entries.iter().all(|it| Some(&it.command) == first);
    let splits = if of_one {
        changes(&entries)
    } else {
        Vec::new()
    };
    let history = History {
        entries,
        splits,
        of_one,
        took: began.elapsed(),
    };
    let json = serde_json::json!({
        "format": "hugewise-history 1",
        "took_seconds": history.took.as_secs_f64(),
        "records": history.entries,
        "changes": history.splits,
    });
    output::show(
        &arguments.output,
        &json,
        || history.document(),
        || history.csv(),
    )?;
    Ok(Exit::Done)
}

/// The entries of the records whose command line has these words in it. A record that cannot be
/// read is named and passed over.
fn entries(files: &[PathBuf], words: &str) -> Vec<Entry> {
    let asked = files.iter().filter(|path| {
        let header = records::header(path);
        header.is_some_and(|header| header.plan.command.join(" ").contains(words))
    });
    let entry = |path: &PathBuf| -> Result<Entry> {
        let record = recorder::read(path)?;
        Ok(Entry::of(&record, path.display().to_string())?)
    };
    let read = asked.filter_map(|path| {
        let read = entry(path);
        read.map_err(|error| message(format_args!("passed over: {}", chain(&error))))
            .ok()
    });
    read.collect()
}

impl History {
    fn document(&self) -> Document {
        let mut section = Section::default();
        if self.entries.is_empty() {
            section.push("There is no such record. To make one: hugewise run -- COMMAND");
            return Document::new([section]);
        }
        match self.of_one {
            true => self.over_time(&mut section),
            false => {
                section.push_brief(self.list(MOST));
                section.push_detail(self.list(usize::MAX));
            }
        }
        let read = counted(self.entries.len() as u64, "record");
        section.push(format!("{read}, read in {:.1} s.", self.took.as_secs_f64()));
        Document::new([section])
    }

    /// The newest records, the newest first.
    fn list(&self, most: usize) -> Grid {
        let align = [Align::Left, Align::Left, Align::Left, Align::Right];
        let mut grid =
            Grid::headed(&["began (UTC)", "command", "best", "policies"]).aligned(&align);
        for entry in self.entries.iter().rev().take(most) {
            grid.push([
                paths::minute(entry.created_unix_ms),
                shortened(&plain(&entry.command.join(" ")), COMMAND),
                shortened(&entry.best(), BEST),
                entry.policies.len().to_string(),
            ]);
        }
        grid
    }

    /// One command, the oldest record first.
    fn over_time(&self, section: &mut Section) {
        let command = self.entries.first().map(|entry| entry.command.join(" "));
        section.push(format!("`{}`", plain(&command.unwrap_or_default())));
        section.push_brief(self.levels(POLICIES));
        section.push_detail(self.levels(usize::MAX));
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
        section.push(Block::Notes(notes));
    }

    fn levels(&self, most: usize) -> Grid {
        let last = &self.entries[self.entries.len() - 1];
        let policies: Vec<&str> = last.effects.iter().map(|it| it.policy.as_str()).collect();
        let shown = &policies[..policies.len().min(most)];
        let baseline = [last.verdict.baseline.as_str()];
        let heads = ["began (UTC)", "kernel"]
            .into_iter()
            .chain(baseline)
            .map(plain);
        let heads = heads
            .chain(shown.iter().map(|it| plain(it)))
            .map(Cell::plain);
        let mut grid = Grid {
            rows: vec![heads.collect()],
            align: vec![Align::Left, Align::Left],
        };
        for (at, entry) in self.entries.iter().enumerate() {
            let first = [paths::minute(entry.created_unix_ms), plain(&entry.kernel)];
            let value = entry.baseline_text.clone();
            let changes = shown
                .iter()
                .map(|policy| (Some(*policy), entry.change(policy)));
            let cells = std::iter::once((None, value)).chain(changes);
            let cells = cells.map(|(policy, text)| self.marked(at, policy, text));
            grid.push(first.into_iter().chain(cells));
        }
        grid
    }

    /// The text of a cell, with a star where a new level begins.
    fn marked(&self, at: usize, policy: Option<&str>, text: Option<String>) -> String {
        let text = text.unwrap_or_else(|| "–".to_owned());
        let mut splits = self.splits.iter();
        match splits.any(|it| it.at == at && it.policy.as_deref() == policy) {
            true => format!("{text} *"),
            false => text,
        }
    }

    /// A row for each record and policy.
    fn csv(&self) -> String {
        let heads = [
            "path",
            "created_unix_ms",
            "command",
            "kernel",
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
