//! Tables of simulated experiments: rows, columns and the values of their cells.

use std::time::Instant;

use anyhow::Result;

use super::experiment::Scenario;
use super::rivals::{self, Fixed, Sequential};
use super::table::{SECONDS_TAKEN, Table, seconds_since};
use super::tools::Tool;
use super::{Name, Sizes, Tally};

/// A table: the simulation of each row, and the values in its columns.
pub(super) struct Page {
    pub(super) name: Name,
    pub(super) title: &'static str,
    /// The headings of the words at the start of a row.
    pub(super) labels: &'static [&'static str],
    pub(super) rows: Vec<Row>,
    pub(super) columns: Vec<Column>,
}

/// The words at the start of a row, and its experiments.
pub(super) struct Row {
    pub(super) labels: Vec<String>,
    pub(super) scenario: Scenario,
}

/// A value of each row.
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) figure: Figure,
}

pub(super) enum Figure {
    /// A value from many experiments of the row, optionally with one change.
    Ours(fn(Scenario) -> Scenario, fn(&Tally) -> String),
    /// How often another tool claims a difference.
    Peer(Tool),
    /// How often a sequential rival claims a difference.
    Claims(Sequential),
    /// The trials needed by a rival with a known number of runs.
    FewestTrials(Fixed),
    /// The trials needed by a sequential rival.
    Trials(Sequential),
    /// The trials of experiments of the row, relative to those of the best rival with a known number of runs.
    ByBestRival(fn(Scenario) -> Scenario, fn(&Tally) -> Option<f64>),
}

/// Produces the tables.
#[derive(Debug)]
pub(super) struct Simulated {
    sizes: Sizes,
    /// Counts shared between tables.
    counted: Vec<(Scenario, Tally)>,
    fewest: Vec<((Fixed, Scenario), Option<usize>)>,
}

impl Simulated {
    pub(super) fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            counted: Vec::new(),
            fewest: Vec::new(),
        }
    }

    /// Simulates a page.
    ///
    /// # Errors
    /// The statistics refuse a simulated record.
    pub(super) fn table(&mut self, page: &Page) -> Result<Table> {
        let begun = Instant::now();
        let mut rows = Vec::new();
        for row in &page.rows {
            let begun = Instant::now();
            let mut cells = row.labels.clone();
            for column in &page.columns {
                cells.push(self.cell(row.scenario, &column.figure)?);
            }
            eprintln!("{}: {}", page.name.as_str(), cells.join(" | "));
            cells.push(seconds_since(begun));
            rows.push(cells);
        }
        let heads = page.columns.iter().map(|column| column.head);
        let heads = page.labels.iter().copied().chain(heads);
        let sizes = page.rows.iter().map(|row| self.size(row.scenario));
        Ok(Table {
            head: heads.chain([SECONDS_TAKEN]).collect(),
            rows,
            sum: format!(
                "{} experiments for each cell. All took {} s.",
                words(&sizes.collect::<Vec<_>>()),
                seconds_since(begun)
            ),
        })
    }

    /// Returns the number of experiments per cell of a row.
    fn size(&self, scenario: Scenario) -> u32 {
        match scenario.truth.is_nothing() {
            true => self.sizes.errors,
            false => self.sizes.power,
        }
    }

    fn cell(&mut self, scenario: Scenario, figure: &Figure) -> Result<String> {
        let (noise, effect) = (scenario.noise, scenario.truth.shift());
        let size = self.size(scenario);
        match figure {
            Figure::Ours(change, show) => Ok(show(&self.tally(change(scenario))?)),
            Figure::Peer(tool) => Ok(percent(100.0 * tool.claims(noise, effect, size)?)),
            Figure::Claims(rival) => {
                let share = match effect == 0.0 {
                    true => rival.errors(noise, rivals::MOST, size)?,
                    false => rival.finds(noise, effect, rivals::MOST, size)?.share,
                };
                Ok(percent(100.0 * share))
            }
            Figure::FewestTrials(rival) => {
                let fewest = self.fewest(*rival, scenario)?;
                Ok(fewest.map_or_else(|| "> 640".to_owned(), |fewest| fewest.to_string()))
            }
            Figure::Trials(rival) => {
                let found = rival.at_best(noise, effect, size)?;
                let share = percent(100.0 * found.share);
                Ok(format!("{:.0} ({share})", found.trials))
            }
            Figure::ByBestRival(change, trials) => {
                let best = [
                    self.fewest(Fixed::Welch, scenario)?,
                    self.fewest(Fixed::MannWhitney, scenario)?,
                ];
                let best = best.into_iter().flatten().min();
                let own = trials(&self.tally(change(scenario))?);
                let ratio = own.zip(best).map(|(own, best)| own / best as f64);
                Ok(ratio.map_or_else(|| "~".to_owned(), |ratio| format!("{ratio:.2}")))
            }
        }
    }

    fn tally(&mut self, scenario: Scenario) -> Result<Tally> {
        let mut counted = self.counted.iter();
        if let Some((_, tally)) = counted.find(|(known, _)| *known == scenario) {
            return Ok(*tally);
        }
        let tally = Tally::of(scenario, self.size(scenario))?;
        self.counted.push((scenario, tally));
        Ok(tally)
    }

    fn fewest(&mut self, rival: Fixed, scenario: Scenario) -> Result<Option<usize>> {
        let key = (rival, scenario);
        let mut known = self.fewest.iter();
        if let Some((_, fewest)) = known.find(|(known, _)| *known == key) {
            return Ok(*fewest);
        }
        let (noise, effect) = (scenario.noise, scenario.truth.shift());
        let fewest = rival.fewest_trials(noise, effect, self.size(scenario))?;
        self.fewest.push((key, fewest));
        Ok(fewest)
    }
}

/// Returns `1000` or `500 to 1000`.
fn words(sizes: &[u32]) -> String {
    let ends = sizes.iter().min().zip(sizes.iter().max());
    match ends {
        Some((least, most)) if least < most => format!("{least} to {most}"),
        Some((least, _)) => least.to_string(),
        None => "No".to_owned(),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{share:.1} %")
}
