//! The results in a folder of records.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hugewise_base::missing::{Fact, Missing};
use hugewise_experiment::run::answer::program_name;
use hugewise_experiment::run::compare::Comparison;
use hugewise_experiment::run::history::Entry;
use hugewise_monitor::export::{Effect, Experiment, MOST_EXPERIMENTS};

use crate::experiment::{recorder, records};

/// The records of a folder. Each is read once, and again after it has grown.
#[derive(Debug)]
pub(super) struct Experiments {
    folder: PathBuf,
    read: HashMap<PathBuf, Reading>,
}

/// The result of a record of this size; none if it cannot be read.
#[derive(Clone, Debug)]
struct Reading {
    bytes: u64,
    experiment: Option<Experiment>,
}

impl Experiments {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            read: HashMap::new(),
        }
    }

    /// The newest records, as far as they can be read.
    pub(super) fn read(&mut self) -> Fact<Vec<Experiment>> {
        let mut files = records::read_folder(&self.folder)
            .map_err(|error| Missing::unreadable(format!("{}: {error}", self.folder.display())))?;
        files.truncate(MOST_EXPERIMENTS);
        let mut newest = HashMap::new();
        let mut experiments = Vec::new();
        for path in files {
            let bytes = path.metadata().map_or(0, |metadata| metadata.len());
            let known = self.read.remove(&path).filter(|known| known.bytes == bytes);
            let reading = known.unwrap_or_else(|| Reading {
                bytes,
                experiment: experiment(&path),
            });
            experiments.extend(reading.experiment.clone());
            newest.insert(path, reading);
        }
        self.read = newest;
        Ok(experiments)
    }
}

fn experiment(path: &Path) -> Option<Experiment> {
    let record = recorder::read_found(path).ok()?;
    let entry = Entry::of(&record, path.display().to_string()).ok()?;
    Some(Experiment {
        name: path.file_stem()?.to_string_lossy().into_owned(),
        program: program_name(&record).to_owned(),
        kernel: entry.kernel,
        created_unix_ms: entry.created_unix_ms,
        baseline: entry.verdict.baseline,
        metric: entry.verdict.metric,
        best: entry.verdict.best,
        effects: entry.effects.iter().filter_map(effect).collect(),
    })
}

fn effect(comparison: &Comparison) -> Option<Effect> {
    Some(Effect {
        policy: comparison.policy.clone(),
        ratio: comparison.ratio?,
        interval: comparison.low.zip(comparison.high),
    })
}
